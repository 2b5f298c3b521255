#include "mega/nn/state.h"

#include "mega/base/error.h"
#include "mega/config/files/state_file.h"
#include "mega/ops/tensor_file.h"

namespace mega::nn {
namespace {

using torch::Tensor;

constexpr const char* kBlocks = "blocks";

constexpr const char* kCross = "cross.";

// Calls visit(name, tensor) for every tensor of a state and visit(name, number) for every number.
template <class Block, class Visit>
void visit_block(Block& block, const std::string& prefix, const Visit& visit) {
  visit(prefix + "ema", block.attention.ema);
  visit(prefix + "keys", block.attention.keys);
  visit(prefix + "values", block.attention.values);
  visit(prefix + "padding", block.attention.padding);
  visit(prefix + "position", block.attention.position);
  visit(prefix + "norm", block.attention.norm);
  visit(prefix + kCross + "keys", block.cross.keys);
  visit(prefix + kCross + "values", block.cross.values);
  visit(prefix + kCross + "padding", block.cross.padding);
  visit(prefix + kCross + "position", block.cross.position);
}

// The state with change(name, tensor) in place of each tensor.
template <class Change>
State map_tensors(const State& state, const Change& change) {
  State result = state;
  for (BlockState& block : result.blocks) {
    visit_block(block, "", [&](const std::string& name, auto& value) {
      if constexpr (std::is_same_v<std::decay_t<decltype(value)>, Tensor>) {
        if (value.defined()) value = change(name, value);
      }
    });
  }
  return result;
}

// Throws unless the parts of a block are consistent. Layers check that they fit the model.
void check_block(const std::string& where, const BlockState& block) {
  const auto& [ema, keys, values, padding, position, norm] = block.attention;
  const auto check = [&](bool ok, const char* what) { require(ok, where, what, ": the state is damaged"); };
  const auto is = [](const Tensor& x, int64_t dimensions) {
    return !x.defined() || (x.dim() == dimensions && x.numel() > 0);
  };
  const auto fit = [](const Tensor& a, const Tensor& b, int64_t dimensions) {
    return !a.defined() || !b.defined() || a.sizes().slice(0, dimensions) == b.sizes().slice(0, dimensions);
  };
  check(is(ema, 3) && (!ema.defined() || ema.is_floating_point()), "ema");
  check(is(keys, 3) && (!keys.defined() || keys.is_floating_point()) && fit(keys, ema, 1), "keys");
  check(is(values, 3) && values.defined() == keys.defined() && fit(values, keys, 2), "values");
  check(is(padding, 2) && fit(padding, keys, 2) &&
            (!padding.defined() || padding.scalar_type() == torch::kBool),
        "padding");
  check(!keys.defined() || keys.size(1) <= position, "position");
  check(is(norm, 2) && (!norm.defined() || norm.is_floating_point()) && fit(norm, ema, 1), "norm");
  check(is(block.cross.keys, 3) && fit(block.cross.keys, ema, 1), "cross.keys");
  check(is(block.cross.values, 3) && block.cross.values.defined() == block.cross.keys.defined() &&
            fit(block.cross.values, block.cross.keys, 2),
        "cross.values");
}

std::string prefix_of(size_t block) { return "blocks." + std::to_string(block) + "."; }

}  // namespace

State reorder(const State& state, const Tensor& index, bool keep_sources) {
  require(index.dim() == 1 && index.scalar_type() == torch::kInt64,
          "reorder: the index must be int64 (B), not ", index.sizes());
  return map_tensors(state, [&](const std::string& name, const Tensor& x) {
    return keep_sources && name.starts_with(kCross) ? x : x.index_select(0, index);
  });
}

State detach(const State& state) {
  return map_tensors(state, [](const std::string&, const Tensor& x) { return x.detach(); });
}

namespace {

// The tensors of all blocks; scalars are passed to `number(name, value)`.
template <class Number>
ops::NamedTensors tensors_of(const State& state, const std::string& prefix, const Number& number) {
  ops::NamedTensors tensors;
  for (size_t i = 0; i < state.blocks.size(); ++i) {
    visit_block(state.blocks[i], prefix + prefix_of(i), [&](const std::string& name, const auto& value) {
      if constexpr (std::is_same_v<std::decay_t<decltype(value)>, Tensor>) {
        if (value.defined()) tensors.emplace_back(name, value);
      } else {
        number(name, value);
      }
    });
  }
  return tensors;
}

// Reads a block; scalars come from `number(name)`.
template <class Number>
BlockState read_block(const Safetensors& file, const std::string& prefix, const std::string& where,
                      const Number& number) {
  BlockState block;
  visit_block(block, prefix, [&](const std::string& name, auto& value) {
    if constexpr (std::is_same_v<std::decay_t<decltype(value)>, Tensor>) {
      if (const TensorView* view = file.find(name)) value = ops::to_tensor(*view);
    } else {
      value = number(name);
    }
  });
  check_block(where + prefix, block);
  return block;
}

}  // namespace

ops::NamedTensors to_tensors(const State& state, const std::string& prefix) {
  ops::NamedTensors numbers;
  ops::NamedTensors tensors = tensors_of(state, prefix, [&](const std::string& name, int64_t value) {
    numbers.emplace_back(name, torch::full({1}, value, torch::kInt64));
  });
  tensors.insert(tensors.end(), numbers.begin(), numbers.end());
  return tensors;
}

State from_tensors(const Safetensors& file, const std::string& prefix) {
  const auto number = [&](const std::string& name) {
    const Tensor value = ops::to_tensor(file.at(name));
    require(value.scalar_type() == torch::kInt64 && value.numel() == 1, name, ": the state is damaged");
    return value.item<int64_t>();
  };
  State state;
  for (std::string next;
       next = prefix + prefix_of(state.blocks.size()), file.find(next + "position") != nullptr;)
    state.blocks.push_back(read_block(file, next, "", number));
  return state;
}

void save_state(const std::string& path, const State& state, std::optional<uint64_t> fingerprint) {
  std::map<std::string, int64_t> numbers = {{kBlocks, static_cast<int64_t>(state.blocks.size())}};
  const ops::TensorViews tensors(
      tensors_of(state, "", [&](const std::string& name, int64_t value) { numbers[name] = value; }));
  write_state_file(path, fingerprint, numbers, tensors.views());
}

State load_state(const std::string& path) {
  const StateFile file = StateFile::open(path);
  State state;
  const int64_t blocks = file.number(kBlocks);
  for (int64_t i = 0; i < blocks; ++i)
    state.blocks.push_back(read_block(file.tensors, prefix_of(static_cast<size_t>(i)), path + ": ",
                                      [&](const std::string& name) { return file.number(name); }));
  return state;
}

}  // namespace mega::nn
