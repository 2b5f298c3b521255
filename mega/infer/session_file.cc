#include "mega/infer/session_file.h"

#include <cstring>
#include <deque>
#include <string>

#include "mega/base/error.h"
#include "mega/base/strings.h"
#include "mega/kernels/dot.h"
#include "mega/kernels/ema.h"

namespace mega::infer {
namespace {

using kernels::WeightType;

constexpr const char* kBlocks = "blocks";
constexpr const char* kCacheBits = "cache_bits";
constexpr const char* kFeatures = "features";
// An upper bound for any text; sums of positions stay far from overflow.
constexpr int64_t kMostPositions = int64_t{1} << 53;

std::string prefix_of(size_t block) { return "blocks." + std::to_string(block) + "."; }

DType dtype_of(WeightType type) { return type == WeightType::bf16 ? DType::BF16 : DType::F32; }

// N, EMA dimension per channel; 0 without EMA.
int64_t averages_of(const BlockState& block, int64_t width) {
  return std::ssize(block.averages) / (kernels::ema_groups(width) * kernels::kEmaLanes);
}

class Writer {
 public:
  void add(const std::string& name, int64_t number) { numbers_[name] = number; }
  void add(const std::string& name, DType dtype, std::vector<int64_t> shape,
           std::span<const std::byte> data) {
    tensors_.push_back({name, dtype, std::move(shape), data});
  }

  void add_averages(const std::string& name, const BlockState& block, int64_t width) {
    const int64_t n = averages_of(block, width);
    std::vector<float> rows(static_cast<size_t>(width * n));
    kernels::ema_unpack(block.averages.data(), width, n, rows.data());
    add(name, DType::F32, {1, width, n}, keep(std::as_bytes(std::span(rows))));
  }

  void add_cache(const std::string& prefix, const KeyValueCache& cache) {
    const DType dtype = dtype_of(cache.type());
    std::vector<std::byte> keys, values;
    for (int64_t i = 0; i < cache.pages(); ++i) {
      const kernels::KeyValuePage page = cache.page(i);
      const auto append = [&](std::vector<std::byte>& all, const void* rows, int64_t columns) {
        const auto* bytes = static_cast<const std::byte*>(rows);
        all.insert(all.end(), bytes, bytes + page.count * columns * element_size(dtype));
      };
      append(keys, page.keys, cache.shared());
      append(values, page.values, cache.values());
    }
    add(prefix + "keys", dtype, {1, cache.size(), cache.shared()}, keep(keys));
    add(prefix + "values", dtype, {1, cache.size(), cache.values()}, keep(values));
  }

  void write(const std::filesystem::path& path, uint64_t fingerprint) const {
    write_state_file(path, fingerprint, numbers_, tensors_);
  }

 private:
  std::span<const std::byte> keep(std::span<const std::byte> bytes) {
    return kept_.emplace_back(bytes.begin(), bytes.end());
  }

  std::map<std::string, int64_t> numbers_;
  std::vector<TensorView> tensors_;
  std::deque<std::vector<std::byte>> kept_;  // a deque, because its elements do not move
};

class Reader {
 public:
  Reader(const StateFile& file, const LanguageModel& model) : file_(file), model_(model) {
    check_model();
    state_ = model.initial_state(cache_type());
    check(file.number(kBlocks) == std::ssize(state_.blocks), kBlocks);
    state_.position = file.number(prefix_of(0) + "position");
    check(state_.position <= kMostPositions, prefix_of(0) + "position");
    const int64_t chunk = model.options().block.chunk;
    open_ = chunk > 0 ? state_.position % chunk : state_.position;
    try {
      model.check_length(state_.position);
    } catch (const Error& error) {
      fail(file.where, ": ", error.what());
    }
  }

  SavedSession read() {
    for (size_t i = 0; i < state_.blocks.size(); ++i) read_block(prefix_of(i), state_.blocks[i]);
    std::vector<float> features;
    if (state_.position > 0 && file_.tensors.find(kFeatures) != nullptr)
      features = floats(tensor(kFeatures, DType::F32, {width()}));
    require(used_ == std::ssize(file_.tensors.tensors()), file_.where, ": has ",
            std::ssize(file_.tensors.tensors()) - used_,
            " tensors that do not belong to the state of one text: padding, or another kind of model");
    return {std::move(state_), std::move(features)};
  }

 private:
  int64_t width() const { return model_.options().block.width; }

  void check(bool ok, const std::string& what) const {
    require(ok, file_.where, ": ", what, " does not match a state of this model");
  }

  void check_model() const {
    require(file_.fingerprint.has_value(), file_.where, ": has no model fingerprint, so it cannot be loaded");
    const uint64_t own = model_.fingerprint();
    require(*file_.fingerprint == own, file_.where, ": is the state of another model: its fingerprint is ",
            hexadecimal(*file_.fingerprint), ", this model's is ", hexadecimal(own));
  }

  WeightType cache_type() const {
    if (!file_.numbers.contains(kCacheBits)) return WeightType::f32;
    const int64_t bits = file_.number(kCacheBits);
    check(bits == 16 || bits == 32, kCacheBits);
    return bits == 16 ? WeightType::bf16 : WeightType::f32;
  }

  const TensorView& tensor(const std::string& name, DType dtype, const std::vector<int64_t>& shape) {
    const TensorView& found = file_.tensors.at(name);
    check(found.dtype == dtype && found.shape == shape, "type or shape of " + name);
    ++used_;
    return found;
  }

  // From F32 or BF16.
  static std::vector<float> floats(const TensorView& tensor) {
    std::vector<float> numbers(static_cast<size_t>(tensor.elements()));
    if (tensor.dtype == DType::F32) {
      std::memcpy(numbers.data(), tensor.data.data(), tensor.data.size());
    } else {
      std::vector<uint16_t> halves(numbers.size());
      std::memcpy(halves.data(), tensor.data.data(), tensor.data.size());
      kernels::from_bf16(halves.data(), numbers.data(), tensor.elements());
    }
    return numbers;
  }

  void read_block(const std::string& prefix, BlockState& block) {
    check(file_.number(prefix + "position") == state_.position, prefix + "position");
    if (state_.position == 0) return;
    if (const int64_t n = averages_of(block, width()); n > 0)
      kernels::ema_pack(floats(tensor(prefix + "ema", DType::F32, {1, width(), n})).data(), width(), n,
                        block.averages.data());
    if (const int64_t numbers = std::ssize(block.statistics); numbers > 0) {
      const auto statistics = floats(tensor(prefix + "norm", DType::F32, {1, numbers}));
      block.statistics.assign(statistics.begin(), statistics.end());
    }
    if (open_ == 0) return;
    KeyValueCache& cache = block.cache;
    const DType dtype = dtype_of(cache.type());
    const auto keys = floats(tensor(prefix + "keys", dtype, {1, open_, cache.shared()}));
    const auto values = floats(tensor(prefix + "values", dtype, {1, open_, cache.values()}));
    cache.append({keys.data(), cache.shared()}, {values.data(), cache.values()}, 0, open_);
  }

  const StateFile& file_;
  const LanguageModel& model_;
  State state_;
  int64_t open_ = 0;  // positions of the open chunk
  int64_t used_ = 0;  // tensors
};

}  // namespace

void write_session(const std::filesystem::path& path, const LanguageModel& model, const State& state,
                   std::span<const float> features) {
  const int64_t width = model.options().block.width;
  Writer writer;
  writer.add(kBlocks, std::ssize(state.blocks));
  writer.add(kCacheBits, 8 * element_size(dtype_of(state.blocks.front().cache.type())));
  for (size_t i = 0; i < state.blocks.size(); ++i) {
    const BlockState& block = state.blocks[i];
    const std::string prefix = prefix_of(i);
    writer.add(prefix + "position", state.position);
    writer.add(prefix + "cross.position", 0);
    if (state.position > 0 && !block.averages.empty()) writer.add_averages(prefix + "ema", block, width);
    if (state.position > 0 && !block.statistics.empty())
      writer.add(prefix + "norm", DType::F32, {1, std::ssize(block.statistics)},
                 std::as_bytes(std::span(block.statistics)));
    if (block.cache.size() > 0) writer.add_cache(prefix, block.cache);
  }
  if (!features.empty()) writer.add(kFeatures, DType::F32, {width}, std::as_bytes(features));
  writer.write(path, model.fingerprint());
}

SavedSession read_session(const std::filesystem::path& path, const LanguageModel& model) {
  return read_session(StateFile::open(path), model);
}

SavedSession read_session(const StateFile& file, const LanguageModel& model) {
  return Reader(file, model).read();
}

}  // namespace mega::infer
