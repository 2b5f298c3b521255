#include "bench/translate.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <functional>
#include <memory>
#include <nlohmann/json.hpp>

#include "bench/measure.h"
#include "bench/released_search.h"
#include "mega/base/error.h"
#include "mega/base/files/temporary_folder.h"
#include "mega/base/strings.h"
#include "mega/baselines/model_builders.h"
#include "mega/config/files/model_file.h"
#include "mega/config/recipe/presets.h"
#include "mega/infer/models/translator_decoder.h"
#include "mega/infer/quantize.h"
#include "mega/infer/translation/beam_search.h"
#include "mega/models/translation_decoder.h"
#include "mega/ops/form.h"
#include "mega/report/progress.h"
#include "mega/report/table.h"
#include "mega/train/saved_model.h"

namespace mega::bench {
namespace {

// Words and marks of a sentence, 32 quantiles of newstest2021's German reference: 29 on average.
constexpr std::array<int64_t, 32> kLengths = {7,  10, 12, 14, 15, 16, 17, 18, 20, 20, 21, 22, 23, 24, 25, 26,
                                              27, 28, 29, 30, 32, 33, 34, 36, 37, 39, 42, 44, 47, 50, 55, 70};

// `count` sentences whose lengths are spread as those of the test set.
std::vector<infer::SearchSentence> sentences(int64_t count, int64_t vocabulary) {
  std::vector<infer::SearchSentence> all;
  for (int64_t i = 0; i < count; ++i) {
    const int64_t length = kLengths[static_cast<size_t>((2 * i + 1) * std::ssize(kLengths) / (2 * count))];
    infer::SearchSentence& one = all.emplace_back();
    for (int64_t k = 0; k < length; ++k)
      one.source.push_back(
          static_cast<Token>(kFirstSymbol + (i * 131 + k * 7919) % (vocabulary - kFirstSymbol)));
    one.source.push_back(kEnd);
  }
  return all;
}

// Translations end where their source does: with random weights, </s> is hardly ever likely before.
infer::SearchOptions search_options(int64_t beam) {
  infer::SearchOptions options;
  options.beam = beam;
  options.max_length_factor = 1.0;
  options.max_length_extra = 0;
  options.stop = infer::StopRule::released;
  return options;
}

struct Case {
  TranslateRow row;
  std::shared_ptr<infer::StepDecoder> decoder;
  std::vector<infer::SearchSentence> sentences;
  double flops = 0.0;
  std::vector<double> rounds;

  void run() {
    const infer::SearchOptions options = search_options(row.beam);
    row.tokens = 0.0;
    if (row.form == "released") {
      const ops::FormGuard form(ops::Form::reference);
      for (const int64_t length : released_search(*decoder, sentences, options))
        row.tokens += static_cast<double>(length);
    } else {
      for (const infer::NBest& best : infer::beam_search(*decoder, sentences, options))
        row.tokens += static_cast<double>(best.front().tokens.size());
    }
  }
};

class Bench {
 public:
  explicit Bench(const TranslateSettings& settings)
      : settings_(settings), model_options_(load_recipe(settings.preset).model) {
    const auto* options = std::get_if<TranslatorOptions>(&model_options_.model);
    require(options != nullptr, "this benchmark needs a preset of a Mega translator; ",
            in_quotes(settings.preset), " is not one");
    options_ = *options;
  }

  TranslateTable run() {
    const auto pool = std::make_shared<infer::ThreadPool>(settings_.threads);
    const std::filesystem::path f32 = folder_.path() / "f32.safetensors";
    const auto released = baselines::make_translation_model(model_options_);
    {
      const ops::NamedTensors weights = train::weights_of(*released);
      const ops::TensorViews views(weights);
      write_model_file(f32, model_options_, views.views());
    }
    add("f32", std::make_shared<infer::TranslatorDecoder>(infer::Translator::open(f32), pool));
    for (const kernels::WeightType type : {kernels::WeightType::bf16, kernels::WeightType::i8}) {
      const std::string name = infer::quantized_name(type);
      const std::filesystem::path path = folder_.path() / (name + ".safetensors");
      infer::quantize(f32, path, type);
      add(name, std::make_shared<infer::TranslatorDecoder>(infer::Translator::open(path), pool));
    }
    add("released", std::make_shared<models::TranslationDecoder>(released));

    TranslateTable table;
    table.peak_growth_mb = peak_growth_mb([&] { largest().run(); });
    const Candidate product = sgemm();
    std::vector<double> products;
    Progress progress("translating", settings_.repeats * std::ssize(cases_), "batches");
    int64_t done = 0;
    for (int round = 0; round < settings_.repeats; ++round)
      for (Case& one : cases_) {
        one.rounds.push_back(seconds_of([&] { one.run(); }));
        products.push_back(product.flops / seconds_of(product.run));
        progress.update(++done);
      }
    table.sgemm = median(products);
    for (Case& one : cases_) {
      one.row.seconds = median(one.rounds);
      one.row.share_of_sgemm = one.flops / one.row.seconds / table.sgemm;
      table.rows.push_back(one.row);
    }
    return table;
  }

 private:
  void add(const std::string& form, const std::shared_ptr<infer::StepDecoder>& decoder) {
    for (const int64_t beam : {5, 1})
      for (const int64_t batch : settings_.batches) {
        Case one;
        one.row.form = form;
        one.row.beam = beam;
        one.row.batch = batch;
        one.decoder = decoder;
        one.sentences = sentences(batch, options_.source_types());
        one.flops = flops(one.sentences, beam);
        cases_.push_back(std::move(one));
      }
  }

  // The encoder reads a sentence once, the decoder each of its hypotheses.
  double flops(const std::vector<infer::SearchSentence>& all, int64_t beam) const {
    TranslatorOptions decoder = options_;
    decoder.encoder_layers = 0;
    double sum = 0.0;
    for (const infer::SearchSentence& one : all) {
      const int64_t length = std::ssize(one.source);
      const double writing = decoder.multiply_adds(length),
                   reading = options_.multiply_adds(length) - writing;
      sum += 2.0 * static_cast<double>(length) * (reading + static_cast<double>(beam) * writing);
    }
    return sum;
  }

  Case& largest() {
    return *std::max_element(cases_.begin(), cases_.end(), [](const Case& a, const Case& b) {
      const auto size = [](const Case& one) {
        return one.row.form == "f32" ? one.row.beam * one.row.batch : 0;
      };
      return size(a) < size(b);
    });
  }

  TranslateSettings settings_;
  ModelOptions model_options_;
  TranslatorOptions options_;
  TemporaryFolder folder_;
  std::vector<Case> cases_;
};

}  // namespace

TranslateTable run_translate(const TranslateSettings& settings) { return Bench(settings).run(); }

std::string TranslateTable::markdown() const {
  Table table({"form", "beam", "batch", "sentences/s", "tokens/s", "ms per batch", "share of sgemm",
               "times as fast as released"});
  for (const TranslateRow& row : rows) {
    const auto released = std::find_if(rows.begin(), rows.end(), [&](const TranslateRow& other) {
      return other.form == "released" && other.beam == row.beam && other.batch == row.batch;
    });
    table.add({row.form, std::to_string(row.beam), std::to_string(row.batch),
               number("%.2f", static_cast<double>(row.batch) / row.seconds),
               number("%.1f", row.tokens / row.seconds), number("%.0f", 1e3 * row.seconds),
               number("%.1f %%", 100.0 * row.share_of_sgemm),
               released == rows.end() ? "" : number("%.1f", released->seconds / row.seconds)});
  }
  return "sgemm " + number("%.1f", 1e-9 * sgemm) + " GFLOP/s; the engine's largest batch adds " +
         number("%.0f", peak_growth_mb) + " MB to resident memory\n\n" + table.markdown();
}

std::string TranslateTable::json() const {
  nlohmann::ordered_json report = {{"sgemm_flops", sgemm}, {"peak_growth_mb", peak_growth_mb}};
  for (const TranslateRow& row : rows)
    report["rows"].push_back({{"form", row.form},
                              {"beam", row.beam},
                              {"batch", row.batch},
                              {"seconds", row.seconds},
                              {"sentences_per_second", static_cast<double>(row.batch) / row.seconds},
                              {"tokens_per_second", row.tokens / row.seconds},
                              {"share_of_sgemm", row.share_of_sgemm}});
  return report.dump(2) + "\n";
}

}  // namespace mega::bench
