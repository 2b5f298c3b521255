#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <numeric>

#include "cli/commands.h"
#include "cli/model_argument.h"
#include "mega/base/error.h"
#include "mega/base/stream.h"
#include "mega/base/text.h"
#include "mega/config/tokens.h"
#include "mega/data/readers.h"
#include "mega/ops/runtime.h"
#include "mega/peers/factory.h"
#include "mega/train/run.h"
#include "mega/train/saved_model.h"
#include "mega/train/sequence_task.h"

namespace mega::cli {
namespace {

struct PredictCommand {
  std::string model, device = "cpu";
  std::vector<std::string> files, texts;
  int64_t top = 3;
  int threads = 0;
  bool json = false, lines = false;

  void run();
  void add_inputs(const train::SavedModel& saved, int documents,
                  const std::function<void(data::Record)>& use) const;
  void print(const data::Record& record, const train::Answer& answer, const Signature& signature) const;
};

// The two texts of a pair stand on one line, with a tab between them.
data::Record text_record(std::string text, const std::string& where, int documents) {
  data::Record record;
  record.where = where;
  if (documents == 2) {
    const size_t tab = text.find('\t');
    require(tab != std::string::npos, where, ": expected two texts with a tab between them");
    record.second = text.substr(tab + 1);
    text.resize(tab);
  }
  record.bytes = std::move(text);
  return record;
}

void PredictCommand::add_inputs(const train::SavedModel& saved, int documents,
                                const std::function<void(data::Record)>& use) const {
  const auto& input = saved.signature.input.input;
  const bool text = std::holds_alternative<TextInput>(input);
  require(text || texts.empty(), "--text: this model reads ",
          std::visit([](const auto& kind) { return kind.kind; }, input), ", not text");
  for (const std::string& one : texts) use(text_record(one, in_quotes(one), documents));
  for (const std::string& file : files) {
    if (const auto* image = std::get_if<ImageInput>(&input)) {
      use(data::read_image(file, *image));
    } else if (const auto* audio = std::get_if<AudioInput>(&input)) {
      use(data::read_sound(file, *audio));
    } else if (const auto* series = std::get_if<SeriesInput>(&input)) {
      use(data::read_one_series(file, *series));
    } else if (lines || file == "-" || documents == 2) {
      LineReader reader(file);
      for (std::string line; reader.next(line);)
        if (!line.empty()) use(text_record(line, reader.where(), documents));
    } else {
      use(text_record(read_stream(file), file, documents));
    }
  }
}

void PredictCommand::print(const data::Record& record, const train::Answer& answer,
                           const Signature& signature) const {
  const bool classes = !signature.classes.empty();
  std::vector<size_t> order(answer.outputs.size());
  std::iota(order.begin(), order.end(), size_t{0});
  if (classes)
    std::stable_sort(order.begin(), order.end(),
                     [&](size_t a, size_t b) { return answer.outputs[a] > answer.outputs[b]; });
  if (classes) order.resize(std::min(order.size(), static_cast<size_t>(top)));
  if (json) {
    nlohmann::ordered_json line = {{"input", record.where}};
    for (const size_t i : order) {
      if (classes) {
        line["classes"].push_back({{"class", signature.classes[i]}, {"probability", answer.outputs[i]}});
      } else {
        line["values"].push_back(answer.outputs[i]);
      }
    }
    std::printf("%s\n", line.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace).c_str());
    return;
  }
  std::printf("%s", record.where.c_str());
  for (const size_t i : order) {
    if (classes) {
      std::printf("\t%s %.1f %%", signature.classes[i].c_str(),
                  100.0 * static_cast<double>(answer.outputs[i]));
    } else {
      std::printf("\t%.6g", static_cast<double>(answer.outputs[i]));
    }
  }
  std::printf("\n");
}

void PredictCommand::run() {
  ops::set_threads(threads);
  const torch::Device on = train::parse_device(device);
  const train::SavedModel saved = load_sequence_model(model);
  saved.model->to(on);
  const int documents = static_cast<int>(peers::documents(saved.options));
  const data::Encoder encoder(saved.signature, cls_token(*sequence_options(saved.options)));
  train::EvaluationOptions options;
  options.device = on;
  if (files.empty() && texts.empty()) files.push_back("-");

  constexpr size_t kTogether = 64;  // inputs answered at a time: a pipe sees its first answers early
  data::Part part;
  const auto answer = [&] {
    const train::Evaluation evaluation = train::evaluate(*saved.model, part, encoder, documents, options);
    for (size_t i = 0; i < part.records.size(); ++i)
      print(part.records[i], evaluation.answers[i], saved.signature);
    std::fflush(stdout);
    part.records.clear();
  };
  add_inputs(saved, documents, [&](data::Record record) {
    part.records.push_back(std::move(record));
    if (part.records.size() == kTogether) answer();
  });
  if (!part.records.empty()) answer();
}

}  // namespace

void add_predict(CLI::App& app) {
  auto command = std::make_shared<PredictCommand>();
  CLI::App* sub =
      app.add_subcommand("predict", "classes and their probabilities for texts, sounds, images, series");
  sub->add_option("model", command->model, "model file or run directory")->required();
  sub->add_option("files", command->files, "files, each one input; - reads standard input, a text a line");
  sub->add_option("--text", command->texts, "a text on the command line; may be given several times")
      ->allow_extra_args(false);
  sub->add_flag("--lines", command->lines, "each line of a text file is an input");
  sub->add_option("--top", command->top, "classes shown of each")
      ->capture_default_str()
      ->check(CLI::PositiveNumber);
  sub->add_option("--threads", command->threads, "threads (default: all cores)")
      ->check(CLI::NonNegativeNumber);
  sub->add_option("--device", command->device, "cpu, or cuda where libtorch has it (untested)")
      ->capture_default_str();
  sub->add_flag("--json", command->json, "one JSON object a line");
  sub->callback([command] { command->run(); });
}

}  // namespace mega::cli
