#include "cli/commands/eval_command.h"

#include <memory>
#include <utility>

#include "cli/commands.h"

namespace mega::cli {

void add_eval(CLI::App& app, Runner<EvalCommand> run) {
  auto command = std::make_shared<EvalCommand>();
  CLI::App* sub = app.add_subcommand("eval", "evaluate a trained model; metrics with uncertainty");
  sub->add_option("model", command->model, "model file or run directory")->required();
  sub->add_option("--data", command->path,
                  "labelled examples, a text file or parallel text (default: the training data's path); "
                  "other data is used "
                  "as a whole, unless its file names define splits")
      ->type_name("PATH");
  sub->add_option("--split", command->split, "split to evaluate")
      ->capture_default_str()
      ->check(CLI::IsMember({"train", "valid", "test"}));
  sub->add_option("--set", command->changes,
                  "set a data option, key=value, e.g. data.skip_broken=true; may be repeated")
      ->allow_extra_args(false)
      ->type_name("KEY=VALUE");
  sub->add_option("--examples", command->examples,
                  "max number of examples, or of pairs of each set (default: all)")
      ->check(CLI::NonNegativeNumber);
  sub->add_option("--predictions", command->predictions,
                  "classifiers: also write each example's label and prediction to this file: .csv, .tsv, or "
                  "JSON lines")
      ->type_name("FILE");
  LanguageReading& reading = command->reading;
  sub->add_option("--chunk", reading.chunk,
                  "language models: attention chunk size in tokens (default: as in training)")
      ->check(CLI::PositiveNumber);
  CLI::Option* context =
      sub->add_option("--context", reading.context,
                      "language models: segment length in tokens, each segment read from an empty state; "
                      "for a Transformer, the window length")
          ->check(CLI::PositiveNumber);
  sub->add_option("--segments", reading.segments, "language models: number of segments (default: 10)")
      ->check(CLI::PositiveNumber)
      ->excludes(context);
  sub->add_option("--sweep", reading.sweeps,
                  "language models: evaluate at each value, e.g. chunk=512,1024,2048 or context=2500,5000; "
                  "prints a table and writes a chart; may be repeated")
      ->allow_extra_args(false)
      ->type_name("NAME=VALUES");
  sub->add_option("--out", reading.out,
                  "folder for the charts (default: the run directory, or else the current directory)")
      ->type_name("DIR");
  sub->add_option("--threads", command->threads, "number of threads (default: all cores)")
      ->check(CLI::NonNegativeNumber);
  sub->add_option("--device", command->device, "cpu, or cuda if libtorch supports it (untested)")
      ->type_name("DEVICE")
      ->capture_default_str();
  sub->add_flag("--json", command->json, "print JSON");
  sub->callback([command, run = std::move(run)] { run(*command); });
}

}  // namespace mega::cli
