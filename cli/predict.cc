#include <cstdio>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <span>
#include <utility>

#include "cli/answer_line.h"
#include "cli/any_model.h"
#include "cli/commands.h"
#include "cli/model_argument.h"
#include "cli/predict_stream.h"
#include "mega/base/error.h"
#include "mega/base/printable.h"
#include "mega/base/stream.h"
#include "mega/base/strings.h"
#include "mega/data/readers/readers.h"

namespace mega::cli {
namespace {

struct PredictCommand {
  OpenRequest model;
  std::vector<std::string> files, texts;
  int64_t top = 3;
  bool json = false, lines = false, streams = false;
  StreamRequest stream;

  void run();
  void listen() const;
  void add_inputs(const AnyClassifier& classifier, const std::function<void(data::Record)>& use) const;
  void print(const std::string& input, std::span<const float> answer, const Signature& signature) const;
};

// The two texts of a pair are on one line, separated by a tab.
data::Record text_record(std::string text, const std::string& where, int documents) {
  data::Record record;
  record.where = where;
  if (documents == 2) {
    const size_t tab = text.find('\t');
    require(tab != std::string::npos, where, ": expected two texts separated by a tab");
    record.second = text.substr(tab + 1);
    text.resize(tab);
  }
  record.bytes = std::move(text);
  return record;
}

void PredictCommand::add_inputs(const AnyClassifier& classifier,
                                const std::function<void(data::Record)>& use) const {
  const auto& input = classifier.signature().input.input;
  const int documents = classifier.documents();
  const bool text = std::holds_alternative<TextInput>(input);
  require(text || texts.empty(), "--text: this model reads ",
          std::visit([](const auto& kind) { return kind.kind; }, input), ", not text");
  for (const std::string& one : texts) use(text_record(one, in_quotes(one), documents));
  for (const std::string& file : files) {
    if (std::holds_alternative<ImageInput>(input)) {
      use(data::read_image(file));
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

void PredictCommand::print(const std::string& input, std::span<const float> answer,
                           const Signature& signature) const {
  const AnswerLine line(signature, top);
  if (json) {
    nlohmann::ordered_json object = {{"input", input}};
    line.add_to(object, answer);
    std::fputs(json_line(object).c_str(), stdout);
  } else {
    std::printf("%s%s\n", printable(input).c_str(), line.plain(answer).c_str());
  }
}

void PredictCommand::listen() const {
  require(texts.empty() && !lines && files.size() <= 1, "--stream reads one file, or standard input");
  StreamRequest request = stream;
  request.model = model_path(model.model);
  if (!files.empty()) request.input = files.front();
  request.top = top;
  request.threads = model.threads;
  request.json = json;
  predict_stream(request);
}

void PredictCommand::run() {
  if (streams) return listen();
  const std::unique_ptr<AnyClassifier> classifier = open_classifier(model);
  if (files.empty() && texts.empty()) files.push_back("-");

  constexpr size_t kTogether = 64;  // inputs per batch, small so that a pipe gets its first answers early
  std::vector<data::Record> records;
  const auto answer = [&] {
    std::vector<std::string> inputs;
    for (const data::Record& record : records) inputs.push_back(record.where);
    const std::vector<std::vector<float>> answers = classifier->answers(std::exchange(records, {}));
    for (size_t i = 0; i < inputs.size(); ++i) print(inputs[i], answers[i], classifier->signature());
    require(std::fflush(stdout) == 0, "cannot write to standard output");
  };
  add_inputs(*classifier, [&](data::Record record) {
    records.push_back(std::move(record));
    if (records.size() == kTogether) answer();
  });
  if (!records.empty()) answer();
}

}  // namespace

void add_predict(CLI::App& app, const OtherModels* others) {
  auto command = std::make_shared<PredictCommand>();
  command->model.others = others;
  CLI::App* sub =
      app.add_subcommand("predict", "predict class probabilities for texts, sounds, images and series");
  sub->add_option("model", command->model.model, "model file or run directory")->required();
  sub->add_option("files", command->files,
                  "files, one input each; - reads standard input, one text per line");
  sub->add_option("--text", command->texts, "text to classify; may be repeated")->allow_extra_args(false);
  sub->add_flag("--lines", command->lines, "treat each line of a text file as an input");
  sub->add_option("--top", command->top, "number of classes shown per input")
      ->capture_default_str()
      ->check(CLI::PositiveNumber);
  sub->add_option("--threads", command->model.threads, "number of threads (default: all cores)")
      ->check(CLI::NonNegativeNumber);
  sub->add_flag("--json", command->json, "print one JSON object per line");
  CLI::Option* stream = sub->add_flag(
      "--stream", command->streams,
      "classify unbounded input at regular intervals: bytes of text, or signed 16-bit mono samples at the "
      "model's rate, raw or WAV; needs a causal model (preset audio-stream)");
  sub->add_option("--every", command->stream.every,
                  "--stream: positions between decisions (default: depends on the model)")
      ->check(CLI::PositiveNumber)
      ->needs(stream);
  sub->add_option("--window", command->stream.window,
                  "--stream: last positions that a decision covers, 0 for all (default: depends on the "
                  "model)")
      ->check(CLI::NonNegativeNumber)
      ->needs(stream);
  sub->callback([command] { command->run(); });
}

}  // namespace mega::cli
