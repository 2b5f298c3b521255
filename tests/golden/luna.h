// Golden files of Luna: one layer, causal attention, and a whole classifier.
#pragma once

#include <string>

#include "mega/baselines/luna.h"
#include "mega/ops/linear.h"
#include "tests/golden/classifiers.h"
#include "tests/golden/golden.h"
#include "tests/golden/options.h"
#include "tests/golden/streams.h"

namespace mega::testing {

inline void luna_layer_case(Golden& golden) {
  golden.ignore({"projection_length"});
  LunaOptions options;
  options.width = golden.number("embed_dim");
  options.hidden = golden.number("ffn_dim");
  options.heads = golden.number("heads");
  options.pack_heads = golden.number("pack_heads");
  options.tie_keys = golden.flag("tie_kv");
  options.prenorm = golden.flag("normalize_before");
  options.activation = activation(golden, "activation");
  baselines::LunaLayer layer(options);
  golden.load(*layer);
  const baselines::LunaPair pair{swap(golden.input("x")), swap(golden.input("p"))};
  const Tensor mask = golden.optional_input("padding_mask"),
               packed_mask = golden.optional_input("p_padding_mask");
  const baselines::LunaPair after = layer->forward(pair, mask, packed_mask);
  golden.check({{"y", swap(after.x)}, {"p", swap(after.packed)}});
  if (options.prenorm) return;
  const torch::NoGradGuard guard;
  const baselines::LunaPair change = layer->attention->forward(pair, mask, packed_mask);
  golden.aux("attn_out", swap(change.x));
  golden.aux("packed_context", swap(change.packed));
}

inline void luna_causal_case(Golden& golden) {
  require(!golden.flag("training") && !golden.flag("tie_kv") && golden.flag("causal"), "another attention");
  golden.ignore({"embed_dim", "projection_length"});
  const Tensor x = swap(golden.input("x")), packed = swap(golden.input("p"));
  const auto project = [&](const std::string& name, const Tensor& y) {
    return ops::linear(y, golden.parameter(name + ".weight"), golden.parameter(name + ".bias"));
  };
  const Tensor read = baselines::causal_luna_attention(project("q_proj", x), project("k_proj", x),
                                                       project("v_proj", x), project("pc_proj", x),
                                                       project("pq_proj", packed), golden.number("heads"));
  const Tensor y = swap(project("out_proj", read));
  golden.check({{"y", y}});
  golden.aux("steps", y);
}

inline void luna_case(Golden& golden) {
  require(golden.option("layer_type") == "luna" && golden.option("input_type") == "text",
          "expected a Luna that reads text");
  require(!golden.flag("encoder_learned_pos") && !golden.flag("no_token_positional_embeddings"),
          "expected sinusoidal positions");
  golden.ignore({"attention_activation_fn", "encoder_hidden_dim", "max_positions", "n_dim", "vocab",
                 "normalize_embedding", "rel_pos_bias", "z_dim"});
  LunaOptions options;
  read_common_options(golden, InputKind::tokens, options);
  options.width = golden.number("encoder_embed_dim");
  options.hidden = golden.number("encoder_ffn_embed_dim");
  options.heads = options.pack_heads = golden.number("encoder_attention_heads");
  options.packed = golden.number("encoder_projection_length");
  options.activation = activation(golden, "activation_fn");
  // The layers are postnorm all the same.
  options.normalize_embedding = golden.flag("encoder_normalize_before");
  baselines::Luna model(options);
  golden.load(*model);
  const std::string positions = "param.encoder.encoder.projected_positions";
  const Tensor table = golden.take(positions);
  golden.value(positions,
               baselines::sinusoids(torch::arange(table.size(0)), table.size(1), {0, true, false}));
  const models::Sequences batch{golden.input("tokens"), golden.input("src_lengths")};
  check_classifier(golden, model->predict({batch}));
  golden.aux("sentence_rep", pooled(*model, batch));
}

}  // namespace mega::testing
