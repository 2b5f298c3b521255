// {'args': Namespace, 'model': {name: tensor}, 'optimizer_history': [...], 'extra_state': {...}}, the four
// entries without which the released program loads nothing.
#include <algorithm>
#include <nlohmann/json.hpp>

#include "mega/base/error.h"
#include "mega/base/files/file.h"
#include "mega/base/pytorch/torch_writer.h"
#include "mega/config/export/export_model.h"
#include "mega/config/export/exported_tensors.h"
#include "mega/config/export/fairseq_arguments.h"
#include "mega/config/files/signature.h"
#include "mega/config/import/import_checkpoint.h"

namespace mega {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

void write_value(PickleWriter& pickle, const Json& json) {
  if (json.is_null()) return pickle.none();
  if (json.is_boolean()) return pickle.boolean(json.get<bool>());
  if (json.is_number_integer()) return pickle.integer(json.get<int64_t>());
  if (json.is_number()) return pickle.real(json.get<double>());
  if (json.is_string()) return pickle.text(json.get<std::string>());
  if (json.is_array()) {
    pickle.begin_list();
    for (const Json& item : json) write_value(pickle, item);
    return pickle.end_list();
  }
  pickle.begin_dict();
  for (const auto& [key, value] : json.items()) {
    pickle.text(key);
    write_value(pickle, value);
  }
  pickle.end_dict();
}

// The order of the released modules: encoder, decoder, output layer, head.
int module_rank(const std::string& name) {
  if (name.starts_with("encoder.")) return 0;
  if (name.starts_with("classifier.")) return 3;
  if (name.starts_with("sentence_projection_layer.")) return 4;
  const bool output =
      name.starts_with("decoder.output_projection.") || name.starts_with("decoder.adaptive_softmax.");
  return output ? 2 : 1;
}

// Buffers that the released modules expect in a file and never read: versions, and one float of no meaning.
void add_buffers(ExportedTensors& exported, const ModelOptions& options) {
  const std::vector<TensorView> tensors = exported.tensors;
  const auto has = [&](const std::string& name) {
    return std::any_of(tensors.begin(), tensors.end(),
                       [&](const TensorView& tensor) { return tensor.name == name; });
  };
  const auto no_meaning = [&](const std::string& name) { exported.add(name, {1}, std::vector<float>{0}); };
  if (options.kind().task() != ModelTask::sequence)
    for (const char* side : {"encoder", "decoder"})
      if (has(std::string(side) + ".layers.0.mega_layer.gamma"))
        exported.add(std::string(side) + ".version", {1}, std::vector<float>{3});
  const std::string softmax = "decoder.adaptive_softmax.";
  if (has(softmax + "head.class_proj.weight")) {
    exported.add(softmax + "version", {1}, std::vector<int64_t>{1});
    no_meaning(softmax + "head._float_tensor");
    no_meaning("decoder.embed_tokens._float_tensor");
  }
  const std::string rotary = ".rel_pos_bias.alpha";
  for (const TensorView& tensor : tensors)
    if (tensor.name.ends_with(rotary))
      no_meaning(tensor.name.substr(0, tensor.name.size() - 5) + "_float_tensor");
}

void write_checkpoint(const ModelFile& file, const fs::path& path) {
  ExportedTensors exported = exported_tensors(file, true);
  add_buffers(exported, file.options);
  std::stable_sort(
      exported.tensors.begin(), exported.tensors.end(),
      [](const TensorView& a, const TensorView& b) { return module_rank(a.name) < module_rank(b.name); });
  const Signature signature =
      has_signature(file.tensors) ? read_signature(file.tensors, file.where) : Signature();
  const Json arguments = fairseq_arguments(file.options, signature);

  TorchWriter writer;
  PickleWriter& values = writer.values();
  values.begin_dict();
  values.text("args");
  values.begin_fields();
  for (const auto& [name, value] : arguments.items()) {
    values.text(name);
    write_value(values, value);
  }
  values.end_fields();
  values.text("model");
  values.begin_dict();
  for (const TensorView& tensor : exported.tensors) {
    values.text(tensor.name);
    writer.tensor(tensor);
  }
  values.end_dict();
  values.text("optimizer_history");
  write_value(values, Json::array({{{"criterion_name", arguments.at("criterion")},
                                    {"optimizer_name", "FairseqAdam"},
                                    {"lr_scheduler_state", {{"best", nullptr}}},
                                    {"num_updates", 0}}}));
  values.text("extra_state");
  write_value(values, {{"train_iterator",
                        {{"version", 2}, {"epoch", 1}, {"iterations_in_epoch", 0}, {"shuffle", true}}},
                       {"val_loss", nullptr}});
  values.end_dict();
  writer.write(path);
}

}  // namespace

void export_fairseq(const ModelFile& file, const fs::path& path) {
  const fs::path aside = path.parent_path() / temporary_name(path.filename().string(), 0);
  try {
    write_checkpoint(file, aside);
    // As it will be read: what the program's options cannot say is found here.
    check_same_options(file.options,
                       import_checkpoint({.checkpoint = aside, .member = "", .look_beside = false}).options,
                       file.where);
    fs::rename(aside, path);
  } catch (...) {
    std::error_code ignored;
    fs::remove(aside, ignored);
    throw;
  }
}

}  // namespace mega
