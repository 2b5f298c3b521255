#include "mega/config/import/import_checkpoint.h"

#include <utility>

#include "mega/base/error.h"
#include "mega/base/strings.h"
#include "mega/config/files/model_file.h"
#include "mega/config/import/fairseq_options.h"
#include "mega/config/import/saved_arguments.h"

namespace mega {
namespace {

// Which program wrote a file, by what is in it; those whose models cannot be imported are named.
void check_origin(const PickleValue& root, const std::string& where) {
  require(root.is_table(), where, ": no model: expected a dict, got ", root.kind_name());
  const PickleValue* model = root.find("model");
  const bool bare =
      model == nullptr && !root.entries(where).empty() && root.entries(where)[0].value.is_tensor();
  const StateDict state(bare ? root : root.at("model", where), where);
  require(!state.has_prefix("patch_embed."), where,
          ": an image classifier of the ImageNet program, which this version does not import");
  require(!state.has_prefix("mega.") && !state.has_prefix("embedding_layer."), where,
          ": a model of Hugging Face's Mega family, which this version does not import");
  require(!bare && root.find("args") != nullptr, where, ": has no args: ",
          root.find("cfg") != nullptr
              ? "it was saved by a later fairseq than the released program"
              : "tensors alone do not say what model they are; a preset would have to be "
                "named, which this version does not support");
}

TrainingRecord training_record(const PickleValue& root, const SavedArguments& arguments,
                               const std::string& where) {
  TrainingRecord record;
  record.architecture = arguments.text("arch").value_or("");
  record.task = arguments.text("task").value_or("");
  if (const PickleValue* history = root.find("optimizer_history")) {
    const auto steps = history->items(where + ": optimizer_history");
    const PickleValue* updates = steps.empty() ? nullptr : steps.back().find("num_updates");
    if (updates != nullptr) record.updates = updates->integer(where + ": num_updates");
  }
  const PickleValue* state = root.find("extra_state");
  if (state == nullptr) return record;
  if (const PickleValue* iterator = state->find("train_iterator"))
    if (const PickleValue* epoch = iterator->find("epoch")) record.epoch = epoch->integer(where + ": epoch");
  record.metric = arguments.text("best_checkpoint_metric").value_or("loss");
  if (const PickleValue* best = state->find("best"); best != nullptr && !best->is_none())
    record.best = best->number(where + ": best");
  return record;
}

}  // namespace

ImportedModel import_checkpoint(const ImportRequest& request) {
  ImportedModel model;
  model.file = TorchFile::open(request.checkpoint, request.member);
  model.where = model.file.where();
  const PickleValue& root = model.file.root();
  check_origin(root, model.where);
  const SavedArguments arguments(root.at("args", model.where), model.where);
  const StateDict state(root.at("model", model.where), model.where);
  model.options = fairseq_options(arguments, state);
  model.weights = convert_tensors(state, model.options);
  model.record = training_record(root, arguments, model.where);

  DataFiles files = request.files;
  if (files.dictionaries.empty()) files.dictionaries = dictionaries_beside(request.checkpoint, arguments);
  for (const std::filesystem::path& path : files.dictionaries) model.dictionaries.push_back(path.string());
  ImportedSignature imported = fairseq_signature(arguments, model.options, files);
  model.signature = std::move(imported.signature);
  model.notes = std::move(imported.notes);
  if (state.was_wrapped()) model.notes.emplace_back("names had the prefix \"module.\", of parallel training");
  if (root.find("last_optimizer_state") != nullptr)
    model.notes.emplace_back("the state of the optimizer was left out: it continues no training");
  return model;
}

void ImportedModel::write(const std::filesystem::path& path) const {
  std::vector<TensorView> tensors = weights.tensors;
  for (TensorView& tensor : signature_tensors(signature)) tensors.push_back(std::move(tensor));
  write_model_file(path, options, std::move(tensors), signature_metadata(signature));
}

}  // namespace mega
