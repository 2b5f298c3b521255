#include "mega/config/recipe/shared_sequences.h"

#include <string>
#include <variant>

#include "mega/base/error.h"

namespace mega {
namespace {

// The Mega blocks of a model that reads one sequence through a stack of them; null: it is another kind.
const BlockOptions* blocks_of(const ModelOptions& model) {
  const ModelTask task = model.kind().task();
  if ((task != ModelTask::sequence && task != ModelTask::language) || model.kind().document_count() != 1)
    return nullptr;
  return std::visit(
      [](const auto& kind) -> const BlockOptions* {
        if constexpr (requires { kind.stack(); })
          return &kind.block;
        else
          return nullptr;
      },
      model.model);
}

}  // namespace

int64_t piece_unit(const Recipe& recipe) {
  if (recipe.train.processes.share == SharedWork::examples) return 0;
  const auto check = [](bool possible, const char* why) {
    require(possible, "train.processes.share = sequences: ", why, "; set it to examples");
  };
  const BlockOptions* const block = blocks_of(recipe.model);
  check(block != nullptr, "only a Mega language model or classifier reads sequences in pieces");
  check(block->norm != NormKind::timestep, "a timestep norm (model.block.norm) needs all positions before");
  check(block->ema.kind != EmaKind::complex && !block->ema.shift,
        "a complex or shifted moving average (model.block.ema) needs whole sequences");
  check(block->layer_dropout == 0.0 && block->drop_path == 0.0 && !block->feature_dropout,
        "layer_dropout, drop_path and feature_dropout (model.block) decide for whole sequences");
  check(!recipe.train.blocks.carry, "train.blocks.carry keeps the state of a text in one process");
  return block->chunk > 0 ? block->chunk : 1;
}

}  // namespace mega
