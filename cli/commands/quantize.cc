#include "mega/infer/quantize.h"

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>

#include "cli/any_model.h"
#include "cli/commands.h"
#include "cli/commands/evaluation_data.h"
#include "cli/commands/translation_quality.h"
#include "cli/model_argument.h"
#include "mega/base/error.h"
#include "mega/base/files/json.h"
#include "mega/base/printable.h"
#include "mega/base/strings.h"
#include "mega/config/files/model_file.h"
#include "mega/data/corpus/corpus.h"
#include "mega/data/parallel/recipe_pairs.h"
#include "mega/infer/models/open_model.h"
#include "mega/infer/models/quality.h"
#include "mega/report/progress.h"
#include "mega/report/table.h"

namespace mega::cli {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

// Enough for the precision of the printed metrics, and takes a minute or two.
constexpr int64_t kTokens = 50'000, kExamples = 2'000, kSentences = 500;

std::string number(double value, const char* format) {
  char text[32];
  std::snprintf(text, sizeof text, format, value);
  return text;
}

// Scores before and after, as a table and as JSON.
class QualityReport {
 public:
  explicit QualityReport(std::string read) : read_(std::move(read)) { json_["read"] = read_; }

  // `share`: printed in per cent.
  void add(const std::string& name, double before, double after, bool share = false) {
    const double factor = share ? 100.0 : 1.0;
    const char* format = share ? "%.2f %%" : "%.4f";
    const char* difference = share ? "%+.2f points" : "%+.4f";
    table_.add({name, number(before * factor, format), number(after * factor, format),
                number((after - before) * factor, difference)});
    std::string key = name;
    std::replace(key.begin(), key.end(), ' ', '_');
    json_[key] = {{"before", before}, {"after", after}, {"difference", after - before}};
  }
  void add(const infer::Agreement& agreement, const std::string& choice) {
    agreement_ = "KL divergence " + number(agreement.divergence, "%.6f") + " nats; same most likely " +
                 choice + " in " + number(100.0 * agreement.same, "%.2f %%") + "\n";
    json_["kl_divergence"] = agreement.divergence;
    json_["same_likeliest"] = agreement.same;
  }

  std::string plain() const { return "\non " + printable(read_) + ":\n" + table_.plain() + agreement_; }
  const Json& json() const { return json_; }

 private:
  std::string read_, agreement_;
  Table table_{{"", "before", "after", "difference"}};
  Json json_;
};

struct QuantizeCommand {
  std::string model, type, out, data_path;
  std::vector<std::string> texts;
  int64_t limit = -1;  // -1: kTokens, kExamples or kSentences
  int threads = 0;
  bool json = false;

  void run();

 private:
  // Evaluate both models on the user's data, or on the test split of the training data.
  std::vector<QualityReport> measure_language(const fs::path& before, const fs::path& after) const;
  std::vector<QualityReport> measure_classifier(const fs::path& before, const fs::path& after) const;
  std::vector<QualityReport> measure_translator(const fs::path& before, const fs::path& after) const;
  bool has_data(const Signature& signature) const;
};

bool QuantizeCommand::has_data(const Signature& signature) const {
  std::error_code none;
  return !data_path.empty() || (signature.data.path != "-" && fs::exists(signature.data.path, none));
}

QualityReport compare(const infer::LanguageModel& before, const infer::LanguageModel& after,
                      const data::TokenView& text, infer::ThreadPool& pool, int64_t limit) {
  const int64_t count = limit > 0 ? std::min(limit, text.size()) : text.size();
  infer::TextQuality quality;
  {
    Progress progress("comparing", count, "tokens");
    quality =
        compare_on_text(before, after, text, pool, {limit, [&](int64_t done) { progress.update(done); }});
  }
  QualityReport report(with_thousands(count) + " tokens of " + text.name);
  report.add("bits per character", quality.before.bits_per_character.value,
             quality.after.bits_per_character.value);
  report.add("bits per byte", quality.before.bits_per_byte.value, quality.after.bits_per_byte.value);
  report.add("perplexity", quality.before.perplexity.value, quality.after.perplexity.value);
  report.add(quality.agreement, "token");
  return report;
}

std::vector<QualityReport> QuantizeCommand::measure_language(const fs::path& before,
                                                             const fs::path& after) const {
  const auto first = infer::LanguageModel::open(before), second = infer::LanguageModel::open(after);
  infer::ThreadPool pool(threads);
  const int64_t most = limit < 0 ? kTokens : limit;
  std::vector<QualityReport> reports;
  for (const std::string& file : texts)
    reports.push_back(compare(*first, *second, data::tokenize_once(file, first->tokenizer()), pool, most));
  if (!texts.empty() || !has_data(first->signature())) return reports;

  const DataOptions options = evaluation_data(first->signature().data, data_path);
  const auto& input = std::get<LanguageInput>(first->signature().input.input);
  const std::shared_ptr<const Tokenizer> tokenizer =
      make_tokenizer(first->signature(), first->options().vocabulary);
  const data::TokenView text = data::load_corpus(options, input, tokenizer).test;
  require(!text.empty(), options.path, ": no text to test on; name one with --text");
  reports.push_back(compare(*first, *second, text, pool, most));
  return reports;
}

std::vector<QualityReport> QuantizeCommand::measure_classifier(const fs::path& before,
                                                               const fs::path& after) const {
  const auto first = infer::open_model(before), second = infer::open_model(after);
  const Signature& signature = first->signature();
  if (!has_data(signature)) return {};
  DataOptions options = evaluation_data(signature.data, data_path);
  options.evaluation_limit = limit < 0 ? kExamples : limit;
  const data::Dataset dataset = data::load_dataset(
      {options, signature.input, first->documents() == 2, first->options().objective, signature.classes});
  require(dataset.test.size() > 0, options.path, ": no examples to test on; name others with --data");

  infer::ThreadPool pool(threads);
  infer::ExampleQuality quality;
  {
    Progress progress("comparing", dataset.test.size(), "examples");
    quality = compare_on_examples(*first, *second, dataset.test, pool,
                                  {0, [&](int64_t done) { progress.update(done); }});
  }
  QualityReport report(with_thousands(quality.examples) + " test examples of " + options.path);
  if (quality.agreement) {
    report.add("accuracy", quality.before, quality.after, /*share=*/true);
    report.add(*quality.agreement, "class");
  } else {
    report.add("rmse", quality.before, quality.after);
  }
  return {report};
}

std::vector<QualityReport> QuantizeCommand::measure_translator(const fs::path& before,
                                                               const fs::path& after) const {
  const AnyTranslator first = open_translator({before.string(), threads, nullptr}),
                      second = open_translator({after.string(), threads, nullptr});
  if (!has_data(first.signature)) return {};
  data::ParallelRequest request;
  request.data = evaluation_data(first.signature.data, data_path);
  request.data.evaluation_limit = limit < 0 ? kSentences : limit;
  request.input = std::get<TranslationInput>(first.signature.input.input);
  request.known = make_tokenizers(first.signature, first.source_types, first.target_types);
  request.preparation = data::pair_preparation(request.input);
  request.train = false;
  const data::ParallelCorpus corpus = load_parallel(request);
  std::vector<QualityReport> reports;
  for (const data::PairPart* part : corpus.parts()) {
    if (part->empty() || (part == &corpus.valid && !corpus.tests.empty())) continue;
    const std::vector<data::Pair> pairs = written_pairs(*part);
    QualityReport report(with_thousands(std::ssize(pairs)) + " sentences of " + part->name());
    Progress progress("translating", 2 * std::ssize(pairs), "sentences");
    int64_t done = 0;
    const auto count = [&] { progress.update(++done); };
    const double bleu = translation_bleu(first, pairs, count);
    report.add("bleu", bleu, translation_bleu(second, pairs, count));
    reports.push_back(std::move(report));
  }
  return reports;
}

void QuantizeCommand::run() {
  const fs::path before = model_path(model);
  const fs::path after = !out.empty()
                             ? fs::path(out)
                             : before.parent_path() / (before.stem().string() + "-" + type + ".safetensors");
  const ModelOptions options = ModelFile::open(before).options;
  const bool language = options.kind().task() == ModelTask::language;
  const bool translation = options.kind().task() == ModelTask::translation;
  require(options.kind().runs_in_engine(), model, ": a model of kind ", options.kind_name(),
          ", which the engine does not run: only Mega models can be quantised");
  require(language || texts.empty(),
          "--text is for language models; for others, name labelled examples or parallel text with --data");
  infer::quantize(before, after, type == "int8" ? kernels::WeightType::i8 : kernels::WeightType::bf16);
  const uintmax_t bytes_before = fs::file_size(before), bytes_after = fs::file_size(after);
  if (!json)
    std::printf("%s: %s, %.0f %% of the %s before\n", printable(after.native()).c_str(),
                human_bytes(bytes_after).c_str(),
                100.0 * static_cast<double>(bytes_after) / static_cast<double>(bytes_before),
                human_bytes(bytes_before).c_str());

  const std::vector<QualityReport> reports = language      ? measure_language(before, after)
                                             : translation ? measure_translator(before, after)
                                                           : measure_classifier(before, after);
  if (json) {
    Json all = {{"model", before.string()},     {"out", after.string()},      {"type", type},
                {"bytes_before", bytes_before}, {"bytes_after", bytes_after}, {"quality", Json::array()}};
    for (const QualityReport& report : reports) all["quality"].push_back(report.json());
    std::printf("%s\n", json_text(all, 2).c_str());
    return;
  }
  for (const QualityReport& report : reports) std::fputs(report.plain().c_str(), stdout);
  if (reports.empty())
    std::printf("quality was not measured: the training data was not found; %s\n",
                language      ? "name a text with --text FILE"
                : translation ? "name parallel text with --data PATH"
                              : "name labelled examples with --data PATH");
}

}  // namespace

void add_quantize(CLI::App& app) {
  auto command = std::make_shared<QuantizeCommand>();
  CLI::App* sub = app.add_subcommand(
      "quantize", "write a smaller, faster file of a trained model and measure the loss of quality");
  sub->add_option("model", command->model, "model file or run directory")->required();
  sub->add_option("--type", command->type,
                  "weight type. int8: a quarter of the size; bf16: half the size, almost no loss")
      ->required()
      ->check(CLI::IsMember({"int8", "bf16"}));
  sub->add_option("--out", command->out,
                  "output file (default: next to the model, e.g. model-int8.safetensors)")
      ->type_name("FILE");
  sub->add_option("--text", command->texts,
                  "text to compare a language model on, before and after; may be repeated")
      ->allow_extra_args(false)
      ->type_name("FILE");
  sub->add_option("--data", command->data_path,
                  "labelled examples, text or parallel text to compare on (default: the test split of the "
                  "training data)")
      ->type_name("PATH");
  sub->add_option("--limit", command->limit,
                  "max tokens, examples or sentences to compare on, 0 for all (default: " +
                      with_thousands(kTokens) + " tokens, " + with_thousands(kExamples) + " examples, " +
                      with_thousands(kSentences) + " sentences of each test set of a translator)")
      ->check(CLI::NonNegativeNumber);
  sub->add_option("--threads", command->threads, "number of threads (default: all cores)")
      ->check(CLI::NonNegativeNumber);
  sub->add_flag("--json", command->json, "print JSON");
  sub->callback([command] { command->run(); });
}

}  // namespace mega::cli
