#include <cstdio>
#include <memory>

#include "bench/benchmarks.h"
#include "bench/decode.h"
#include "bench/stream.h"
#include "cli/commands.h"
#include "mega/base/file.h"
#include "mega/kernels/instruction_set.h"
#include "mega/ops/runtime.h"

namespace mega::cli {
namespace {

struct BenchCommand {
  bench::Settings settings;
  std::string json;
  int64_t memory_of = -1;

  void run() {
    ops::set_threads(settings.threads);
    if (memory_of >= 0) {
      std::printf("%.3f\n", bench::run_memory(settings, static_cast<size_t>(memory_of)));
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

  void print(const std::string& markdown, const std::string& rows) const {
    std::fputs(json == "-" ? rows.c_str() : markdown.c_str(), stdout);
    if (!json.empty() && json != "-") write_file(json, rows);
  }
};

}  // namespace

void add_bench(CLI::App& app) {
  auto command = std::make_shared<BenchCommand>();
  auto& s = command->settings;
  CLI::App* sub =
      app.add_subcommand("bench", "measure speed and memory of fused and reference forms, next to sgemm");
  sub->add_option(
         "table", s.table,
         "what to measure: ema, attention, layer (one block, forward), step (training step), train (the "
         "whole training loop), lm (scoring text), decode (engine, token by token) or stream (a very long "
         "text)")
      ->required()
      ->check(CLI::IsMember({"ema", "attention", "layer", "step", "train", "lm", "decode", "stream"}));
  sub->add_option("--preset", s.preset,
                  "preset or .toml file with the model sizes (default: depends on the table)");
  sub->add_option("--length", s.lengths,
                  "comma-separated sequence lengths; for decode, the far position; for stream, the number "
                  "of tokens (default: depends on the table)")
      ->delimiter(',')
      ->check(CLI::PositiveNumber);
  sub->add_option("--batch", s.batch, "batch size in sequences (default: depends on the table)")
      ->check(CLI::PositiveNumber);
  sub->add_option("--chunk", s.chunk, "attention chunk size in tokens, -1 for full attention (default: 128)");
  sub->add_option("--threads", s.threads, "number of threads (default: all cores)")
      ->check(CLI::NonNegativeNumber);
  sub->add_option("--repeats", s.repeats, "number of repetitions; the median is reported")
      ->capture_default_str()
      ->check(CLI::Range(1, 10000));
  sub->add_option("--forms", s.forms, "comma-separated forms to measure: fused, reference or both")
      ->delimiter(',')
      ->capture_default_str()
      ->check(CLI::IsMember({"fused", "reference"}));
  sub->add_option("--json", command->json,
                  "also write the rows to this file as JSON; - prints JSON to standard output instead of the "
                  "table");
  sub->add_option("--memory-of", command->memory_of)->group("");  // internal: run in child processes
  sub->callback([command] { command->run(); });
}

}  // namespace mega::cli
