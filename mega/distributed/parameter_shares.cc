#include "mega/distributed/parameter_shares.h"

#include <algorithm>
#include <utility>

namespace mega::distributed {

using torch::Tensor;

ParameterShares::ParameterShares(const std::vector<Tensor>& parameters, Communicator& communicator,
                                 int64_t row_bytes)
    : communicator_(communicator) {
  for (size_t i = 0; i < parameters.size(); ++i) {
    const Tensor& parameter = parameters[i];
    if (rows_.empty() || rows_.back().numbers * parameter.element_size() >= row_bytes ||
        parameters[rows_.back().begin].scalar_type() != parameter.scalar_type())
      rows_.push_back({i, i, 0});
    rows_.back().end = i + 1;
    rows_.back().numbers += parameter.numel();
  }
  for (const Row& row : rows_) {
    const Piece piece = piece_of(row.numbers, communicator_.rank(), communicator_.size());
    int64_t before = 0;  // numbers of the row
    for (size_t i = row.begin; i < row.end; ++i) {
      const int64_t numbers = parameters[i].numel();
      own_.push_back({std::clamp<int64_t>(piece.begin - before, 0, numbers),
                      std::clamp<int64_t>(piece.end - before, 0, numbers)});
      before += numbers;
    }
  }
}

void ParameterShares::gather(const std::vector<Tensor>& parts, std::vector<Tensor>* all) const {
  const torch::NoGradGuard guard;
  for (const Row& row : rows_) {
    Tensor numbers = torch::empty({row.numbers}, parts[row.begin].options());
    int64_t next = piece_of(row.numbers, communicator_.rank(), communicator_.size()).begin;
    for (size_t i = row.begin; i < row.end; ++i) {
      const int64_t begin = std::exchange(next, next + parts[i].numel());
      numbers.slice(0, begin, next).copy_(parts[i]);
    }
    communicator_.gather_pieces(numbers);
    if (all == nullptr) continue;
    next = 0;
    for (size_t i = row.begin; i < row.end; ++i) {
      const int64_t begin = std::exchange(next, next + (*all)[i].numel());
      (*all)[i].view(-1).copy_(numbers.slice(0, begin, next));
    }
  }
}

}  // namespace mega::distributed
