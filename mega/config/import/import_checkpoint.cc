#include "mega/config/import/import_checkpoint.h"

#include <cstring>
#include <nlohmann/json.hpp>
#include <utility>

#include "mega/base/error.h"
#include "mega/base/files/file.h"
#include "mega/base/options/options_io.h"
#include "mega/base/strings.h"
#include "mega/config/files/checkpoint_files.h"
#include "mega/config/files/model_file.h"
#include "mega/config/import/fairseq_options.h"
#include "mega/config/import/huggingface.h"
#include "mega/config/import/image_release.h"
#include "mega/config/import/saved_arguments.h"
#include "mega/config/recipe/presets.h"

namespace mega {
namespace {

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
    if (!steps.empty()) record.updates = integer_at(steps.back(), "num_updates", where);
  }
  const PickleValue* state = root.find("extra_state");
  if (state == nullptr) return record;
  if (const PickleValue* iterator = state->find("train_iterator"))
    record.epoch = integer_at(*iterator, "epoch", where);
  record.metric = arguments.text("best_checkpoint_metric").value_or("loss");
  if (const PickleValue* best = state->find("best"); best != nullptr && !best->is_none())
    record.best = best->number(where + ": best");
  return record;
}

// Makes an ImportedModel of one file.
class Importer {
 public:
  explicit Importer(const ImportRequest& request) : request_(request) {}

  ImportedModel run() {
    const std::filesystem::path path = huggingface_tensors(request_.checkpoint);
    if (path.extension() == ".safetensors")
      import_safetensors(path);
    else
      import_torch(path);
    require(model_.training.has_value() == request_.training_state, model_.where,
            ": has no state of a training: import it without --training-state");
    return std::move(model_);
  }

 private:
  void import_safetensors(const std::filesystem::path& path) {
    const Safetensors tensors = Safetensors::open(path);
    require(request_.member.empty(), path.string(), ": is one model, no archive that could hold ",
            in_quotes(request_.member));
    model_.file = tensors;
    model_.where = path.string();
    StateDict state(tensors, model_.where);
    if (is_huggingface(path) && request_.like.empty())
      import_huggingface(path.parent_path(), state);
    else
      import_tensors(state);
  }

  // Which program wrote it is told by what is in it.
  void import_torch(const std::filesystem::path& path) {
    const TorchFile file = TorchFile::open(path, request_.member);
    model_.file = file;
    model_.where = file.where();
    const PickleValue& root = file.root();
    require(root.is_table(), model_.where, ": no model: expected a dict, got ", root.kind_name());
    const bool bare = root.find("model") == nullptr && !root.entries(model_.where).empty() &&
                      root.entries(model_.where)[0].value.is_tensor();
    StateDict state(bare ? root : root.at("model", model_.where), model_.where);
    if (state.was_wrapped())
      model_.notes.emplace_back("names had the prefix \"module.\", of parallel training");
    const bool foreign = state.has_prefix("mega.") || state.has_prefix("embedding_layer.");
    if (foreign) {
      require(is_huggingface(path), model_.where,
              ": a model of Hugging Face's Mega family, whose config.json must lie beside it");
      return import_huggingface(path.parent_path(), state);
    }
    if (!request_.like.empty() || bare || root.find("args") == nullptr) {
      require(root.find("cfg") == nullptr || !request_.like.empty(), model_.where,
              ": has no args: it was saved by a later fairseq than the released program");
      return import_tensors(state);
    }
    const SavedArguments arguments(root.at("args", model_.where), model_.where);
    if (state.has_prefix("patch_embed."))
      import_image(root, arguments, state);
    else
      import_fairseq(root, arguments, state);
  }

  void set_model(ModelOptions options, const StateDict& state) {
    model_.options = std::move(options);
    try {
      validate(model_.options);
    } catch (const Error& error) {
      fail(model_.where, ": ", error.what());
    }
    model_.weights = convert_tensors(state, model_.options);
  }

  void set_signature(ImportedSignature imported) {
    model_.signature = std::move(imported.signature);
    for (std::string& note : imported.notes) model_.notes.push_back(std::move(note));
  }

  void set_texts(const SavedArguments& arguments) {
    DataFiles files = request_.files;
    if (files.dictionaries.empty() && request_.look_beside)
      files.dictionaries = dictionaries_beside(request_.checkpoint, arguments);
    for (const std::filesystem::path& path : files.dictionaries) model_.dictionaries.push_back(path.string());
    set_signature(fairseq_signature(arguments, model_.options, files));
  }

  void import_fairseq(const PickleValue& root, const SavedArguments& arguments, const StateDict& state) {
    set_model(fairseq_options(arguments, state), state);
    model_.record = fairseq_record(root, arguments, model_.where);
    set_texts(arguments);
    if (request_.training_state)
      model_.training = fairseq_training(root, arguments, model_.options, model_.where);
    else
      note_optimizer(root.find("last_optimizer_state"));
  }

  void import_image(const PickleValue& root, const SavedArguments& arguments, const StateDict& state) {
    set_model(image_release_options(arguments, state), state);
    model_.record = {
        arguments.text("model").value_or(""),    "images", integer_at(root, "steps", model_.where),
        integer_at(root, "epoch", model_.where), "",       std::nullopt};
    set_signature(image_release_signature(*image_options(model_.options), request_.files));
    if (request_.training_state)
      model_.training = image_release_training(root, arguments, model_.options, model_.where);
    else
      note_optimizer(root.find("optimizer"));
  }

  void note_optimizer(const PickleValue* optimizer) {
    if (optimizer != nullptr)
      model_.notes.emplace_back("the state of the optimizer was left out: --training-state keeps it");
  }

  void import_huggingface(const std::filesystem::path& folder, StateDict& state) {
    const HuggingFaceConfig config(folder / "config.json");
    const std::vector<float> added = rename_from_huggingface(state, config);
    set_model(huggingface_options(config, state), state);
    add_to_embeddings(added);
    model_.record.architecture = config.architecture();
    model_.record.task = "Hugging Face";
    set_signature(huggingface_signature(config, model_.options, request_.files));
  }

  // Adds a row to every embedding. Where these are the output layer as well, all scores of a position change
  // by the same number, which no softmax sees.
  void add_to_embeddings(const std::vector<float>& row) {
    if (row.empty()) return;
    TensorView& embeddings = find_embeddings();
    std::vector<float>& sums = model_.weights.floats.emplace_back(static_cast<size_t>(embeddings.elements()));
    std::memcpy(sums.data(), embeddings.data.data(), embeddings.data.size());
    for (size_t i = 0; i < sums.size(); ++i) sums[i] += row[i % row.size()];
    embeddings.data = std::as_bytes(std::span(sums));
  }

  TensorView& find_embeddings() {
    for (TensorView& tensor : model_.weights.tensors)
      if (tensor.name == "decoder.embed_tokens.weight" ||
          tensor.name == "encoder.encoder.embed_tokens.embed.weight")
        return tensor;
    fail(model_.where, ": has no embeddings of tokens");
  }

  // Tensors alone do not say what model they are: a recipe does, and only what depends on the data follows
  // from them.
  void import_tensors(const StateDict& state) {
    require(!request_.like.empty(), model_.where,
            ": has no args: tensors alone do not say what model they are; name a preset with --like");
    const Recipe recipe = load_recipe(request_.like);
    ModelOptions options = recipe.model;
    if (SequenceOptions* sequence = sequence_options(options)) {
      const std::string embedding = "encoder.encoder.embed_tokens.embed.weight";
      if (state.has(embedding)) sequence->vocabulary = state.size(embedding, 0);
      sequence->classes = state.size("sentence_projection_layer.weight", 0);
    } else if (TokenOptions* tokens = token_options(options)) {
      if (tokens->cutoffs.empty()) tokens->vocabulary = state.size("decoder.embed_tokens.weight", 0);
    } else if (TranslationOptions* pair = translation_options(options)) {
      pair->vocabulary = state.size("decoder.embed_tokens.weight", 0);
    } else if (ImageOptions* image = image_options(options)) {
      image->classes = state.size("head.weight", 0);
    }
    set_model(std::move(options), state);
    model_.record.architecture = request_.like;
    model_.record.task = "a preset";
    if (const ImageOptions* image = image_options(model_.options))
      set_signature(image_release_signature(*image, request_.files));
    else
      set_texts(SavedArguments(model_.where));
  }

  const ImportRequest& request_;
  ImportedModel model_;
};

}  // namespace

ImportedModel import_checkpoint(const ImportRequest& request) { return Importer(request).run(); }

void ImportedModel::write(const std::filesystem::path& path) const {
  std::vector<TensorView> tensors = weights.tensors;
  for (TensorView& tensor : signature_tensors(signature)) tensors.push_back(std::move(tensor));
  write_model_file(path, options, std::move(tensors), signature_metadata(signature));
}

void ImportedModel::write_run(const std::filesystem::path& folder) const {
  require(training.has_value(), where, ": was imported without the state of its training");
  require(!std::filesystem::exists(folder / kRunRecipe), folder.string(),
          " holds a run already: choose another folder");
  const std::filesystem::path checkpoint = folder / kCheckpoints / checkpoint_name(training->update);
  std::filesystem::create_directories(checkpoint);
  write(checkpoint / kCheckpointModel);
  write(folder / kCheckpointModel);
  std::vector<TensorView> tensors = training->moments.tensors;
  tensors.push_back({"updates", DType::I64, {}, std::as_bytes(std::span(&training->adam_updates, 1))});
  const nlohmann::ordered_json state{{"update", training->update}, {"epoch", training->epoch}, {"batch", 0}};
  write_training_file(checkpoint / kCheckpointTraining, state.dump(),
                      Safetensors::open(checkpoint / kCheckpointModel).tensors(), tensors);
  Recipe recipe;
  recipe.description = "continues " + where;
  recipe.model = options;
  recipe.input = signature.input;
  recipe.train = training->options;
  // Its vocabulary is the one that goes on.
  if (tokenizer_options(recipe.input) != nullptr)
    recipe.train.init = std::filesystem::absolute(folder / kCheckpointModel).string();
  validate(recipe);
  // Last: with it, the folder is a run.
  write_file(folder / kRunRecipe, options_to_json(recipe).dump(2) + "\n");
}

}  // namespace mega
