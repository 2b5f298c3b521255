#include <cstdio>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "cli/commands.h"
#include "mega/base/files/json.h"
#include "mega/base/printable.h"
#include "mega/base/strings.h"
#include "mega/config/import/import_checkpoint.h"
#include "mega/config/parameter_count.h"

namespace mega::cli {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

struct ImportCommand {
  ImportRequest request;
  std::string out;
  bool json = false;

  void run() const;
};

// "3 updates, epoch 2, best accuracy 25".
std::string training(const TrainingRecord& record) {
  std::vector<std::string> parts;
  if (record.updates) parts.push_back(with_thousands(*record.updates) + " updates");
  if (record.epoch) parts.push_back("epoch " + std::to_string(*record.epoch));
  if (record.best) {
    char value[32];
    std::snprintf(value, sizeof value, "%g", *record.best);
    parts.push_back("best " + record.metric + " " + value);
  }
  return parts.empty() ? "nothing is said of its training" : join(parts, ", ");
}

void print(const ImportedModel& model, const fs::path& out) {
  const auto line = [](const char* title, const std::string& text) {
    std::printf("  %-12s %s\n", title, printable(text).c_str());
  };
  std::printf("%s\n", printable(model.where).c_str());
  line("trained as", model.record.architecture + " (" + model.record.task + ")");
  line("training", training(model.record));
  line("model", model.options.kind_name() + ", " + with_thousands(count_parameters(model.options).total) +
                    " parameters");
  for (const std::string& dictionary : model.dictionaries) line("dictionary", dictionary);
  if (!model.weights.ignored.empty())
    line("ignored", std::to_string(model.weights.ignored.size()) + " buffers that carry nothing: " +
                        model.weights.ignored.front() + (model.weights.ignored.size() > 1 ? ", ..." : ""));
  for (const std::string& note : model.notes) line("note", note);
  std::printf("%s: %s\n", printable(out.native()).c_str(), human_bytes(fs::file_size(out)).c_str());
}

Json as_json(const ImportedModel& model, const fs::path& out) {
  const auto or_null = [](const auto& value) { return value ? Json(*value) : Json(); };
  return {{"checkpoint", model.where},
          {"architecture", model.record.architecture},
          {"task", model.record.task},
          {"updates", or_null(model.record.updates)},
          {"epoch", or_null(model.record.epoch)},
          {"metric", model.record.metric},
          {"best", or_null(model.record.best)},
          {"kind", model.options.kind_name()},
          {"parameters", count_parameters(model.options).total},
          {"dictionaries", model.dictionaries},
          {"ignored", model.weights.ignored},
          {"notes", model.notes},
          {"out", out.string()}};
}

void ImportCommand::run() const {
  const ImportedModel model = import_checkpoint(request);
  fs::path to = out;
  if (request.training_state) {
    if (out.empty()) to = "runs" / request.checkpoint.stem();
    model.write_run(to);
    to /= "model.safetensors";
  } else {
    const fs::path folder =
        request.checkpoint.has_filename() ? request.checkpoint : request.checkpoint.parent_path();
    if (out.empty()) to = fs::path(folder.stem()) += ".safetensors";
    model.write(to);
  }
  if (json)
    std::printf("%s\n", json_text(as_json(model, to), 2).c_str());
  else
    print(model, to);
}

}  // namespace

void add_import(CLI::App& app) {
  auto command = std::make_shared<ImportCommand>();
  CLI::App* sub = app.add_subcommand("import",
                                     "write a model file from a checkpoint of the released programs "
                                     "(PyTorch, fairseq) or of Hugging Face's");
  sub->add_option(
         "checkpoint", command->request.checkpoint,
         "checkpoint (*.pt, *.bin, *.safetensors), zip archive of checkpoints, or folder of a Hugging Face "
         "model; nothing in it is executed")
      ->required()
      ->type_name("FILE");
  sub->add_option("--member", command->request.member,
                  "checkpoint inside an archive of several: its name, or a part of it that no other has")
      ->type_name("NAME");
  sub->add_option("--like", command->request.like,
                  "preset (or .toml file) whose model the tensors are, where a checkpoint does not say it")
      ->type_name("PRESET");
  sub->add_option("--dict", command->request.files.dictionaries,
                  "dictionary of fairseq (dict.txt), of tokens or of labels, or of each language; may be "
                  "repeated (default: those beside the checkpoint)")
      ->allow_extra_args(false)
      ->type_name("FILE");
  sub->add_option("--codes", command->request.files.codes, "BPE codes of a translator")->type_name("FILE");
  sub->add_option(
         "--statistics", command->request.files.statistics,
         "model of `mega train` on the same sounds, whose mean and deviation of samples are taken over")
      ->type_name("MODEL");
  sub->add_option("--classes", command->request.files.classes,
                  "names of a classifier's classes, one per line, in the order of its outputs")
      ->type_name("FILE");
  sub->add_flag(
      "--training-state", command->request.training_state,
      "write a folder that `mega train --resume --out FOLDER` continues: the optimizer's state, too");
  sub->add_option(
         "--out", command->out,
         "output file (default: in this folder, named as the checkpoint, e.g. model.safetensors), or "
         "folder with --training-state (default: runs/NAME)")
      ->type_name("FILE");
  sub->add_flag("--json", command->json, "print JSON");
  sub->callback([command] { command->run(); });
}

}  // namespace mega::cli
