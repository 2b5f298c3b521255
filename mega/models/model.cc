#include "mega/models/model.h"

#include "mega/base/error.h"
#include "mega/models/classifier.h"

namespace mega::models {
namespace {

// The part of a model that a parameter belongs to, by its released name.
std::string part_of(const std::string& name) {
  const auto has = [&](const char* piece) { return name.find(piece) != std::string::npos; };
  if (has("embed_tokens.")) return "embedding";
  if (has("norm.")) return "norms";
  if (has(".rel_pos_bias.")) return "positions";
  if (has(".move.")) return "ema";
  if (has(".mega_layer.") || has(".self_attn.")) return "attention";
  if (has(".cross_attn.")) return "cross attention";
  if (has(".nffn.") || has(".fc1.") || has(".fc2.")) return "feed-forward";
  return "head";
}

struct Maker {
  using Model = std::shared_ptr<SequenceModel>;
  Model operator()(const ClassifierOptions& o) const { return Classifier(o).ptr(); }
  Model operator()(const MatcherOptions& o) const { return Matcher(o).ptr(); }
  template <class Other>
  Model operator()(const Other&) const {
    fail("expected the options of a classifier or matcher, not of a model of kind \"", Other::kind, "\"");
  }
};

}  // namespace

std::shared_ptr<SequenceModel> make_model(const ModelOptions& options) {
  validate(options);
  return std::visit(Maker(), options.model);
}

ParameterCount count_parameters(const torch::nn::Module& model) {
  ParameterCount count;
  for (const auto& item : model.named_parameters()) {
    count.total += item.value().numel();
    count.parts[part_of(item.key())] += item.value().numel();
  }
  return count;
}

}  // namespace mega::models
