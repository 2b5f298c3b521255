#include <cstdio>
#include <filesystem>

#include "bench/ablation.h"
#include "bench/attention_functions.h"
#include "bench/benchmarks.h"
#include "bench/decode.h"
#include "bench/images.h"
#include "bench/lm_table.h"
#include "bench/phases.h"
#include "bench/picture_predict.h"
#include "bench/precision.h"
#include "bench/scaling.h"
#include "bench/stream.h"
#include "bench/table2.h"
#include "bench/translate.h"
#include "cli/torch/torch_commands.h"
#include "mega/base/files/file.h"
#include "mega/kernels/instruction_set.h"
#include "mega/ops/runtime.h"

namespace mega::cli {
namespace {

struct Bench : BenchCommand {
  void run() {
    ops::set_threads(settings.threads);
    if (memory_of >= 0) {
      std::printf("%.3f\n", bench::run_memory(settings, static_cast<size_t>(memory_of)));
      return;
    }
    if (!trial.empty()) {
      const bench::System system{"", settings.preset, changes, settings.forms.front() == "reference"};
      std::printf("%s\n",
                  bench::run_trial(trial, system, settings.lengths.front(), settings.batch).text().c_str());
      return;
    }
    std::fprintf(stderr, "%d threads, %s, libtorch %s, %s\n", ops::threads(), kernels::instruction_set(),
                 ops::torch_version().c_str(), ops::blas().name.c_str());
    if (settings.table == "decode") {
      const bench::DecodeTable table = bench::run_decode(decode_settings());
      print(table.markdown(), table.json());
    } else if (settings.table == "stream") {
      const bench::StreamResult stream = bench::run_stream(stream_settings());
      print(stream.markdown(), stream.json());
    } else if (settings.table == "images") {
      const bench::ImagesTable table = bench::run_images(images_settings());
      print(table.markdown(), table.json());
    } else if (settings.table == "translate") {
      const bench::TranslateTable table = bench::run_translate(translate_settings());
      print(table.markdown(), table.json());
    } else if (settings.table == "predict") {
      const bench::PicturePredictTable table = bench::run_picture_predict(predict_settings());
      print(table.markdown(), table.json());
    } else if (settings.table == "table2") {
      show(bench::run_table2(systems_settings()));
    } else if (settings.table == "lm-table") {
      show(bench::run_lm_table(systems_settings()));
    } else if (settings.table == "scaling") {
      show(bench::run_scaling(systems_settings()));
    } else if (settings.table == "ablation") {
      show(bench::run_ablation(ablation_settings()));
    } else if (settings.table == "functions") {
      show(bench::attention_functions());
    } else if (settings.table == "precision") {
      bench::PrecisionSettings asked = precision;
      asked.data = data;
      if (seeds > 0) asked.seeds = static_cast<int>(seeds);
      if (!settings.preset.empty()) asked.preset = settings.preset;
      const bench::PrecisionTable table = bench::run_precision(asked);
      print(table.markdown(), table.json());
    } else if (phases) {
      const bench::PhaseTable table = bench::run_phases(settings);
      print(table.markdown(), table.json());
    } else {
      const auto rows = bench::run_table(settings);
      print(bench::to_markdown(rows), bench::to_json(rows));
    }
  }

  bench::DecodeSettings decode_settings() const {
    bench::DecodeSettings decode;
    if (!settings.preset.empty()) decode.preset = settings.preset;
    if (!settings.lengths.empty()) decode.far = settings.lengths.front();
    decode.threads = settings.threads;
    decode.repeats = settings.repeats;
    return decode;
  }

  bench::StreamSettings stream_settings() const {
    bench::StreamSettings stream;
    if (!settings.preset.empty()) stream.preset = settings.preset;
    if (!settings.lengths.empty()) stream.tokens = settings.lengths.front();
    if (settings.threads > 0) stream.threads = settings.threads;
    return stream;
  }

  bench::TranslateSettings translate_settings() const {
    bench::TranslateSettings translate;
    if (!settings.preset.empty()) translate.preset = settings.preset;
    if (settings.batch > 0) translate.batches = {settings.batch};
    translate.threads = settings.threads;
    translate.repeats = settings.repeats;
    return translate;
  }

  bench::ImagesSettings images_settings() const {
    bench::ImagesSettings images;
    if (!settings.preset.empty()) images.preset = settings.preset;
    if (settings.batch > 0) images.batch = settings.batch;
    images.data = data;
    images.repeats = settings.repeats;
    return images;
  }

  bench::PicturePredictSettings predict_settings() const {
    bench::PicturePredictSettings predict;
    if (!settings.preset.empty()) predict.preset = settings.preset;
    if (settings.batch > 0) predict.batch = settings.batch;
    predict.threads = settings.threads;
    predict.repeats = settings.repeats;
    return predict;
  }

  bench::SystemsSettings systems_settings() const {
    bench::SystemsSettings systems;
    systems.lengths = settings.lengths;
    if (settings.batch > 0) systems.batch = settings.batch;
    systems.repeats = settings.repeats;
    systems.threads = settings.threads;
    systems.quick = quick;
    systems.only = only;
    return systems;
  }

  bench::AblationSettings ablation_settings() const {
    bench::AblationSettings ablation;
    static_cast<bench::SystemsSettings&>(ablation) = systems_settings();
    if (!settings.preset.empty()) ablation.preset = settings.preset;
    ablation.changes = changes;
    ablation.data = data;
    ablation.time = time;
    if (seeds > 0) ablation.seeds = "1.." + std::to_string(seeds);
    const std::string name = std::filesystem::path(ablation.preset).stem().string();
    ablation.out = out.empty() ? "runs/ablation-" + name : out;
    return ablation;
  }

  void show(const bench::Results& results) const {
    print(results.markdown(), results.json());
    if (!csv.empty()) write_file(csv, results.csv());
    if (!charts.empty()) results.write_charts(charts);
  }

  void print(const std::string& markdown, const std::string& rows) const {
    std::fputs(json == "-" ? rows.c_str() : markdown.c_str(), stdout);
    if (!json.empty() && json != "-") write_file(json, rows);
  }
};

}  // namespace

void run_bench(const BenchCommand& command) { Bench{command}.run(); }

}  // namespace mega::cli
