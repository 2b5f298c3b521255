// Golden files of the Long Range Arena's Transformers: their attention functions, and whole classifiers.
#pragma once

#include <memory>
#include <string>

#include "mega/baselines/arena_model.h"
#include "mega/baselines/bigbird.h"
#include "mega/baselines/linformer.h"
#include "mega/baselines/performer.h"
#include "mega/baselines/reformer.h"
#include "mega/ops/heads.h"
#include "mega/ops/linear.h"
#include "mega/ops/linear_attention.h"
#include "tests/golden/golden.h"
#include "tests/golden/options.h"

namespace mega::testing {

// A function without a mode of training.
inline void begin_function(Golden& golden) {
  require(!golden.flag("training"), "a function has no training mode");
}

// FAVOR+: in the file (batch, head, time, channel).
inline void favor_case(Golden& golden) {
  begin_function(golden);
  golden.ignore({"dim_head", "nb_features", "eps"});
  const int64_t heads = golden.number("heads");
  const Tensor q = ops::join_heads(golden.input("q")), k = ops::join_heads(golden.input("k")),
               v = ops::join_heads(golden.input("v"));
  const Tensor projection = golden.parameter("projection_matrix");
  const Tensor fq = baselines::favor_features(q, projection, heads, false),
               fk = baselines::favor_features(k, projection, heads, true);
  golden.aux("phi_q", ops::split_heads(fq, heads));
  golden.aux("phi_k", ops::split_heads(fk, heads));
  const Tensor y = ops::linear_attention(fq, fk, v, {}, {heads, golden.flag("causal"), false});
  golden.check({{"y", ops::split_heads(y, heads)}});
}

inline void relu_attention_case(Golden& golden) {
  begin_function(golden);
  golden.ignore({"dim_head"});
  const int64_t heads = golden.number("heads");
  const Tensor y =
      ops::linear_attention(ops::join_heads(golden.input("q")), ops::join_heads(golden.input("k")),
                            ops::join_heads(golden.input("v")), {}, {heads, golden.flag("causal"), true});
  golden.check({{"y", ops::split_heads(y, heads)}});
}

// Projections of x without biases, the last with one.
inline Tensor project(Golden& golden, const char* name, const Tensor& x) {
  return ops::linear(x, golden.parameter(std::string(name) + ".weight"), {});
}
inline Tensor project_out(Golden& golden, const Tensor& x) {
  return ops::linear(x, golden.parameter("to_out.weight"), golden.parameter("to_out.bias"));
}

// performer-pytorch's layer: padding takes the values away, and leaves the keys.
inline void performer_case(Golden& golden) {
  begin_function(golden);
  golden.ignore({"dim", "nb_features", "causal"});
  const int64_t heads = golden.number("heads");
  const Tensor x = golden.input("x"), mask = golden.input("padding_mask");
  const Tensor projection = golden.parameter("fast_attention.projection_matrix");
  const Tensor fq = baselines::favor_features(project(golden, "to_q", x), projection, heads, false),
               fk = baselines::favor_features(project(golden, "to_k", x), projection, heads, true);
  const Tensor v = project(golden, "to_v", x).masked_fill(mask.unsqueeze(2), 0);
  golden.check({{"y", project_out(golden, ops::linear_attention(fq, fk, v, {}, {heads, false, false}))}});
}

// lucidrains/linformer: keys may be the values, and all heads may share them.
inline void linformer_case(Golden& golden) {
  begin_function(golden);
  golden.ignore({"dim", "k", "max_length", "tied_params"});
  const int64_t heads = golden.number("heads");
  const bool one_head = golden.flag("one_kv_head", false), share = golden.flag("share_kv", false);
  const Tensor x = golden.input("x"), q = project(golden, "to_q", x);
  const auto all_heads = [&](const Tensor& y) { return one_head ? y.repeat({1, 1, heads}) : y; };
  const Tensor k = all_heads(project(golden, "to_k", x));
  const Tensor v = share ? k : all_heads(project(golden, "to_v", x));
  const Tensor keys = golden.parameter("proj_k");
  const bool tied = golden.has_option("tied_params");
  if (tied) golden.tied("proj_v", "proj_k");
  const Tensor values = share || tied ? keys : golden.parameter("proj_v");
  golden.check(
      {{"y", project_out(golden, baselines::linformer_attention(q, k, v, keys, values, {}, heads))}});
}

inline void bigbird_case(Golden& golden) {
  begin_function(golden);
  require(golden.option("global_blocks") == "first and last" && golden.number("window_blocks") == 3,
          "another pattern");
  golden.ignore({"dim_head", "blocks", "random_blocks"});
  const int64_t heads = golden.number("heads");
  const Tensor y =
      baselines::bigbird_attention(ops::join_heads(golden.input("q")), ops::join_heads(golden.input("k")),
                                   ops::join_heads(golden.input("v")), golden.input("rand_attn"),
                                   golden.optional_input("padding_mask"), heads, golden.number("block_size"));
  golden.check({{"y", y.view({y.size(0), y.size(1), heads, -1})}});
}

inline void lsh_case(Golden& golden) {
  begin_function(golden);
  require(golden.flag("attend_across_buckets"), "attend_across_buckets");
  golden.ignore({"dim_head", "n_buckets", "n_hashes"});
  baselines::LshSettings settings;
  settings.bucket_size = golden.number("bucket_size");
  settings.causal = golden.flag("causal");
  settings.count_duplicates = golden.flag("allow_duplicate_attention");
  const Tensor qk = golden.input("qk"), rotations = golden.input("rotations").squeeze(0);
  const Tensor round = torch::arange(rotations.size(1)).view({1, -1, 1});
  golden.aux("buckets", baselines::hash_buckets(qk, rotations) + round * (qk.size(1) / settings.bucket_size));
  golden.check({{"y", baselines::lsh_attention(qk, golden.input("v"), rotations,
                                               golden.optional_input("padding_mask"), settings)}});
}

inline void arena_lsh_case(Golden& golden) {
  begin_function(golden);
  golden.ignore({"dim_head", "n_buckets", "n_hashes", "chunks"});
  const Tensor y = baselines::arena_lsh_attention(
      golden.input("qk").unsqueeze(0), golden.input("v").unsqueeze(0), golden.input("rotations"), {}, 1);
  golden.check({{"y", y.squeeze(0)}});
}

inline void read_arena_options(Golden& golden, ArenaOptions& options) {
  require(golden.real("layernorm_eps") == 1e-6 && golden.option("gelu") == "tanh approximation",
          "another norm or activation");
  golden.ignore({"pad_index", "low_rank_features", "max_length", "block_size", "random_blocks", "chunk_len",
                 "n_buckets", "n_hashes"});
  options.vocabulary = golden.number("vocab_size");
  options.width = golden.number("emb_dim");
  options.hidden = options.head = golden.number("mlp_dim");
  options.heads = golden.number("heads");
  options.layers = golden.number("layers");
  options.classes = golden.number("classes");
  options.arena_padding = true;
}

inline std::shared_ptr<baselines::ArenaModel> arena_model(Golden& golden) {
  const std::string& module = golden.option("module");
  const auto is = [&](const char* attention) {
    return module.find(std::string("with ") + attention + " attention") != std::string::npos;
  };
  if (is("transformer")) {
    ArenaTransformerOptions options;
    read_arena_options(golden, options);
    return baselines::make_arena_model(options);
  }
  if (is("performer")) {
    PerformerOptions options;
    read_arena_options(golden, options);
    return baselines::make_arena_model(options);
  }
  if (is("linformer")) {
    LinformerOptions options;
    read_arena_options(golden, options);
    options.rank = golden.number("low_rank_features");
    options.max_positions = golden.number("max_length");
    return baselines::make_arena_model(options);
  }
  if (is("bigbird")) {
    BigBirdOptions options;
    read_arena_options(golden, options);
    options.block = golden.number("block_size");
    options.random_blocks = golden.number("random_blocks");
    return baselines::make_arena_model(options);
  }
  require(is("reformer") && golden.number("n_hashes") == 1, "an unknown attention: ", module);
  ReformerOptions options;
  read_arena_options(golden, options);
  options.buckets = golden.number("n_buckets");
  require(golden.number("chunk_len") == options.buckets, "chunk_len is not the number of buckets");
  return baselines::make_arena_model(options);
}

inline void arena_case(Golden& golden) {
  const auto model = arena_model(golden);
  golden.load(*model);
  for (const auto& module : model->modules()) {
    auto* attention = dynamic_cast<baselines::ArenaAttention*>(module.get());
    if (attention == nullptr) continue;
    if (golden.has("in.rand_attn")) attention->fixed = golden.input("rand_attn")[0];
    if (golden.has("in.rotations")) attention->fixed = golden.input("rotations");
  }
  const Tensor table = golden.take("param.pe");
  golden.value("param.pe",
               baselines::sinusoids(torch::arange(table.size(0)), table.size(1), {0, false, true}));
  const Tensor tokens = golden.input("tokens");
  const models::Sequences batch{tokens, (tokens != 0).sum(1)};
  golden.check({{"y", model->predict({batch})}});
}

}  // namespace mega::testing
