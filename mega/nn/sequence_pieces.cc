#include "mega/nn/sequence_pieces.h"

#include <algorithm>

#include "mega/base/error.h"

namespace mega::nn {
namespace {

using torch::Tensor;
using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

thread_local const SequencePieces* current = nullptr;

Span overlap(const Span& a, const Span& b) {
  const int64_t begin = std::max(a.begin, b.begin);
  return {begin, std::max(begin, std::min(a.end, b.end))};
}

// Positions of `part` in a tensor (B, l, ...) that begins with those of `held`.
Tensor positions_of(const Tensor& x, const Span& held, const Span& part) {
  return x.narrow(1, part.length() > 0 ? part.begin - held.begin : 0, part.length());
}

// Spans as a list that libtorch keeps with a function.
std::vector<int64_t> listed(const std::vector<Span>& spans) {
  std::vector<int64_t> list;
  for (const Span& span : spans) list.insert(list.end(), {span.begin, span.end});
  return list;
}
std::vector<Span> spans_of(const std::vector<int64_t>& list) {
  std::vector<Span> spans;
  for (size_t i = 0; i < list.size(); i += 2) spans.push_back({list[i], list[i + 1]});
  return spans;
}

// Each process holds some positions and gets those that it wants: x (B, l, ...) that begins with those held
// by this one -> (B, wanted by this one, ...). The gradient of a position is the sum over those that wanted
// it.
struct Spread : torch::autograd::Function<Spread> {
  static Tensor forward(AutogradContext* context, const Tensor& x, Exchange* exchange,
                        const std::vector<Span>& held, const std::vector<Span>& wanted) {
    context->saved_data["exchange"] = reinterpret_cast<int64_t>(exchange);
    context->saved_data["held"] = listed(held);
    context->saved_data["wanted"] = listed(wanted);
    context->saved_data["sizes"] = x.sizes().vec();
    const auto own = static_cast<size_t>(exchange->rank());
    std::vector<Tensor> sent, received;
    for (size_t i = 0; i < held.size(); ++i) {
      sent.push_back(positions_of(x, held[own], overlap(held[own], wanted[i])).contiguous());
      std::vector<int64_t> sizes = x.sizes().vec();
      sizes[1] = overlap(held[i], wanted[own]).length();
      received.push_back(torch::empty(sizes, x.options().requires_grad(false)));
    }
    exchange->exchange(sent, received);
    return torch::cat(received, 1);
  }

  static variable_list backward(AutogradContext* context, variable_list gradients) {
    auto* const exchange = reinterpret_cast<Exchange*>(context->saved_data["exchange"].toInt());
    const std::vector<Span> held = spans_of(context->saved_data["held"].toIntVector()),
                            wanted = spans_of(context->saved_data["wanted"].toIntVector());
    const auto own = static_cast<size_t>(exchange->rank());
    const Tensor dx =
        torch::zeros(context->saved_data["sizes"].toIntVector(), gradients[0].options().requires_grad(false));
    std::vector<Tensor> sent, received;
    for (size_t i = 0; i < held.size(); ++i) {
      sent.push_back(positions_of(gradients[0], wanted[own], overlap(held[i], wanted[own])).contiguous());
      received.push_back(torch::empty_like(positions_of(dx, held[own], overlap(held[own], wanted[i])),
                                           torch::MemoryFormat::Contiguous));
    }
    exchange->exchange(sent, received);
    for (size_t i = 0; i < held.size(); ++i)
      positions_of(dx, held[own], overlap(held[own], wanted[i])).add_(received[i]);
    return {dx, Tensor(), Tensor(), Tensor()};
  }
};

}  // namespace

SequencePieces::SequencePieces(Exchange& exchange, int64_t length, int64_t unit) : exchange_(exchange) {
  require(length > 0 && unit > 0, "a sequence of ", length, " positions has no pieces of ", unit);
  const int64_t count = exchange.size(), units = (length + unit - 1) / unit;
  const auto bound = [&](int64_t i) {
    return std::min(length, unit * (units >= count ? units * i / count : std::min(i, units)));
  };
  for (int64_t i = 0; i < count; ++i) pieces_.push_back({bound(i), bound(i + 1)});
}

Span SequencePieces::read() const { return own().length() > 0 ? own() : Span{length() - 1, length()}; }

Tensor SequencePieces::of_each(const Tensor& x) const {
  std::vector<Span> held, wanted(pieces_.size(), {0, std::ssize(pieces_)});
  for (int64_t i = 0; i < std::ssize(pieces_); ++i) held.push_back({i, i + 1});
  return Spread::apply(x.unsqueeze(0).unsqueeze(0), &exchange_, held, wanted).squeeze(0);
}

Tensor SequencePieces::whole(const Tensor& x) const {
  return Spread::apply(x, &exchange_, pieces_, std::vector<Span>(pieces_.size(), {0, length()}));
}

Tensor SequencePieces::before(const Tensor& x, int64_t count) const {
  std::vector<Span> wanted;
  for (const Span& piece : pieces_)
    wanted.push_back(
        {piece.length() > 0 ? std::max<int64_t>(0, piece.begin - count) : piece.begin, piece.begin});
  return Spread::apply(x, &exchange_, pieces_, wanted);
}

Tensor SequencePieces::after(const Tensor& x, int64_t count) const {
  std::vector<Span> wanted;
  for (const Span& piece : pieces_)
    wanted.push_back({piece.end, piece.length() > 0 ? std::min(length(), piece.end + count) : piece.end});
  return Spread::apply(x, &exchange_, pieces_, wanted);
}

const SequencePieces* sequence_pieces() { return current; }

SequencePiecesGuard::SequencePiecesGuard(const SequencePieces* pieces) : previous_(current) {
  current = pieces;
}
SequencePiecesGuard::~SequencePiecesGuard() { current = previous_; }

}  // namespace mega::nn
