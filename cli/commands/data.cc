#include <cstdio>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <thread>

#include "cli/commands.h"
#include "cli/commands/check_parallel.h"
#include "mega/base/error.h"
#include "mega/base/files/file.h"
#include "mega/base/files/json.h"
#include "mega/base/printable.h"
#include "mega/base/strings.h"
#include "mega/config/recipe/language_recipe.h"
#include "mega/config/recipe/presets.h"
#include "mega/data/corpus/corpus.h"
#include "mega/data/encoder.h"
#include "mega/data/generators/listops.h"
#include "mega/data/generators/output_files.h"
#include "mega/data/generators/pathfinder.h"
#include "mega/data/picture_sheet.h"
#include "mega/data/recipe_data.h"
#include "mega/data/summary.h"
#include "mega/data/suspicions.h"
#include "mega/report/contact_sheet.h"
#include "mega/report/progress.h"
#include "mega/report/table.h"

namespace mega::cli {
namespace {

struct MakeListOps {
  std::string out;
  data::ListOpsOptions options;
  int64_t train = 96000, valid = 2000, test = 2000, seed = 1;

  void run() const {
    for (const int64_t count : {train, valid, test}) data::require_possible(count, "expressions");
    Progress progress("generating ListOps", train + valid + test, "expressions");
    data::write_listops(out, options, train, valid, test, static_cast<uint64_t>(seed),
                        [&](int64_t done) { progress.update(done); });
  }
};

struct MakePathfinder {
  std::string out;
  int64_t size = 32, contour_length = 14, count = 200000, seed = 1;

  void run() const {
    Progress progress("generating Pathfinder", count, "images");
    data::write_pathfinder(
        out, data::pathfinder_options(size, contour_length), count, static_cast<uint64_t>(seed),
        [&](int64_t done) { progress.update(done); }, static_cast<int>(std::thread::hardware_concurrency()));
  }
};

constexpr data::Split kSplits[] = {data::Split::train, data::Split::valid, data::Split::test};

struct CheckCommand {
  std::string recipe, path;
  std::vector<std::string> changes;
  bool json = false;

  void run() const;
  void check_corpus(const Recipe& loaded) const;
  void check_examples(Recipe loaded) const;
};

// What is known of labelled examples.
struct CheckedData {
  data::DatasetRequest request;
  data::Dataset dataset;
  std::vector<data::PartSummary> parts;  // as in kSplits
  std::vector<std::string> suspicions;
  std::string refusal;  // why `mega train` would stop; empty: it would not
};

void print_problems(const data::Dataset& dataset) {
  if (dataset.problems == 0) return;
  std::printf("\n%s examples cannot be used:\n", with_thousands(dataset.problems).c_str());
  for (const data::Problem& problem : dataset.first_problems)
    std::printf("  %s: %s\n", printable(problem.where).c_str(), printable(problem.what).c_str());
  const int64_t more = dataset.problems - std::ssize(dataset.first_problems);
  if (more > 0) std::printf("  ... and %s more\n", with_thousands(more).c_str());
}

// For language models: statistics of the token stream.
void CheckCommand::check_corpus(const Recipe& loaded) const {
  const data::Corpus corpus = data::load_corpus(loaded.data, language_input(loaded), nullptr);
  Table table({"split", "tokens", "unknown", "lines", "longest line", "characters", "bytes"});
  nlohmann::ordered_json report = {{"checksum", corpus.checksum}, {"token_types", corpus.tokenizer->size()}};
  for (const data::Split split : kSplits) {
    const data::TokenView& text = corpus.part(split);
    const int64_t longest = longest_line(text);
    table.add({data::split_name(split), with_thousands(text.size()), with_thousands(text.counts.unknown),
               with_thousands(text.counts.lines), with_thousands(longest),
               with_thousands(text.counts.characters), with_thousands(text.counts.bytes)});
    report["splits"][data::split_name(split)] = {
        {"tokens", text.size()},   {"unknown", text.counts.unknown},       {"lines", text.counts.lines},
        {"longest_line", longest}, {"characters", text.counts.characters}, {"bytes", text.counts.bytes}};
  }
  if (json) {
    std::printf("%s\n", json_text(report, 2).c_str());
    return;
  }
  std::printf("%s: %s token types, checksum %s\n\n%s", printable(path).c_str(),
              with_thousands(corpus.tokenizer->size()).c_str(), corpus.checksum.c_str(),
              table.plain().c_str());
}

// Why training on this data would stop before it begins, or nothing. `broken`: examples that are broken stop
// it.
std::string why_refused(Recipe recipe, const data::Dataset& dataset, bool broken) {
  if (broken)
    return with_thousands(dataset.problems) + (dataset.problems == 1 ? " example" : " examples") +
           " cannot be used: repair them, or leave them out with --set data.skip_broken=true";
  if (dataset.train.empty()) return "there are no training examples";
  try {
    data::fit_recipe(recipe, dataset);
    validate(recipe);
  } catch (const Error& error) {
    return error.what();
  }
  return {};
}

void print_json(const CheckedData& checked) {
  const data::Dataset& dataset = checked.dataset;
  nlohmann::ordered_json report = {{"format", to_string(find_format(checked.request))},
                                   {"checksum", dataset.checksum}};
  for (size_t i = 0; i < checked.parts.size(); ++i) {
    const data::PartSummary& summary = checked.parts[i];
    auto& part = report["splits"][data::split_name(kSplits[i])];
    part = {{"examples", summary.examples}, {"shortest", summary.shortest}, {"median", summary.median},
            {"p95", summary.p95},           {"longest", summary.longest},   {"cut", summary.cut}};
    for (size_t c = 0; c < dataset.classes.size(); ++c)
      part["classes"][dataset.classes[c]] = summary.per_class[c];
  }
  report["shared_with_train"] =
      count_shared(dataset.train, dataset.test) + count_shared(dataset.train, dataset.valid);
  report["warnings"] = checked.suspicions;
  report["refusal"] = nullptr;
  if (!checked.refusal.empty()) report["refusal"] = checked.refusal;
  report["problems"] = dataset.problems;
  for (const data::Problem& problem : dataset.first_problems)
    report["first_problems"].push_back({{"where", problem.where}, {"what", problem.what}});
  std::printf("%s\n", json_text(report, 2).c_str());
}

void print_tables(const CheckedData& checked, const std::string& path) {
  const data::Dataset& dataset = checked.dataset;
  const auto& parts = checked.parts;
  std::printf("%s: format %s, checksum %s\n\n", printable(path).c_str(),
              std::string(to_string(find_format(checked.request))).c_str(), dataset.checksum.c_str());
  Table table({"split", "examples", "shortest", "median", "95 %", "longest", "cut"});
  for (size_t i = 0; i < parts.size(); ++i)
    table.add({data::split_name(kSplits[i]), with_thousands(parts[i].examples),
               with_thousands(parts[i].shortest), with_thousands(parts[i].median),
               with_thousands(parts[i].p95), with_thousands(parts[i].longest), with_thousands(parts[i].cut)});
  std::fputs(table.plain().c_str(), stdout);
  if (!dataset.classes.empty()) {
    Table classes({"class", "train", "valid", "test"});
    for (size_t c = 0; c < dataset.classes.size(); ++c)
      classes.add({printable(dataset.classes[c]), with_thousands(parts[0].per_class[c]),
                   with_thousands(parts[1].per_class[c]), with_thousands(parts[2].per_class[c])});
    std::printf("\n%s", classes.plain().c_str());
  } else {
    std::printf("\n%lld regression target(s)\n", static_cast<long long>(dataset.outputs));
  }
  if (!checked.suspicions.empty()) std::printf("\n");
  for (const std::string& suspicion : checked.suspicions)
    std::printf("warning: %s\n", printable(suspicion).c_str());
  print_problems(dataset);
}

void CheckCommand::check_examples(Recipe loaded) const {
  const bool skips = loaded.data.skip_broken;
  loaded.data.skip_broken = true;  // report every problem, not just the first
  CheckedData checked;
  checked.request = data::dataset_request(loaded);
  checked.dataset = load_dataset(checked.request);
  const data::Dataset& dataset = checked.dataset;
  checked.refusal = why_refused(loaded, dataset, dataset.problems > 0 && !skips);
  const int documents = static_cast<int>(loaded.model.kind().document_count());
  // Without a text there are no tokens to learn, but problems to show.
  if (dataset.train.size() + dataset.valid.size() + dataset.test.size() == 0)
    if (auto* text = std::get_if<TextInput>(&loaded.input.input)) *text = TextInput();
  const data::Encoder encoder(data::make_signature(loaded, dataset), cls_token(loaded.model));
  for (const data::Split split : kSplits)
    checked.parts.push_back(summarize(dataset.part(split), encoder, documents, std::ssize(dataset.classes)));
  checked.suspicions = find_suspicions(dataset, checked.request);
  if (json)
    print_json(checked);
  else
    print_tables(checked, path);
  require(checked.refusal.empty(), path, ": `mega train` would stop: ", checked.refusal);
}

void CheckCommand::run() const {
  Recipe loaded = load_recipe(recipe);
  loaded.data.path = path;
  for (const std::string& assignment : changes) change(loaded, assignment);
  if (token_options(loaded.model) != nullptr)
    check_corpus(loaded);
  else if (loaded.model.kind().task() == ModelTask::translation)
    check_parallel_text(loaded, json);
  else
    check_examples(std::move(loaded));
}

struct ShowCommand {
  std::string recipe, path, out;
  std::vector<std::string> changes;
  int64_t count = 16, epoch = 0, side = 128;

  void run() const {
    Recipe loaded = load_recipe(recipe);
    loaded.data.path = path;
    for (const std::string& assignment : changes) change(loaded, assignment);
    check_augmentation(loaded.augment, loaded.input);
    const data::Dataset dataset = load_dataset(data::dataset_request(loaded));
    const data::Encoder encoder(data::make_signature(loaded, dataset));
    data::BatchOptions options;
    options.batch = count;
    options.augment = loaded.augment;
    options.by_length = false;  // pictures have one; the first batch is then a full one
    const auto cells =
        data::picture_sheet(dataset.train, encoder, options, static_cast<uint64_t>(loaded.train.seed), epoch);
    const Thumbnail sheet = contact_sheet(cells, side);
    write_file(out, to_png(sheet));
    std::printf(
        "%s: %s training pictures as they are and as the model sees them in epoch %lld, %lld x %lld pixels\n",
        printable(out).c_str(), with_thousands(std::ssize(cells)).c_str(), static_cast<long long>(epoch),
        static_cast<long long>(sheet.width), static_cast<long long>(sheet.height));
  }
};

}  // namespace

void add_data(CLI::App& app) {
  CLI::App* sub = app.add_subcommand("data", "generate synthetic data sets, check and look at your own data");
  sub->require_subcommand(1);
  CLI::App* make = sub->add_subcommand("make", "generate a synthetic data set");
  make->require_subcommand(1);

  auto listops = std::make_shared<MakeListOps>();
  CLI::App* one =
      make->add_subcommand("listops", "ListOps of the Long Range Arena, with its published parameters");
  one->add_option("--out", listops->out, "output folder")->type_name("DIR")->required();
  one->add_option("--train", listops->train, "number of training expressions")
      ->capture_default_str()
      ->check(CLI::NonNegativeNumber);
  one->add_option("--valid", listops->valid, "number of validation expressions")
      ->capture_default_str()
      ->check(CLI::NonNegativeNumber);
  one->add_option("--test", listops->test, "number of test expressions")
      ->capture_default_str()
      ->check(CLI::NonNegativeNumber);
  one->add_option("--depth", listops->options.depth, "max nesting depth of an expression")
      ->capture_default_str();
  one->add_option("--arguments", listops->options.arguments, "max arguments of an operator")
      ->capture_default_str();
  one->add_option("--min-length", listops->options.min_length, "every expression has more tokens than this")
      ->capture_default_str();
  one->add_option("--max-length", listops->options.max_length, "every expression has fewer tokens than this")
      ->capture_default_str();
  one->add_option("--seed", listops->seed, "random seed")
      ->capture_default_str()
      ->check(CLI::NonNegativeNumber);
  one->callback([listops] { listops->run(); });

  auto pathfinder = std::make_shared<MakePathfinder>();
  CLI::App* two =
      make->add_subcommand("pathfinder", "Pathfinder (32) and Path-X (128) of the Long Range Arena");
  two->add_option("--out", pathfinder->out, "output folder")->type_name("DIR")->required();
  two->add_option("--size", pathfinder->size, "image height and width in pixels")
      ->capture_default_str()
      ->check(CLI::IsMember({32, 64, 128, 256}));
  two->add_option("--contour-length", pathfinder->contour_length, "dashes per contour; 6 and 9 are easier")
      ->capture_default_str();
  two->add_option("--count", pathfinder->count, "number of images")
      ->capture_default_str()
      ->check(CLI::PositiveNumber);
  two->add_option("--seed", pathfinder->seed, "random seed")
      ->capture_default_str()
      ->check(CLI::NonNegativeNumber);
  two->callback([pathfinder] { pathfinder->run(); });

  auto check = std::make_shared<CheckCommand>();
  CLI::App* look = sub->add_subcommand("check",
                                       "show splits, classes, lengths and token counts, say what looks "
                                       "wrong, and list broken examples by line; "
                                       "exit status 1 if `train` would stop");
  look->add_option("recipe", check->recipe, "preset or .toml file to check the data for")->required();
  look->add_option("path", check->path, "data file or folder")->required();
  look->add_option("--set", check->changes, "set a data or input option, key=value; may be repeated")
      ->allow_extra_args(false)
      ->type_name("KEY=VALUE");
  look->add_flag("--json", check->json, "print JSON");
  look->callback([check] { check->run(); });

  auto show = std::make_shared<ShowCommand>();
  CLI::App* sheet = sub->add_subcommand(
      "show", "write a picture of training pictures, each as it is and as the model sees it");
  sheet->add_option("recipe", show->recipe, "preset or .toml file to train with")->required();
  sheet->add_option("path", show->path, "data file or folder")->required();
  sheet->add_option("--out", show->out, "PNG file to write")->type_name("FILE")->required();
  sheet->add_option("--count", show->count, "number of pictures")
      ->capture_default_str()
      ->check(CLI::Range(1, 1000));
  sheet->add_option("--epoch", show->epoch, "epoch whose first batch is shown")
      ->capture_default_str()
      ->check(CLI::NonNegativeNumber);
  sheet->add_option("--side", show->side, "largest side of a picture on the sheet, in pixels")
      ->capture_default_str()
      ->check(CLI::Range(8, 1024));
  sheet->add_option("--set", show->changes, "set an option of the recipe, key=value; may be repeated")
      ->allow_extra_args(false)
      ->type_name("KEY=VALUE");
  sheet->callback([show] { show->run(); });
}

}  // namespace mega::cli
