#include <glob.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <utility>

#include "cli/any_model.h"
#include "cli/commands.h"
#include "cli/commands/answer_line.h"
#include "cli/commands/predict_stream.h"
#include "cli/commands/saliency_sheet.h"
#include "cli/commands/shard.h"
#include "cli/model_argument.h"
#include "mega/base/error.h"
#include "mega/base/printable.h"
#include "mega/base/strings.h"
#include "mega/config/recipe/presets.h"
#include "mega/data/dataset.h"
#include "mega/data/readers/read_inputs.h"
#include "mega/report/terminal.h"

namespace mega::cli {
namespace {

constexpr int64_t kTop = 3, kTopOfPictures = 5;

struct PredictCommand {
  OpenRequest model;
  std::vector<std::string> files, texts, changes;
  std::string saliency;
  int64_t top = 0;  // 0: kTop, or of pictures kTopOfPictures
  bool json = false, lines = false, table = false, no_labels = false, streams = false;
  StreamRequest stream;
  Shard shard;

  // What this process answers. Files of which it answers nothing are left out.
  struct Part {
    InputRange range;
    std::vector<std::string> files;
    int64_t before = 0;  // inputs in what was left out before these
  };

  void run();
  Part part(const data::InputRequest& request) const;
  void listen() const;
  data::InputRequest request_for(const AnyClassifier& classifier) const;
};

bool reads_pictures(const Signature& signature) {
  return std::holds_alternative<ImageInput>(signature.input.input);
}

// What a pattern such as photos/*.jpg stands for, in the order of the names, where no shell has replaced it.
// A path that exists, and a pattern of nothing, is itself.
std::vector<std::string> expanded(const std::vector<std::string>& paths) {
  std::vector<std::string> all;
  for (const std::string& path : paths) {
    std::error_code none;
    glob_t found{};
    if (std::filesystem::exists(path, none) || ::glob(path.c_str(), 0, nullptr, &found) != 0)
      all.push_back(path);
    else
      all.insert(all.end(), found.gl_pathv, found.gl_pathv + found.gl_pathc);
    ::globfree(&found);
  }
  return all;
}

const char* kind_of(const Signature& signature) {
  return std::visit([](const auto& kind) { return kind.kind; }, signature.input.input);
}

// Answers inputs in their order, a few at a time, and prints a line for each.
class Answers {
 public:
  // `together`: inputs per batch. At a terminal, the answers about pictures have bars.
  Answers(AnyClassifier& classifier, int64_t top, bool json, size_t together, SaliencySheet* sheet)
      : classifier_(classifier),
        line_(classifier.signature(), top),
        cut_inputs_(classifier.signature()),
        json_(json),
        bars_(reads_pictures(classifier.signature()) && !classifier.signature().classes.empty() &&
              is_terminal(stdout)),
        together_(together),
        most_bytes_(reads_pictures(classifier.signature()) ? kMostPictureBytes : kMostBytes),
        sheet_(sheet) {}

  // `shown` stands for the input in plain output.
  void add(data::Record&& record, std::string shown) {
    ++inputs_;
    if (cut_inputs_.is_cut(record)) ++cut_;
    const size_t bytes = content_bytes(record);
    if (bytes == 0) ++empty_;
    bytes_ += bytes;
    lines_.push_back({std::move(shown), describe(record), ""});
    records_.push_back(std::move(record));
    if (records_.size() >= together_ || bytes_ >= most_bytes_) print();
  }

  // An input that cannot be read has a line, too.
  void add(const data::Problem& problem) {
    ++inputs_;
    ++unreadable_;
    Line& line = lines_.emplace_back();
    line.shown = printable(problem.where);
    line.object["input"] = problem.where;
    line.problem = problem.what;
    if (lines_.size() >= together_) print();
  }

  void print() {
    std::vector<Line> lines = std::exchange(lines_, {});
    std::vector<std::vector<float>> answers;
    const std::vector<data::Record> shown = sheet_ != nullptr ? records_ : std::vector<data::Record>();
    if (!records_.empty()) answers = classifier_.answers(std::exchange(records_, {}));
    for (size_t i = 0; i < shown.size(); ++i) sheet_->add(shown[i], answers[i]);
    bytes_ = 0;
    size_t next = 0;
    for (Line& line : lines) {
      if (!line.problem.empty())
        print_problem(line);
      else
        print_answer(line, answers[next++]);
    }
    require(std::fflush(stdout) == 0 && std::ferror(stdout) == 0, "cannot write to standard output");
  }

  int64_t unreadable() const { return unreadable_; }

  // What else is to be said, to standard error.
  void print_notes() const {
    const auto note = [&](int64_t count, const std::string& what) {
      if (count > 0)
        std::fprintf(stderr, "note: %s of %s inputs %s\n", with_thousands(count).c_str(),
                     with_thousands(inputs_).c_str(), what.c_str());
    };
    note(cut_, "are longer than what the model reads, and were cut to their beginning");
    note(empty_, "are empty: what the model says of them means nothing");
    note(unreadable_, "cannot be read");
  }

 private:
  // Of inputs that wait for others. A photograph has some 30 MB.
  static constexpr size_t kMostBytes = size_t{1} << 22, kMostPictureBytes = size_t{1} << 27;

  static constexpr int64_t kMostColumns = 80;

  struct Line {
    std::string shown;
    nlohmann::ordered_json object;
    std::string problem;
  };

  nlohmann::ordered_json describe(const data::Record& record) const {
    nlohmann::ordered_json object;
    if (!json_) return object;
    object["input"] = record.where;
    if (!record.id.empty()) object["id"] = record.id;
    if (std::holds_alternative<TextInput>(classifier_.signature().input.input)) object["text"] = record.bytes;
    if (classifier_.documents() == 2) object["second"] = record.second;
    if (record.label.empty()) return object;
    const std::vector<float> targets = data::parse_targets(record.label);
    if (classifier_.signature().classes.empty() && !targets.empty())
      object["targets"] = targets;
    else
      object["label"] = record.label;
    return object;
  }

  void print_answer(Line& line, std::span<const float> answer) const {
    if (json_) {
      line_.add_to(line.object, answer);
      std::fputs(json_line(line.object).c_str(), stdout);
    } else if (bars_) {
      const int64_t width = std::min<int64_t>(terminal_width(stdout), kMostColumns);
      std::printf("%s\n%s", line.shown.c_str(), line_.bars(answer, width).c_str());
    } else {
      std::printf("%s%s\n", line.shown.c_str(), line_.plain(answer).c_str());
    }
  }

  void print_problem(Line& line) const {
    if (json_) {
      line.object[classifier_.signature().classes.empty() ? "values" : "classes"] = nullptr;
      line.object["problem"] = line.problem;
      std::fputs(json_line(line.object).c_str(), stdout);
    } else {
      std::printf("%s\t(%s)\n", line.shown.c_str(), printable(line.problem).c_str());
    }
  }

  AnyClassifier& classifier_;
  AnswerLine line_;
  data::CutInputs cut_inputs_;
  bool json_, bars_;
  size_t together_, most_bytes_;
  SaliencySheet* sheet_;  // of the pictures that are answered, or null
  std::vector<data::Record> records_;
  std::vector<Line> lines_;  // of the records, and between them those of problems
  size_t bytes_ = 0;
  int64_t inputs_ = 0, cut_ = 0, empty_ = 0, unreadable_ = 0;
};

data::InputRequest PredictCommand::request_for(const AnyClassifier& classifier) const {
  data::InputRequest request = data::input_request(classifier.signature(), classifier.documents());
  request.lines = lines;
  request.table = table;
  request.labels = !no_labels;
  Recipe recipe;
  recipe.data = std::move(request.data);
  for (const std::string& assignment : changes) {
    require(assignment.starts_with("data."), "--set ", assignment,
            ": only data options can be set here, such as data.text_column; all else is the model's");
    change(recipe, assignment);
  }
  request.data = std::move(recipe.data);
  return request;
}

// Says what is waited for where somebody has to type it.
void announce_typing(const Signature& signature) {
  require(std::holds_alternative<TextInput>(signature.input.input), "this model reads ", kind_of(signature),
          ": name files, or pipe one into standard input");
  std::fprintf(stderr, "type texts, one per line; Ctrl-D at the start of a line ends\n");
}

void PredictCommand::listen() const {
  require(texts.empty() && !lines && !table && files.size() <= 1,
          "--stream reads one file, or standard input");
  StreamRequest request = stream;
  request.model = model_path(model.model);
  if (!files.empty()) request.input = files.front();
  request.top = top > 0 ? top : kTop;
  request.threads = model.threads;
  request.json = json;
  predict_stream(request);
}

PredictCommand::Part PredictCommand::part(const data::InputRequest& request) const {
  Part part;
  part.files = expanded(files);
  if (shard.is_whole()) return part;
  const FirstReading reading(part.files);
  std::vector<int64_t> counts;  // of each file
  int64_t inputs = std::ssize(texts);
  for (const std::string& file : part.files) inputs += counts.emplace_back(data::count_inputs(file, request));
  part.range = shard.range(inputs);
  int64_t next = std::ssize(texts);
  std::vector<std::string> own;
  for (size_t i = 0; i < counts.size(); ++i) {
    const int64_t begin = std::exchange(next, next + counts[i]);
    if (next <= part.range.begin)
      part.before += counts[i];
    else if (begin < part.range.end)
      own.push_back(part.files[i]);
  }
  part.files = std::move(own);
  return part;
}

void PredictCommand::run() {
  if (streams) return listen();
  model.gradients = !saliency.empty();
  const std::unique_ptr<AnyClassifier> classifier = open_classifier(model);
  const Signature& signature = classifier->signature();
  require(texts.empty() || std::holds_alternative<TextInput>(signature.input.input),
          "--text: this model reads ", kind_of(signature), ", not text");
  if (files.empty() && texts.empty()) files.push_back("-");
  const bool typed = std::count(files.begin(), files.end(), "-") > 0 && ::isatty(STDIN_FILENO) == 1;
  const data::InputRequest request = request_for(*classifier);
  if (typed) announce_typing(signature);
  std::optional<SaliencySheet> sheet;
  if (!saliency.empty()) sheet.emplace(*classifier);

  constexpr size_t kTogether = 64;  // small so that a pipe gets its first answers early
  const int64_t shown = top > 0 ? top : reads_pictures(signature) ? kTopOfPictures : kTop;
  Answers answers(*classifier, shown, json, typed ? 1 : kTogether, sheet ? &*sheet : nullptr);
  const Part own = part(request);
  int64_t next = 0;  // the number of an input
  const auto is_own = [&] { return own.range.has(next++); };
  // Of many pictures some may be broken: the others get their answers all the same.
  const bool goes_on = request.data.skip_broken || reads_pictures(signature);
  data::Problems problems = goes_on ? data::Problems([&](const data::Problem& problem) {
    if (is_own()) answers.add(problem);
  })
                                    : data::Problems(false);
  for (size_t i = 0; i < texts.size(); ++i)
    if (is_own())
      answers.add(data::text_input(texts[i], "--text:" + std::to_string(i + 1), request.pairs),
                  printable(in_quotes(texts[i])));
  next += own.before;
  const auto use = [&](data::Record&& record) {
    if (!is_own()) return;
    std::string shown_as = printable(record.where);
    answers.add(std::move(record), std::move(shown_as));
  };
  try {
    data::read_inputs(own.files, request, use, problems);
  } catch (const Error&) {
    answers.print();  // what came before it
    throw;
  }
  answers.print();
  answers.print_notes();
  if (sheet) sheet->write(saliency);
  if (answers.unreadable() > 0 && !request.data.skip_broken) throw CLI::RuntimeError(1);
}

}  // namespace

void add_predict(CLI::App& app, const OtherModels* others) {
  auto command = std::make_shared<PredictCommand>();
  command->model.others = others;
  CLI::App* sub =
      app.add_subcommand("predict", "predict class probabilities for texts, sounds, images and series");
  sub->add_option("model", command->model.model, "model file or run directory")->required();
  sub->add_option(
      "files", command->files,
      "files and folders as in training (csv, tsv, jsonl, npy, ...; labels are not needed), or a "
      "file for each input, such as a picture; patterns (*.jpg); - reads standard input, one text "
      "per line");
  sub->add_option("--text", command->texts, "text to classify; may be repeated")->allow_extra_args(false);
  CLI::Option* lines = sub->add_flag("--lines", command->lines, "treat each line of a text file as an input");
  sub->add_flag("--table", command->table, "read texts from a table, whatever the file's name; also from -")
      ->excludes(lines);
  sub->add_flag("--no-labels", command->no_labels,
                "nothing in the data is a label; of series, the first column is a value");
  sub->add_option("--set", command->changes,
                  "set a data option, key=value, e.g. data.text_column=body; may be repeated")
      ->allow_extra_args(false)
      ->type_name("KEY=VALUE");
  sub->add_option("--top", command->top,
                  "number of classes shown per input (default: " + std::to_string(kTop) + ", of pictures " +
                      std::to_string(kTopOfPictures) + ")")
      ->check(CLI::PositiveNumber);
  sub->add_option("--threads", command->model.threads, "number of threads (default: all cores)")
      ->check(CLI::NonNegativeNumber);
  sub->add_flag("--json", command->json, "print one JSON object per line");
  CLI::Option* part = add_shard(*sub, command->shard);
  sub->add_option("--saliency", command->saliency,
                  "of pictures: also write a PNG file that shows each beside what its answer rests on, by "
                  "gradient x input")
      ->type_name("FILE");
  CLI::Option* stream = sub->add_flag(
      "--stream", command->streams,
      "classify unbounded input at regular intervals: bytes of text, or audio, as WAV or raw signed 16-bit "
      "samples; needs a causal model (preset audio-stream)");
  stream->excludes(part);
  sub->add_option("--every", command->stream.every,
                  "--stream: positions between decisions (default: depends on the model)")
      ->check(CLI::PositiveNumber)
      ->needs(stream);
  sub->add_option("--window", command->stream.window,
                  "--stream: last positions that a decision covers, 0 for all (default: depends on the "
                  "model)")
      ->check(CLI::NonNegativeNumber)
      ->needs(stream);
  sub->add_option("--rate", command->stream.rate,
                  "--stream: samples per second of raw audio (default: the model's rate)")
      ->check(CLI::Range(1, 1000000))
      ->needs(stream);
  sub->add_option("--channels", command->stream.channels, "--stream: channels of raw audio; they are mixed")
      ->capture_default_str()
      ->check(CLI::Range(1, 65536))
      ->needs(stream);
  sub->add_flag("--changes", command->stream.changes,
                "--stream: print a decision only when its class is not that of the one before")
      ->needs(stream);
  sub->callback([command] { command->run(); });
}

}  // namespace mega::cli
