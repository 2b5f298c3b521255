#include "mega/train/trainer.h"

#include <cmath>
#include <cstdio>

#include "mega/base/error.h"
#include "mega/base/files/file.h"
#include "mega/base/printable.h"
#include "mega/base/random.h"
#include "mega/base/strings.h"
#include "mega/models/decay_spectrum.h"
#include "mega/ops/precision.h"
#include "mega/ops/runtime.h"
#include "mega/ops/watch.h"
#include "mega/report/terminal.h"
#include "mega/train/saved_model.h"
#include "mega/train/schedule.h"
#include "mega/train/signals.h"

namespace mega::train {
namespace {

using torch::Tensor;

constexpr int64_t kLogEvery = 10;  // updates per point of the curves

ops::NamedTensors named_parameters(const torch::nn::Module& model) {
  ops::NamedTensors named;
  for (const auto& item : model.named_parameters()) named.emplace_back(item.key(), item.value());
  return named;
}

bool is_finite(const Tensor& tensor) { return torch::isfinite(tensor).all().item<bool>(); }

std::string format(const char* pattern, auto... values) {
  char text[160];
  std::snprintf(text, sizeof text, pattern, values...);
  return text;
}

std::string scores_text(const Scores& scores) {
  std::vector<std::string> parts;
  for (const Metric& metric : scores.metrics) parts.push_back(metric_text(metric));
  return join(parts, ", ");
}

std::unique_ptr<distributed::ParameterShares> make_shares(const torch::nn::Module& model,
                                                          const ProcessOptions& options,
                                                          distributed::World* world) {
  if (world == nullptr || !options.share_optimizer) return nullptr;
  return std::make_unique<distributed::ParameterShares>(model.parameters(), world->common(),
                                                        options.bucket << 10);
}

}  // namespace

Precision update_precision(Precision asked, distributed::World* world) {
  const Precision own = ops::available_precision(asked);
  if (world == nullptr) return own;
  const auto all = world->common().all_gather(to_string(own));
  const bool narrow = std::all_of(all.begin(), all.end(),
                                  [](const std::string& name) { return name == to_string(Precision::bf16); });
  return narrow ? Precision::bf16 : Precision::f32;
}

Trainer::Trainer(Task& task, const TrainOptions& options, RunSettings settings)
    : task_(task),
      options_(options),
      settings_(std::move(settings)),
      shares_(make_shares(task.model(), options.processes, settings_.world)),
      optimizer_(named_parameters(task.model()), options, task.tensors(), shares_.get()),
      average_(task.model(), options.average) {
  state_.threads = ops::threads();
  state_.precision = update_precision(options.precision, settings_.world);
  if (settings_.world == nullptr) return;
  const ProcessOptions& processes = options_.processes;
  distributed::GradientSumOptions how;
  how.bucket_bytes = processes.bucket << 10;
  how.overlap = processes.overlap;
  how.wire = processes.wire == GradientWire::bf16 ? distributed::Wire::bf16 : distributed::Wire::exact;
  gradients_ = std::make_unique<distributed::GradientSum>(task_.model().parameters(),
                                                          settings_.world->gradients(), how, shares_.get());
}

double Trainer::epoch() const {
  return static_cast<double>(state_.cursor.epoch) +
         static_cast<double>(state_.cursor.batch) / static_cast<double>(task_.batches_per_epoch());
}

void Trainer::say(const std::string& line) {
  if (bar_) {
    bar_->say(line);
  } else if (!is_quiet()) {
    std::fprintf(stderr, "%s\n", printable_lines(line).c_str());
  }
}

void Trainer::restore() {
  if (!settings_.resume) return;
  const auto checkpoint = newest_checkpoint(settings_.folder, [this](const std::string& line) { say(line); });
  if (!checkpoint) return say("nothing was saved yet: starting from the beginning");
  const int threads = state_.threads;
  const Precision precision = state_.precision;
  state_ = checkpoint->state;
  load_weights(task_.model(), checkpoint->model);
  optimizer_.load_state(checkpoint->training);
  average_.load_state(checkpoint->training);
  task_.load_state(checkpoint->training);
  task_.seek(state_.cursor);
  saved_update_ = state_.update;
  if (state_.threads != threads && state_.threads > 0)
    say("the run had " + std::to_string(state_.threads) + " threads and now has " + std::to_string(threads) +
        ": results will differ in the last bits");
  state_.threads = threads;
  if (state_.precision != precision)
    say("the run computed in " + std::string(to_string(state_.precision)) + " and goes on in " +
        std::string(to_string(precision)) + ": results will differ");
  state_.precision = precision;
  say("resumed after update " + with_thousands(state_.update));
}

Outcome Trainer::run() {
  const SignalGuard signals;
  if (options_.precision == Precision::bf16 && state_.precision == Precision::f32)
    say("not all CPUs of this run multiply bf16 (AVX512-BF16): it trains in f32");
  restore();
  start_budget();
  log_ = std::make_unique<RunLog>(settings_.folder, state_.update);
  last_evaluation_seconds_ = last_checkpoint_seconds_ = state_.seconds;
  bar_ = std::make_unique<Progress>("training", options_.updates, "updates");
  task_.model().train();

  Outcome outcome;
  if (state_.evaluation_due) evaluate();  // a signal stopped the run before this evaluation
  outcome.stopped_early = out_of_patience();
  while (state_.update < options_.updates && outcome.signal == 0 && !outcome.stopped_early) {
    const double epoch_before = epoch();
    update();
    plan();
    outcome.signal = signal_;
    state_.evaluation_due = is_due(options_.evaluate, epoch_before, last_evaluation_seconds_) ||
                            state_.update == options_.updates;
    if (state_.evaluation_due && outcome.signal == 0) evaluate();
    outcome.stopped_early = out_of_patience();
    if (is_due(options_.checkpoint, epoch_before, last_checkpoint_seconds_)) checkpoint();
  }
  log_window();
  if (outcome.signal == 0 && state_.evaluated_update != state_.update) evaluate();
  if (saved_update_ != state_.update) checkpoint();
  warn_of_waiting();
  limit_test();
  bar_.reset();
  require(saved_update_ == state_.update, "the last checkpoint could not be saved");
  require(model_saved_, "the best model could not be saved");
  write_report();
  outcome.state = state_;
  return outcome;
}

void Trainer::start_budget() {
  if (options_.time.empty()) return;
  const auto used = [this, before = state_.wall_seconds] { return before + settings_.clock.seconds(); };
  const EvaluationSizes sizes = task_.evaluation_sizes();
  const double seconds = parse_period(options_.time).count;
  budget_.emplace(seconds, used, settings_.update_cost, sizes);
  // A finished run stays finished, unless it got more time.
  const bool finished =
      state_.planned > 0 && state_.update >= state_.planned && seconds <= state_.budget_seconds;
  options_.updates = state_.update + (finished ? 0 : lead(budget_->updates_left(evaluation_period())));
  const int64_t limit = lead(budget_->valid_limit());
  task_.limit_evaluations({limit, 0});
  if (limit < sizes.valid)
    say("evaluations read " + with_thousands(limit) + " of " + with_thousands(sizes.valid) + " validation " +
        task_.unit() + ", to keep to the time");
}

// With a time budget: how many updates there will be, by what things take now.
void Trainer::plan() {
  if (!budget_) return;
  options_.updates = state_.update + lead(budget_->updates_left(evaluation_period()));
  state_.planned = options_.updates;
  state_.budget_seconds = parse_period(options_.time).count;
  bar_->set_total(options_.updates);
}

// In seconds of updates; 0: at the end only.
double Trainer::evaluation_period() const {
  const Period period = parse_period(options_.evaluate);
  if (period.unit == Period::Unit::seconds) return period.count;
  const double updates_per_epoch =
      static_cast<double>(task_.batches_per_epoch()) / static_cast<double>(options_.accumulation);
  return period.count * budget_->update_seconds() *
         (period.unit == Period::Unit::epochs ? updates_per_epoch : 1.0);
}

void Trainer::limit_test() {
  const int64_t all = task_.evaluation_sizes().test;
  if (!budget_) return;
  const int64_t limit = lead(budget_->test_limit());
  if (limit >= all) return;
  task_.limit_evaluations({lead(budget_->valid_limit()), limit});
  const std::string text = "tested on " + with_thousands(limit) + " of " + with_thousands(all) + " " +
                           task_.unit() + ", to keep to the time; `mega eval` tests on all";
  say(text);
  log_->note(state_.update, text);
}

bool Trainer::out_of_patience() const {
  return options_.patience > 0 && state_.evaluations_since_best >= options_.patience;
}

bool Trainer::attempt(const std::string& what, const std::function<void()>& write) {
  try {
    write();
    return true;
  } catch (const Error& error) {
    say("warning: " + what + " could not be saved, training continues: " + error.what());
    return false;
  }
}

bool Trainer::is_due(const std::string& text, double epoch_before, double& last_seconds) const {
  const Period period = parse_period(text);
  switch (period.unit) {
    case Period::Unit::never:
      return false;
    case Period::Unit::updates:
      return std::fmod(static_cast<double>(state_.update), std::max(1.0, std::round(period.count))) == 0.0;
    case Period::Unit::epochs: {
      constexpr double kRounding = 1e-9;  // 0.3 / 0.1 is just below 3
      return std::floor(epoch() / period.count + kRounding) >
             std::floor(epoch_before / period.count + kRounding);
    }
    case Period::Unit::seconds:
      if (state_.seconds - last_seconds < period.count) return false;
      last_seconds = state_.seconds;
      return true;
  }
  return false;
}

// Each update has its own random seed, so that a resumed run uses the same numbers; and each process.
void Trainer::seed_update() const {
  uint64_t seed =
      stream_seed(static_cast<uint64_t>(options_.seed), "update", static_cast<uint64_t>(state_.update));
  if (!leads()) seed = stream_seed(seed, "rank", static_cast<uint64_t>(settings_.world->rank()));
  torch::manual_seed(seed);
}

double Trainer::seconds_waited() const {
  return settings_.world == nullptr
             ? 0.0
             : settings_.world->common().seconds_waited() + gradients_->seconds_waited();
}

Trainer::Happened Trainer::together(const Happened& own) {
  signal_ = SignalGuard::received();
  if (settings_.world == nullptr) return own;
  distributed::World& world = *settings_.world;
  const ProcessSpeed before = speeds_.empty() ? ProcessSpeed() : speeds_[static_cast<size_t>(world.rank())];
  Tensor table = torch::zeros({world.size(), 7}, torch::kFloat64);
  table[world.rank()] =
      torch::tensor({own.loss, own.correct, static_cast<double>(own.positions), static_cast<double>(signal_),
                     before.seconds + own.seconds, waited_,
                     static_cast<double>(world.common().bytes_sent() + world.gradients().bytes_sent())},
                    torch::kFloat64);
  world.common().all_reduce_sum(table);
  Happened all;
  const double lead_before = speeds_.empty() ? 0.0 : speeds_.front().seconds;
  speeds_.clear();
  const auto rows = table.accessor<double, 2>();
  for (int64_t rank = 0; rank < world.size(); ++rank) {
    all.loss += rows[rank][0];
    all.correct += rows[rank][1];
    all.positions += static_cast<int64_t>(rows[rank][2]);
    if (signal_ == 0) signal_ = static_cast<int>(rows[rank][3]);
    speeds_.push_back({rows[rank][4], rows[rank][5], rows[rank][6]});
  }
  all.seconds = speeds_.front().seconds - lead_before;
  return all;
}

void Trainer::update() {
  const double start = settings_.clock.seconds();
  const double waited_before = seconds_waited();
  const int64_t number = state_.update;
  const ops::PrecisionGuard precision(state_.precision);
  seed_update();
  const int64_t count = task_.draw(options_.accumulation);
  const double waiting = settings_.clock.seconds() - start;
  optimizer_.zero_gradients();
  Happened own;
  for (int64_t batch = 0; batch < options_.accumulation; ++batch) {
    if (gradients_ && batch + 1 == options_.accumulation) gradients_->begin();
    BatchLoss result;
    try {
      result = task_.loss(batch);
    } catch (const distributed::RunLost&) {
      throw;
    } catch (const Error&) {
      fail_not_finite();  // modules throw on input that is not finite
    }
    if (!result.sum.defined()) continue;  // no share in this batch
    const double value = result.sum.item<double>();
    if (!std::isfinite(value)) fail_not_finite();
    (result.sum / static_cast<double>(count)).backward();
    own.loss += value;
    own.correct += result.correct;
    own.positions += result.positions;
  }
  if (gradients_) gradients_->finish();
  const double rate = learning_rate(options_, number);
  const double norm = optimizer_.step(rate, shares_ ? &gradients_->own() : nullptr);
  if (!std::isfinite(norm)) fail_not_finite();
  average_.add(number + 1);

  own.seconds = settings_.clock.seconds() - start;
  waited_ += seconds_waited() - waited_before;
  const auto [loss, correct, seconds, positions] = together(own);
  ++state_.update;
  state_.cursor = task_.cursor();
  state_.seconds += seconds;
  state_.waiting_seconds += waiting;
  if (budget_) budget_->add_update(seconds);
  window_.loss += loss;
  window_.correct += correct;
  window_.gradient_norm += norm;
  window_.seconds += seconds;
  window_.waiting += waiting;
  window_.count += count;
  window_.positions += positions;
  ++window_.updates;
  if (const auto z = loss_watch_.add(loss / static_cast<double>(count))) {
    const std::string text = format("loss spike: %.4g, %.1f standard deviations above the mean",
                                    loss / static_cast<double>(count), *z);
    say("update " + with_thousands(state_.update) + ": " + text);
    log_->note(state_.update, text);
  }
  if (shown_.updates == 0) shown_ = window_;
  if (state_.update % kLogEvery == 0) log_window();
  bar_->update(state_.update, progress_details());
}

void Trainer::log_window() {
  if (window_.updates == 0) return;
  const double count = static_cast<double>(window_.count), updates = static_cast<double>(window_.updates);
  TrainingPoint point;
  point.update = state_.update;
  point.epoch = epoch();
  point.loss = window_.loss / count;
  if (task_.chance() >= 0) point.accuracy = window_.correct / count;
  point.learning_rate = learning_rate(options_, state_.update - 1);
  point.gradient_norm = window_.gradient_norm / updates;
  point.positions_per_second = static_cast<double>(window_.positions) / window_.seconds;
  point.waiting = window_.waiting / window_.seconds;
  point.seconds = state_.seconds;
  log_->training(point);
  shown_ = window_;
  window_ = {};
}

// The most important first: a narrow terminal has no room for all.
std::vector<std::string> Trainer::progress_details() const {
  const double count = static_cast<double>(shown_.count);
  const double speed = static_cast<double>(shown_.positions) / shown_.seconds;
  std::vector<std::string> details = {format("loss %.3f", shown_.loss / count)};
  if (last_scores_ && !last_scores_->metrics.empty())
    details.push_back("valid " + metric_text(last_scores_->metrics.front()));
  if (task_.chance() >= 0) details.push_back(format("accuracy %.1f %%", 100.0 * shown_.correct / count));
  details.push_back(with_thousands(static_cast<int64_t>(speed)) + " tokens/s");
  if (settings_.flops_per_position > 0 && settings_.sgemm_gflops > 0)
    details.push_back(
        format("%.0f %% of sgemm", 1e-7 * speed * settings_.flops_per_position / settings_.sgemm_gflops));
  return details;
}

void Trainer::evaluate() {
  const double start = settings_.clock.seconds();
  log_window();
  require_finite_weights();
  average_.swap();
  const Scores scores = task_.evaluate();
  state_.evaluated_update = state_.update;
  state_.evaluation_due = false;
  const bool nothing_to_evaluate_on = scores.metrics.empty();
  const bool better = scores.better_than(state_.best);
  if (better || nothing_to_evaluate_on)
    model_saved_ = lead(!leads() || attempt("the model", [this] {
      task_.save(settings_.folder / "model.safetensors", weights_of(task_.model()));
    }));
  average_.swap();
  if (!nothing_to_evaluate_on) {
    last_scores_ = scores;
    log_->evaluation(state_.update, scores);
    if (leads())
      if (const std::string text = task_.sample(); !text.empty()) log_->sample(state_.update, text);
    say(format("update %s, epoch %.2f: valid ", with_thousands(state_.update).c_str(), epoch()) +
        scores_text(scores) + (better ? "  *" : ""));
    state_.evaluations_since_best = better ? 0 : state_.evaluations_since_best + 1;
    if (better && model_saved_) {
      state_.best = scores;
      state_.best_update = state_.update;
    }
    const Metric& first = scores.metrics.front();
    if (task_.chance() >= 0 && first.value <= task_.chance() + first.uncertainty) {
      const std::string text =
          format("still at chance after %.2g epochs: always predicting the largest class gives %.1f %%; ",
                 epoch(), 100.0 * task_.chance()) +
          advice_at_chance();
      say("  " + text);
      log_->note(state_.update, text);
    }
  }
  write_report();
  if (budget_) budget_->add_evaluation(settings_.clock.seconds() - start);
}

std::string Trainer::advice_at_chance() const {
  if (state_.update < options_.warmup) return "the learning rate is still warming up (train.warmup)";
  if (epoch() < 3.0) return "the model has seen little yet: give it more time (--time or --epochs)";
  return format(
      "try a learning rate 3 times higher or lower (--lr, now %g), and look at the labels "
      "(`mega data check`)",
      options_.learning_rate);
}

void Trainer::warn_of_waiting() {
  constexpr double kTooMuch = 0.05, kLongEnough = 30.0;  // a share; seconds
  if (state_.seconds < kLongEnough || state_.waiting_seconds < kTooMuch * state_.seconds) return;
  const std::string text = format(
      "waited for data %.0f %% of the training time: try other data.threads, smaller files, or more "
      "data.memory",
      100.0 * state_.waiting_seconds / state_.seconds);
  say("note: " + text);
  log_->note(state_.update, text);
}

void Trainer::checkpoint() {
  require_finite_weights();
  if (budget_) state_.wall_seconds = budget_->used();
  ops::NamedTensors training = optimizer_.state();
  for (auto& entry : average_.state()) training.push_back(std::move(entry));
  for (auto& entry : task_.state()) training.push_back(std::move(entry));
  const bool saved = lead(!leads() || attempt("a checkpoint", [&] {
    save_checkpoint(
        settings_.folder, state_,
        [this](const std::filesystem::path& path) { task_.save(path, weights_of(task_.model())); }, training,
        options_.keep);
  }));
  if (saved) saved_update_ = state_.update;
}

void Trainer::describe_processes(Report& report) const {
  if (settings_.world == nullptr) return;
  const distributed::Members& members = settings_.world->members();
  report.summary.push_back({"processes", std::to_string(members.size())});
  for (size_t rank = 0; rank < speeds_.size(); ++rank) {
    const auto& [seconds, waited, bytes] = speeds_[rank];
    report.summary.push_back({members.name(static_cast<int>(rank)),
                              human_seconds(seconds) + ", of which " + human_seconds(waited) +
                                  " in communication; sent " + human_bytes(static_cast<uint64_t>(bytes))});
  }
}

void Trainer::write_report(const Report* test) {
  if (!leads()) return;
  Report report = settings_.report;
  report.seconds = state_.seconds;
  report.summary.push_back(
      {"updates", with_thousands(state_.update) + " of " + with_thousands(options_.updates)});
  report.summary.push_back({"epochs", format("%.2f", epoch())});
  report.summary.push_back({"training time", human_seconds(state_.seconds)});
  if (state_.seconds > 0)
    report.summary.push_back(
        {"waiting for data", format("%.1f %%", 100.0 * state_.waiting_seconds / state_.seconds)});
  report.summary.push_back({"precision", std::string(to_string(state_.precision))});
  for (const Metric& metric : state_.best.metrics)
    report.summary.push_back(
        {"best valid " + metric.name, metric_text(metric).substr(metric.name.size() + 1)});
  describe_processes(report);
  report.notes = log_->notes();
  for (const auto& [update, text] : log_->samples()) report.samples.push_back({update, "", text});
  report.decay = models::decay_spectrum(task_.model());
  const auto add = [&](const char* title, std::vector<std::pair<std::string, std::string>> curves,
                       bool log_scale) {
    LineChart chart{title, "update", "", {}, log_scale};
    for (const auto& [name, key] : curves)
      if (!log_->curve(key).empty()) chart.curves.push_back({name, log_->curve(key)});
    if (!chart.curves.empty()) report.charts.push_back(std::move(chart));
  };
  add("Loss", {{"training", "loss"}, {"validation", "valid_loss"}, {"validation RMSE", "valid_rmse"}}, false);
  add("Accuracy", {{"training", "accuracy"}, {"validation", "valid_accuracy"}}, false);
  add("BLEU", {{"validation", "valid_bleu"}}, false);
  add("Learning rate", {{"learning rate", "learning_rate"}}, false);
  add("Gradient norm", {{"before clipping", "gradient_norm"}}, true);
  add("Speed (tokens/s)", {{"tokens/s", "positions_per_second"}}, false);
  task_.report(report);
  if (test != nullptr) {
    report.summary.insert(report.summary.begin(), test->summary.begin(), test->summary.end());
    report.comparison = test->comparison;
    report.predictions = test->predictions;
    report.classes = test->classes;
    report.confusion = test->confusion;
    report.confused = test->confused;
    report.worst = test->worst;
    report.longest = test->longest;
  }
  attempt("the report", [&] { write_file(settings_.folder / "report.html", to_html(report)); });
}

// A finite update can overflow the weights: check them before they are evaluated and saved.
void Trainer::require_finite_weights() const {
  for (const auto& [name, weight] : weights_of(task_.model()))
    if (!is_finite(weight)) fail_with_advice(state_.update, name + " is no longer finite");
}

// Repeats the update with the same random numbers and finds the first module whose output is not finite.
void Trainer::fail_not_finite() {
  task_.leave();  // the others may have found nothing
  const ops::PrecisionGuard precision(state_.precision);
  seed_update();
  optimizer_.zero_gradients();
  std::string what = "the gradient norm is not finite", place;
  int64_t batch = -1;
  while (place.empty() && ++batch < options_.accumulation) {
    const ops::Watch watch;
    try {
      const Tensor loss = task_.loss(batch).sum;
      if (!loss.defined()) continue;
      if (is_finite(loss)) {
        loss.backward();
        for (const auto& [name, weight] : named_parameters(task_.model()))
          if (place.empty() && weight.grad().defined() && !is_finite(weight.grad()))
            place = "the gradient of " + name;
      } else {
        what = "the loss is not finite";
        place = watch.found().empty() ? "the loss itself" : watch.found();
      }
    } catch (const Error& error) {
      if (watch.found().empty()) throw;  // another error
      what = error.what();
      place = watch.found();
    }
  }
  if (!place.empty()) what += ", first in " + place + "; batch of " + task_.examples(batch);
  log_->note(state_.update, what);
  bar_.reset();
  fail_with_advice(state_.update + 1, what);
}

void Trainer::fail_with_advice(int64_t update, const std::string& what) const {
  fail("update ", update, ": ", what, ". ",
       saved_update_ < 0 ? "No checkpoint was saved yet"
                         : "The checkpoint after update " + std::to_string(saved_update_) + " is intact",
       ". Try a lower train.learning_rate (it was ",
       learning_rate(options_, std::max<int64_t>(0, update - 1)),
       "), a longer train.warmup, or a smaller train.clip");
}

}  // namespace mega::train
