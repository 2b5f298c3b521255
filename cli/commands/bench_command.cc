#include "cli/commands/bench_command.h"

#include <memory>
#include <string>
#include <utility>

#include "cli/commands.h"
#include "mega/base/error.h"

namespace mega::cli {
namespace {

constexpr int kRepeatsOfLong = 3;  // of tables with rounds of many seconds

}  // namespace

void add_bench(CLI::App& app, Runner<BenchCommand> run) {
  auto command = std::make_shared<BenchCommand>();
  auto& s = command->settings;
  CLI::App* sub =
      app.add_subcommand("bench", "measure speed and memory of fused and reference forms, next to sgemm");
  sub->add_option(
         "table", s.table,
         "what to measure: ema, convolution (of state space layers), attention, layer (one block, forward), "
         "step (training step), train (the whole training loop), lm (scoring text), decode (engine, token by "
         "token), translate (beam search), predict (engine, pictures), stream (a very long text), images "
         "(making pictures ready) or precision (what training in bf16 changes); of the paper: table2 "
         "(training "
         "steps of all systems of its table), lm-table (speed of language models), scaling (time and memory "
         "against the length), ablation (EMA dimension, chunk, attention function) or functions (shapes of "
         "the attention functions)")
      ->required()
      ->check(CLI::IsMember({"ema", "convolution", "attention", "layer", "step", "train", "lm", "decode",
                             "translate", "predict", "stream", "images", "precision", "table2", "lm-table",
                             "scaling", "ablation", "functions"}));
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
  sub->add_option(
      "--data", command->data,
      "images: file or folder of pictures; precision: data of the preset (default: some are made); ablation: "
      "data to train on");
  sub->add_option(
         "--time", command->time,
         "ablation: train each model for this time with `mega compare`, and show its score: 90s, 20m")
      ->type_name("TIME");
  sub->add_option("--out", command->out,
                  "ablation: folder of these trainings, which go on where they were stopped (default: "
                  "runs/ablation-PRESET)")
      ->type_name("DIR");
  sub->add_option("--threads", s.threads, "number of threads (default: all cores)")
      ->check(CLI::NonNegativeNumber);
  CLI::Option* repeats =
      sub->add_option("--repeats", s.repeats,
                      "number of repetitions; the median is reported (default: " + std::to_string(s.repeats) +
                          "; of lm, decode and translate " + std::to_string(kRepeatsOfLong) + ")")
          ->check(CLI::Range(1, 10000));
  sub->add_option("--forms", s.forms, "comma-separated forms to measure: fused, reference or both")
      ->delimiter(',')
      ->capture_default_str()
      ->check(CLI::IsMember({"fused", "reference"}));
  sub->add_option("--precision", s.precisions,
                  "comma-separated precisions of the fused form to measure, f32 or bf16 (layer, step, train, "
                  "lm, attention)")
      ->delimiter(',')
      ->capture_default_str()
      ->check(CLI::IsMember({"f32", "bf16"}));
  sub->add_option("--updates", command->precision.updates, "precision: updates of a training")
      ->capture_default_str()
      ->check(CLI::Range(20, 1000000000));
  sub->add_option("--seeds", command->seeds,
                  "trainings with other seeds, in each precision (default: 3) or of each ablation "
                  "(default: 1)")
      ->check(CLI::Range(1, 1000));
  sub->add_flag("--phases", command->phases,
                "where the time goes instead: products, attention, EMA, ... (layer, step, train, lm)");
  sub->add_option("--json", command->json,
                  "also write the rows to this file as JSON; - prints JSON to standard output instead of the "
                  "table")
      ->type_name("FILE");
  sub->add_option("--csv", command->csv, "also write the rows of a table of the paper to this file")
      ->type_name("FILE");
  sub->add_option("--charts", command->charts,
                  "write the charts of scaling, ablation or functions to this folder, as SVG")
      ->type_name("DIR");
  sub->add_option("--only", command->only,
                  "comma-separated systems of a table of the paper (default: all); ablation: ema, chunk, "
                  "attention, or single ones such as chunk-16")
      ->delimiter(',');
  sub->add_flag("--quick", command->quick,
                "tables of the paper within three minutes: two repetitions, fewer where they take long; "
                "language models of two layers");
  sub->add_option("--set", command->changes,
                  "ablation: set any option of the preset, key=value; may be repeated")
      ->allow_extra_args(false)
      ->type_name("KEY=VALUE");
  // Internal, for the process that measures one system: "step" or "score".
  sub->add_option("--trial", command->trial)->group("");
  sub->add_option("--memory-of", command->memory_of)->group("");  // internal: run in child processes
  sub->callback([command, repeats, run = std::move(run)] {
    bench::Settings& asked = command->settings;
    require(command->changes.empty() || asked.table == "ablation" || !command->trial.empty(),
            "--set: only ablation takes it; other tables measure a preset or a .toml file as it is");
    const bool takes_long = asked.table == "lm" || asked.table == "decode" || asked.table == "translate";
    if (repeats->empty() && takes_long) asked.repeats = kRepeatsOfLong;
    run(*command);
  });
}

}  // namespace mega::cli
