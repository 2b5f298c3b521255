#include "mega/config/import/import_checkpoint.h"

#include <utility>

#include "mega/base/error.h"
#include "mega/base/strings.h"
#include "mega/config/files/model_file.h"
#include "mega/config/import/fairseq_options.h"
#include "mega/config/import/image_release.h"
#include "mega/config/import/saved_arguments.h"

namespace mega {
namespace {

// Which program wrote a file.
enum class Origin { fairseq, image };

// By what is in it; those whose models cannot be imported are named.
Origin find_origin(const PickleValue& root, const std::string& where) {
  require(root.is_table(), where, ": no model: expected a dict, got ", root.kind_name());
  const PickleValue* model = root.find("model");
  const bool bare =
      model == nullptr && !root.entries(where).empty() && root.entries(where)[0].value.is_tensor();
  const StateDict state(bare ? root : root.at("model", where), where);
  require(!state.has_prefix("mega.") && !state.has_prefix("embedding_layer."), where,
          ": a model of Hugging Face's Mega family, which this version does not import");
  require(!bare && root.find("args") != nullptr, where, ": has no args: ",
          root.find("cfg") != nullptr
              ? "it was saved by a later fairseq than the released program"
              : "tensors alone do not say what model they are; a preset would have to be "
                "named, which this version does not support");
  return state.has_prefix("patch_embed.") ? Origin::image : Origin::fairseq;
}

std::optional<int64_t> integer_at(const PickleValue& root, const char* name, const std::string& where) {
  const PickleValue* value = root.find(name);
  return value == nullptr ? std::nullopt : std::optional(value->integer(where + ": " + name));
}

TrainingRecord fairseq_record(const PickleValue& root, const SavedArguments& arguments,
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

void set_model(ImportedModel& model, ModelOptions options, const StateDict& state) {
  model.options = std::move(options);
  try {
    validate(model.options);
  } catch (const Error& error) {
    fail(model.where, ": ", error.what());
  }
  model.weights = convert_tensors(state, model.options);
}

void import_fairseq(ImportedModel& model, const ImportRequest& request) {
  const PickleValue& root = model.file.root();
  const SavedArguments arguments(root.at("args", model.where), model.where);
  const StateDict state(root.at("model", model.where), model.where);
  set_model(model, fairseq_options(arguments, state), state);
  model.record = fairseq_record(root, arguments, model.where);

  DataFiles files = request.files;
  if (files.dictionaries.empty()) files.dictionaries = dictionaries_beside(request.checkpoint, arguments);
  for (const std::filesystem::path& path : files.dictionaries) model.dictionaries.push_back(path.string());
  model.set_signature(fairseq_signature(arguments, model.options, files));
  if (state.was_wrapped()) model.notes.emplace_back("names had the prefix \"module.\", of parallel training");
  if (root.find("last_optimizer_state") != nullptr)
    model.notes.emplace_back("the state of the optimizer was left out: it continues no training");
}

void import_image(ImportedModel& model, const ImportRequest& request) {
  const PickleValue& root = model.file.root();
  const SavedArguments arguments(root.at("args", model.where), model.where);
  const StateDict state(root.at("model", model.where), model.where);
  set_model(model, image_release_options(arguments, state), state);
  model.record = {arguments.text("model").value_or(""),   "images", integer_at(root, "steps", model.where),
                  integer_at(root, "epoch", model.where), "",       std::nullopt};
  model.set_signature(image_release_signature(*image_options(model.options), request.files));
  if (root.find("optimizer") != nullptr)
    model.notes.emplace_back("the state of the optimizer was left out: it continues no training");
}

}  // namespace

ImportedModel import_checkpoint(const ImportRequest& request) {
  ImportedModel model;
  model.file = TorchFile::open(request.checkpoint, request.member);
  model.where = model.file.where();
  switch (find_origin(model.file.root(), model.where)) {
    case Origin::fairseq:
      import_fairseq(model, request);
      break;
    case Origin::image:
      import_image(model, request);
      break;
  }
  return model;
}

void ImportedModel::set_signature(ImportedSignature imported) {
  signature = std::move(imported.signature);
  notes = std::move(imported.notes);
}

void ImportedModel::write(const std::filesystem::path& path) const {
  std::vector<TensorView> tensors = weights.tensors;
  for (TensorView& tensor : signature_tensors(signature)) tensors.push_back(std::move(tensor));
  write_model_file(path, options, std::move(tensors), signature_metadata(signature));
}

}  // namespace mega
