#include "mega/ops/matmul.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <dnnl.hpp>
#include <map>
#include <optional>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "mega/base/error.h"
#include "mega/kernels/instruction_set.h"
#include "mega/kernels/tile_product.h"
#include "mega/ops/parallel.h"
#include "mega/ops/phase.h"
#include "mega/ops/precision.h"

namespace mega::ops {
namespace {

using dnnl::memory;

// A product (rows, depth) by (depth, columns).
struct Sizes {
  int64_t rows, columns, depth;
};

// ---- float32 ---------------------------------------------------------------------------------------------

// By sgemm, which is faster at the shapes of training than a float32 primitive. The bias goes in first.
void multiply(const Sizes& size, Matrix a, Matrix b, float* out, int64_t out_stride, const Addend& addend) {
  if (addend.bias != nullptr)
    parallel_rows(size.rows, size.columns, [&](int64_t begin, int64_t end) {
      for (int64_t row = begin; row < end; ++row) {
        float* to = out + row * out_stride;
        if (addend.accumulate)
          for (int64_t c = 0; c < size.columns; ++c) to[c] += addend.bias[c];
        else
          std::copy_n(addend.bias, size.columns, to);
      }
    });
  const bool add = addend.accumulate || addend.bias != nullptr;
  const dnnl_status_t status =
      dnnl_sgemm(a.transposed ? 'T' : 'N', b.transposed ? 'T' : 'N', size.rows, size.columns, size.depth,
                 1.0f, a.data, a.stride, b.data, b.stride, add ? 1.0f : 0.0f, out, out_stride);
  require(status == dnnl_success, "matrix product of (", size.rows, ", ", size.depth, ") by (", size.depth,
          ", ", size.columns, ") failed in oneDNN with status ", static_cast<int>(status));
}

// ---- bf16 by tiles ---------------------------------------------------------------------------------------

template <class Out>
using TileProduct = kernels::TileProduct<Out>;

// Computes the parts of a product side by side.
template <class Out>
void run_parts(const std::vector<TileProduct<Out>>& parts) {
  constexpr int64_t kAlignment = 16;  // floats
  int64_t scratch = 0;
  for (const auto& part : parts) scratch = std::max(scratch, kernels::tile_product_scratch(part));
  scratch = (scratch + kAlignment - 1) / kAlignment * kAlignment;
  const torch::Tensor memory = torch::empty({std::ssize(parts), scratch}, torch::kFloat32);
  float* data = memory.data_ptr<float>();
  parallel_for(0, std::ssize(parts), 1, [&](int64_t begin, int64_t end) {
    for (int64_t part = begin; part < end; ++part)
      kernels::tile_product(parts[static_cast<size_t>(part)], data + part * scratch);
  });
}

constexpr int64_t kTileRows = 32;  // and columns, and depth: what tiles take at once

// Of so many items, what each of the parts has at most.
int64_t share_of(int64_t items, int64_t parts) {
  return (items + parts * kTileRows - 1) / (parts * kTileRows) * kTileRows;
}

// Each part has some of the rows.
template <class Out>
void multiply_rows(const TileProduct<Out>& product, int64_t parts) {
  const int64_t each = share_of(product.rows, parts);
  std::vector<TileProduct<Out>> all;
  for (int64_t row = 0; row < product.rows; row += each) {
    TileProduct<Out>& part = all.emplace_back(product);
    part.rows = std::min(each, product.rows - row);
    part.a.data += row * (product.a.transposed ? 1 : product.a.stride);
    part.out += row * product.out_stride;
  }
  run_parts(all);
}

// Each part has some of the depth; their sums are added up in order. For gradients of weights, whose depth is
// all positions of a batch: no part packs what another one does.
void multiply_depths(const TileProduct<float>& product, int64_t parts) {
  const int64_t each = share_of(product.depth, parts), size = product.rows * product.columns;
  const torch::Tensor memory = torch::empty({parts, size}, torch::kFloat32);
  float* sums = memory.data_ptr<float>();
  std::vector<TileProduct<float>> all;
  for (int64_t begin = 0; begin < product.depth; begin += each) {
    TileProduct<float> part = product;
    part.depth = std::min(each, product.depth - begin);
    part.a.data += begin * (product.a.transposed ? product.a.stride : 1);
    part.b.data += begin * (product.b.transposed ? 1 : product.b.stride);
    part.out = sums + std::ssize(all) * size;
    part.out_stride = product.columns;
    part.accumulate = false;
    part.bias = nullptr;
    all.push_back(part);
  }
  run_parts(all);
  parallel_rows(product.rows, product.columns, [&](int64_t begin, int64_t end) {
    for (int64_t row = begin; row < end; ++row)
      for (int64_t c = 0; c < product.columns; ++c) {
        float& to = product.out[row * product.out_stride + c];
        float sum = (product.accumulate ? to : 0.0f) + (product.bias != nullptr ? product.bias[c] : 0.0f);
        for (int64_t part = 0; part < std::ssize(all); ++part)
          sum += sums[part * size + row * product.columns + c];
        to = sum;
      }
  });
}

template <class Out>
void multiply_by_tiles(const TileProduct<Out>& product) {
  constexpr double kWorthwhile = 1 << 20;  // multiply-adds of a part
  const double work =
      static_cast<double>(product.rows) * static_cast<double>(product.columns * product.depth);
  const int64_t threads = at::in_parallel_region() ? 1 : at::get_num_threads();
  const int64_t parts = std::clamp<int64_t>(static_cast<int64_t>(work / kWorthwhile), 1, threads);
  // Sums of parts of the depth take no more memory than the factors.
  const int64_t deep = std::min(parts, product.depth / std::max(product.rows, product.columns));
  const int64_t of_rows = (product.rows + kTileRows - 1) / kTileRows;
  if constexpr (std::is_same_v<Out, float>)
    if (deep > 1 && deep >= std::min(parts, of_rows)) return multiply_depths(product, deep);
  multiply_rows(product, parts);
}

// ---- bf16 by oneDNN --------------------------------------------------------------------------------------

#if DNNL_VERSION_MAJOR < 3
// Its products by tiles, which ours take the place of, would crash on virtual machines that do not say how
// large tiles are (leaf 1D of cpuid): version 2.6 then configures none. Has to be set before oneDNN is used;
// what the user set stays.
[[maybe_unused]] const bool without_tiles =
    std::getenv("ONEDNN_MAX_CPU_ISA") == nullptr && std::getenv("DNNL_MAX_CPU_ISA") == nullptr &&
    dnnl_set_max_cpu_isa(dnnl_cpu_isa_avx512_core_bf16) == dnnl_success;
#endif

const dnnl::engine& engine() {
  static const dnnl::engine cpu(dnnl::engine::kind::cpu, 0);
  return cpu;
}

// A product of given types, sizes, strides and addend. Where oneDNN has only its older implementation, which
// adds up in float32 in memory for all of `out`, there is nothing to run, and it is done in pieces.
struct Primitive {
  memory::desc a, b, out, bias;
  std::optional<dnnl::matmul> run;
};
constexpr int64_t kRowsAtOnce = 512;  // whose sums stay in the cache

Primitive make_primitive(const memory::desc& a, const memory::desc& b, const memory::desc& out,
                         const memory::desc& bias, bool accumulate, bool divisible) {
  dnnl::primitive_attr attributes;
  if (accumulate) {
    dnnl::post_ops after;
    after.append_sum(1.0f);
    attributes.set_post_ops(after);
  }
#if DNNL_VERSION_MAJOR >= 3
  const dnnl::matmul::primitive_desc chosen(engine(), a, b, bias, out, attributes);
#else
  const dnnl::matmul::primitive_desc chosen({a, b, bias, out}, attributes, engine());
#endif
  const bool in_pieces = divisible && std::string_view(chosen.impl_info_str()).starts_with("gemm");
  return {a, b, out, bias, in_pieces ? std::nullopt : std::make_optional<dnnl::matmul>(chosen)};
}

memory::desc describe(int64_t rows, int64_t columns, memory::data_type type, int64_t stride,
                      bool transposed = false) {
  return {{rows, columns}, type, transposed ? memory::dims{1, stride} : memory::dims{stride, 1}};
}

// Making a primitive takes a fraction of a millisecond, as long as a product of some hundred rows: they are
// kept by shape, and by the number of threads, which a primitive is made for. Batches of varying length bring
// ever new shapes, so that the oldest must go at some point; all do.
template <class Out>
const Primitive& primitive(const Sizes& size, const NarrowMatrix& a, const NarrowMatrix& b,
                           int64_t out_stride, const Addend& addend) {
  constexpr size_t kMost = 1024;
  constexpr auto kNarrow = memory::data_type::bf16, kWide = memory::data_type::f32;
  constexpr auto kOut = std::is_same_v<Out, float> ? kWide : kNarrow;
  using Key = std::array<int64_t, 9>;
  thread_local std::map<Key, Primitive> kept;
  const bool biased = addend.bias != nullptr;
  const Key key{size.rows,
                size.columns,
                size.depth,
                a.stride,
                b.stride,
                out_stride,
                (a.transposed ? 1 : 0) + (b.transposed ? 2 : 0),
                (addend.accumulate ? 1 : 0) + (biased ? 2 : 0),
                at::in_parallel_region() ? 1 : at::get_num_threads()};
  const auto found = kept.find(key);
  if (found != kept.end()) return found->second;
  if (kept.size() >= kMost) kept.clear();
  return kept
      .emplace(key, make_primitive(describe(size.rows, size.depth, kNarrow, a.stride, a.transposed),
                                   describe(size.depth, size.columns, kNarrow, b.stride, b.transposed),
                                   describe(size.rows, size.columns, kOut, out_stride),
                                   biased ? describe(1, size.columns, kWide, size.columns) : memory::desc(),
                                   addend.accumulate, kOut == kNarrow && size.rows > kRowsAtOnce))
      .first->second;
}

template <class Out>
void multiply(const Sizes& size, NarrowMatrix a, NarrowMatrix b, Out* out, int64_t out_stride,
              const Addend& addend) {
  if (kernels::has_tiles())
    return multiply_by_tiles<Out>({size.rows,
                                   size.columns,
                                   size.depth,
                                   {a.data, a.stride, a.transposed},
                                   {b.data, b.stride, b.transposed},
                                   out,
                                   out_stride,
                                   addend.accumulate,
                                   addend.bias});
  try {
    const Primitive& made = primitive<Out>(size, a, b, out_stride, addend);
    if (!made.run) {
      for (int64_t row = 0; row < size.rows; row += kRowsAtOnce)
        multiply({std::min(kRowsAtOnce, size.rows - row), size.columns, size.depth},
                 {a.data + row * (a.transposed ? 1 : a.stride), a.stride, a.transposed}, b,
                 out + row * out_stride, out_stride, addend);
      return;
    }
    const auto wrap = [](const memory::desc& shape, const void* data) {
      return memory(shape, engine(), const_cast<void*>(data));
    };
    std::unordered_map<int, memory> arguments = {{DNNL_ARG_SRC, wrap(made.a, a.data)},
                                                 {DNNL_ARG_WEIGHTS, wrap(made.b, b.data)},
                                                 {DNNL_ARG_DST, wrap(made.out, out)}};
    if (addend.bias != nullptr) arguments.emplace(DNNL_ARG_BIAS, wrap(made.bias, addend.bias));
    thread_local dnnl::stream stream(engine());
    made.run->execute(stream, arguments);
    stream.wait();
  } catch (const dnnl::error& error) {
    fail("matrix product of (", size.rows, ", ", size.depth, ") by (", size.depth, ", ", size.columns,
         ") in bf16 failed in oneDNN: ", error.what());
  }
}

template <class T, class Out>
void multiply_any(const Sizes& size, MatrixOf<T> a, MatrixOf<T> b, Out* out, int64_t out_stride,
                  const Addend& addend) {
  if (size.rows == 0 || size.columns == 0) return;
  if (size.depth == 0) {  // an empty sum, which oneDNN would leave undone
    require(addend.bias == nullptr, "a matrix product of depth 0 has no bias");
    for (int64_t row = 0; row < size.rows && !addend.accumulate; ++row)
      std::fill_n(out + row * out_stride, size.columns, Out{});
    return;
  }
  const PhaseMark mark(Phase::products);
  multiply(size, a, b, out, out_stride, addend);
}

// Of a single row, libtorch says anything, and oneDNN wants no less than its length.
int64_t row_stride(const torch::Tensor& x) { return x.size(0) > 1 ? x.stride(0) : x.size(1); }

}  // namespace

void matmul(int64_t rows, int64_t columns, int64_t depth, Matrix a, Matrix b, float* out, int64_t out_stride,
            const Addend& addend) {
  multiply_any({rows, columns, depth}, a, b, out, out_stride, addend);
}

void matmul(const Factor& a, const Factor& b, const torch::Tensor& out, const Addend& addend) {
  const Sizes size{out.size(0), out.size(1), a.x.size(a.transposed ? 0 : 1)};
  with_type_of(a.x, [&](auto type) {
    using T = decltype(type);
    const MatrixOf<T> left{data_of<T>(a.x), row_stride(a.x), a.transposed};
    const MatrixOf<T> right{data_of<T>(b.x), row_stride(b.x), b.transposed};
    if constexpr (std::is_same_v<T, uint16_t>)
      if (is_narrow(out))
        return multiply_any(size, left, right, data_of<uint16_t>(out), row_stride(out), addend);
    multiply_any(size, left, right, data_of<float>(out), row_stride(out), addend);
  });
}

}  // namespace mega::ops
