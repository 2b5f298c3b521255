// Golden files of Flash: the gated attention unit, its layer, mixed chunks, and a whole classifier.
#pragma once

#include <cmath>
#include <string>

#include "mega/baselines/flash.h"
#include "mega/nn/position.h"
#include "mega/ops/activation.h"
#include "mega/ops/linear.h"
#include "tests/golden/classifiers.h"
#include "tests/golden/golden.h"
#include "tests/golden/options.h"
#include "tests/golden/streams.h"

namespace mega::testing {

inline void gated_unit_case(Golden& golden) {
  FlashOptions options;
  options.width = golden.number("embed_dim");
  options.values = golden.number("hdim");
  options.shared = golden.number("zdim");
  options.max_positions = golden.number("max_positions");
  baselines::GatedAttentionUnit unit(options, golden.flag("causal"));
  golden.load(*unit);
  golden.check({{"y", swap(unit->forward(swap(golden.input("x")), golden.optional_input("padding_mask")))}});
}

inline void flash_layer_case(Golden& golden) {
  FlashOptions options;
  options.width = golden.number("embed_dim");
  options.values = golden.number("hidden_dim");
  options.shared = golden.number("z_dim");
  options.max_positions = golden.number("max_positions");
  options.norm = norm(golden);
  baselines::FlashLayer layer(options);
  golden.load(*layer);
  const Tensor x = golden.input("x");
  golden.check({{"y", swap(layer->forward(swap(x), golden.input("padding_mask")))}});
  const torch::NoGradGuard guard;
  golden.aux("norm", swap(layer->pre_norm->forward(swap(x))));
}

// FLASH-pytorch's layer, whose projections and norm are others than those of the paper's program.
inline void flash_mixed_case(Golden& golden) {
  require(
      !golden.flag("training") && golden.option("rotary") == "none" && golden.number("expansion_factor") == 2,
      "another layer");
  golden.ignore({"dim"});
  const int64_t chunk = golden.number("group_size"), shared = golden.number("query_key_dim");
  const bool causal = golden.flag("causal");
  const Tensor x = golden.input("x"), mask = golden.optional_input("padding_mask");
  const auto project = [&](const std::string& name, const Tensor& y) {
    return ops::linear(y, golden.parameter(name + ".weight"), golden.parameter(name + ".bias"));
  };
  const Tensor normed =
      torch::layer_norm(x, {x.size(2)}, golden.parameter("norm.weight"), golden.parameter("norm.bias"));
  const Tensor hidden = ops::activate(project("to_hidden.0", normed), Activation::silu);
  const Tensor base = ops::activate(project("to_qk.0", normed), Activation::silu);
  const Tensor gamma = golden.parameter("qk_offset_scale.gamma"),
               beta = golden.parameter("qk_offset_scale.beta");
  const auto copy = [&](int64_t i) { return base * gamma[i] + beta[i]; };

  // Here a vector.
  const std::string table_name = "param.rel_pos_bias.relative_attention_bias.weight";
  const auto position = nn::make_position(PositionKind::t5, shared, chunk, causal);
  const Tensor table = position->parameters()[0];
  {
    const torch::NoGradGuard guard;
    table.copy_(golden.take(table_name).flatten());
  }
  ops::RelativeBias bias = position->bias(1 - chunk, chunk - 1);
  bias.values = bias.values * std::sqrt(static_cast<double>(shared));

  const std::vector<Tensor> halves = hidden.chunk(2, 2);  // values and gate
  const Tensor read =
      baselines::mixed_attention({copy(0), copy(1), copy(2), copy(3)}, halves[0], bias, mask, chunk, causal);
  golden.check({{"y", project("to_out", halves[1] * read) + x}});
  golden.gradient("grad." + table_name, table.grad().unsqueeze(1));
}

inline void flash_case(Golden& golden) {
  require(golden.option("layer_type") == "flash" && golden.option("input_type") == "text" &&
              attention_function(golden, "attention_activation_fn") == AttentionFunction::relu2 &&
              position(golden) == PositionKind::simple,
          "expected a Flash-quad that reads text");
  golden.ignore({"encoder_attention_heads", "encoder_ffn_embed_dim", "encoder_normalize_before", "n_dim",
                 "normalize_embedding", "vocab", "activation_fn"});
  FlashOptions options;
  read_common_options(golden, InputKind::tokens, options);
  options.width = golden.number("encoder_embed_dim");
  options.values = golden.number("encoder_hidden_dim");
  options.shared = golden.number("z_dim");
  options.max_positions = golden.number("max_positions");
  options.norm = norm(golden);
  baselines::Flash model(options);
  golden.load(*model);
  const models::Sequences batch{golden.input("tokens"), golden.input("src_lengths")};
  check_classifier(golden, model->predict({batch}));
  golden.aux("sentence_rep", pooled(*model, batch));
}

}  // namespace mega::testing
