// Golden files of translators: Mega's and the Transformer beside it.
#pragma once

#include <string>

#include "mega/baselines/translation_transformer.h"
#include "mega/models/translator.h"
#include "mega/text/tokens.h"
#include "tests/golden/golden.h"
#include "tests/golden/options.h"
#include "tests/golden/streams.h"

namespace mega::testing {

// Losses of the unpadded targets, with and without label smoothing, without gradients.
inline void check_translation_losses(Golden& golden, models::TranslationModel& model,
                                     const Tensor& features) {
  const torch::NoGradGuard guard;
  const Tensor targets = golden.input("target").reshape(-1);
  const Tensor real = (targets != kPad).nonzero().squeeze(1);
  const Tensor rows = features.reshape({-1, features.size(2)}).index_select(0, real);
  const auto sum = [&](double smoothing) {
    return model.losses(rows, targets.index_select(0, real), smoothing).sum().reshape({1});
  };
  golden.aux("nll_sum", sum(0.0));
  golden.aux("label_smoothed_loss_sum", sum(golden.real("label_smoothing")));
}

// Our translators leave anything at padding; `at_padding` puts there what the released one has.
inline void check_translation(Golden& golden, models::TranslationModel& model,
                              const TranslationOptions& options,
                              Tensor (*at_padding)(const Tensor& x, const Tensor& mask)) {
  golden.load(model);
  const std::string source = "encoder.embed_tokens.weight", target = "decoder.embed_tokens.weight",
                    output = "decoder.output_projection.weight";
  if (options.share_embeddings) golden.tied(target, source);
  if (options.tie_output) golden.tied(output, options.share_embeddings ? source : target);

  const auto mask_of = [](const Tensor& tokens) {
    const Tensor mask = tokens == kPad;
    return mask.any().item<bool>() ? mask : Tensor();
  };
  const Tensor tokens = golden.input("src_tokens"), previous = golden.input("prev_output_tokens");
  require((tokens != kPad).sum(1).equal(golden.input("src_lengths")), "src_lengths do not fit src_tokens");
  const Tensor mask = mask_of(previous);
  const nn::Source encoded = model.encode(tokens, mask_of(tokens));
  golden.aux("encoder_out", swap(at_padding(encoded.encoded, encoded.mask)));

  const Tensor weight = model.named_parameters()[!options.tie_output        ? output
                                                 : options.share_embeddings ? source
                                                                            : target];
  const auto scores = [&](const Tensor& features) {
    return torch::matmul(at_padding(features, mask), weight.t());
  };
  const auto run = [&](const Lengths& lengths) {
    nn::State state;
    return stream(previous, mask, lengths, [&](const Tensor& piece, const Tensor& piece_mask) {
      return model.features(piece, piece_mask, encoded, &state);
    });
  };
  const bool incremental = golden.flag("incremental", false);
  const Tensor features =
      incremental ? run(single_steps(previous.size(1))) : model.features(previous, mask, encoded);
  golden.check({{"y", scores(features)}});
  check_translation_losses(golden, model, features.detach());
  const torch::NoGradGuard guard;
  golden.value("out.y", scores(model.features(previous, mask, encoded)), " (at once)");
  if (!mask.defined())
    check_other_cuts(golden, previous.size(1), [&](const Lengths& lengths) { return scores(run(lengths)); });
}

inline void translator_case(Golden& golden) {
  const TranslatorOptions options = translator_options(golden);
  models::Translator model(options);
  check_translation(golden, *model, options, nn::zero_padding);
}

inline void translation_transformer_case(Golden& golden) {
  const TransformerTranslationOptions options = transformer_translation_options(golden);
  baselines::TranslationTransformer model(options);
  check_translation(golden, *model, options, [](const Tensor& x, const Tensor&) { return x; });
}

}  // namespace mega::testing
