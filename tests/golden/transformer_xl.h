// Golden files of Transformer-XL: segments with a memory that carries no gradient.
#pragma once

#include <string>

#include "mega/baselines/sinusoidal.h"
#include "mega/baselines/transformer_xl.h"
#include "tests/golden/golden.h"
#include "tests/golden/streams.h"

namespace mega::testing {

inline void transformer_xl_case(Golden& golden) {
  golden.ignore({"tgt_len", "tied_params", "tie_projs"});
  TransformerXlOptions options;
  options.layers = golden.number("n_layer");
  options.heads = golden.number("n_head");
  options.width = golden.number("d_model");
  options.head_width = golden.number("d_head");
  options.hidden = golden.number("d_inner");
  options.vocabulary = golden.number("n_token");
  options.scoring.positions = golden.number("mem_len");
  options.scoring.same_length = golden.flag("same_length", false);
  options.prenorm = golden.flag("pre_lnorm", false);
  if (golden.has_option("clamp_len")) options.scoring.clamp = golden.number("clamp_len");
  options.training = options.scoring;
  if (golden.has_option("cutoffs")) {
    const std::string& text = golden.option("cutoffs");  // "[6, 12]"
    for (const std::string& number : split(text.substr(1, text.size() - 2), ','))
      options.cutoffs.push_back(std::stoll(number));
    options.band_factor = golden.number("div_val");
  }
  baselines::TransformerXl model(options);
  golden.load(*model);
  for (size_t i = 0; i <= options.cutoffs.size(); ++i) {
    const std::string band = std::to_string(i);
    golden.tied("crit.out_layers." + band + ".weight", "word_emb.emb_layers." + band + ".weight");
    if (i > 0) golden.tied("crit.out_projs." + band, "word_emb.emb_projs." + band);
  }
  const Tensor half = torch::arange(options.width / 2, torch::kFloat64);
  golden.value("param.pos_emb.inv_freq",
               torch::pow(10000.0, half * (-2.0 / static_cast<double>(options.width))));

  const Tensor tokens = swap(golden.input("data")), targets = swap(golden.input("target"));
  std::vector<Tensor> losses;
  nn::State state;
  int64_t begin = 0, segment = 0;
  for (const std::string& text : split(golden.option("segments"), ',')) {
    const int64_t length = std::stoll(text);
    const Tensor features = model->features(tokens.narrow(1, begin, length), {}, &state);
    const Tensor target = targets.narrow(1, begin, length);
    losses.push_back(
        model->losses(features.flatten(0, 1), target.reshape(-1)).view({target.size(0), length}));
    if (const std::string name = "aux.mems_after_segment" + std::to_string(segment); golden.has(name)) {
      std::vector<Tensor> memories;
      for (const nn::BlockState& block : state.blocks) memories.push_back(swap(block.attention.ema));
      // The last is that of the output, which nothing reads.
      const Tensor expected = golden.take(name);
      EXPECT_LE(largest(torch::stack(memories) - expected.narrow(0, 0, options.layers)),
                golden.value_tolerance() * largest(expected));
    }
    begin += length;
    ++segment;
  }
  const Tensor loss = swap(torch::cat(losses, 1));
  golden.check({{"loss", loss}, {"y", loss}});
}

}  // namespace mega::testing
