#include "mega/train/estimate.h"

#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

#include "mega/base/error.h"
#include "mega/base/strings.h"
#include "mega/baselines/model_builders.h"

namespace mega::train {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

// Reads a file with a single number; < 0 if it has none ("max").
double number_in(const std::string& path) {
  std::ifstream file(path);
  double number = -1.0;
  return file >> number ? number : -1.0;
}

double available_on_machine() {
  std::ifstream file("/proc/meminfo");
  std::string key, unit;
  double kilobytes = 0.0;
  while (file >> key >> kilobytes) {
    if (key == "MemAvailable:") return kilobytes * 1024.0;
    std::getline(file, unit);
  }
  return -1.0;
}

// Free memory of the container, including reclaimable file cache.
double available_in_container() {
  const double limit = number_in("/sys/fs/cgroup/memory.max"),
               used = number_in("/sys/fs/cgroup/memory.current");
  if (limit < 0 || used < 0) return -1.0;
  double cache = 0.0, bytes = 0.0;
  std::ifstream file("/sys/fs/cgroup/memory.stat");
  std::string key;
  while (file >> key >> bytes)
    if (key == "inactive_file") cache = bytes;
  return limit - used + cache;
}

}  // namespace

double available_memory() {
  const double machine = available_on_machine(), container = available_in_container();
  if (container < 0) return machine;
  return machine < 0 ? container : std::min(machine, container);
}

double training_bytes(const Recipe& recipe, int64_t parameters, const LargestBatch& largest) {
  const double copies = recipe.train.average > 0.0 ? 5.0 : 4.0;
  return 4.0 * copies * static_cast<double>(parameters) +
         recipe.model.kind().activation_bytes(largest.length, largest.examples);
}

void require_memory(const Recipe& recipe, int64_t parameters, const LargestBatch& largest, double available) {
  const double needed = training_bytes(recipe, parameters, largest);
  if (available < 0 || needed <= available) return;
  const double none = training_bytes(recipe, parameters, {0, largest.length});
  const double one = training_bytes(recipe, parameters, {1, largest.length});
  std::string advice = "use a smaller model";
  if (one <= available) {
    const double each = (needed - one) / static_cast<double>(std::max<int64_t>(1, largest.examples - 1));
    const auto fits = std::max<int64_t>(1, static_cast<int64_t>((available - one) / each) + 1);
    advice = "train.batch=" +
             std::to_string(recipe.train.batch_unit == BatchUnit::examples ? fits : fits * largest.length) +
             " fits; use train.accumulation to keep the effective batch size";
  } else {
    // Activations grow linearly with the length, chunked or not.
    const double share = (available - none) / (one - none);
    const auto length = static_cast<int64_t>(share * static_cast<double>(largest.length));
    if (length > 0)
      advice = "train.batch=1 with sequences of at most " + std::to_string(length) +
               " positions (input.max_length) fits";
  }
  fail("training needs about ", human_bytes(static_cast<uint64_t>(needed)), " for ", largest.examples,
       " sequences of ", largest.length, " positions, but only ",
       human_bytes(static_cast<uint64_t>(available)), " are available; ", advice);
}

double checkpoint_bytes(const Recipe& recipe, int64_t parameters) {
  const double copies = recipe.train.average > 0.0 ? 4.0 : 3.0;  // weights, both moments, the average
  return 4.0 * copies * static_cast<double>(parameters);
}

void require_disk(const std::filesystem::path& folder, double checkpoint, double freed) {
  const double model = checkpoint / 3.0;
  std::error_code unknown;
  const auto space = std::filesystem::space(folder, unknown);
  if (!unknown)
    require(static_cast<double>(space.available) + freed >= model + checkpoint, folder.string(),
            ": the disk has only ", human_bytes(space.available),
            " free, and the model with one checkpoint takes about ",
            human_bytes(static_cast<uint64_t>(model + checkpoint)), ": the run could never be saved");
  rlimit limit{};
  if (getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY)
    require(static_cast<double>(limit.rlim_cur) >= checkpoint - model, folder.string(),
            ": files may have at most ", human_bytes(limit.rlim_cur),
            " here (ulimit -f), and a checkpoint takes about ",
            human_bytes(static_cast<uint64_t>(checkpoint)), ": the run could never be saved");
}

double sgemm_gflops() {
  constexpr int64_t kSize = 1024;
  const torch::NoGradGuard guard;
  const torch::Tensor a = torch::rand({kSize, kSize}), b = torch::rand({kSize, kSize});
  torch::Tensor c = torch::mm(a, b);
  double best = INFINITY;
  for (int i = 0; i < 5; ++i) {
    const auto start = Clock::now();
    torch::mm_out(c, a, b);
    best = std::min(best, seconds_since(start));
  }
  return 2e-9 * static_cast<double>(kSize * kSize * kSize) / best;
}

UpdateCost measure_update(Task& task, const TrainOptions& options, const RunClock& clock,
                          distributed::World* world) {
  constexpr double kLongEnough = 2.0, kTooLong = 20.0;
  constexpr int kFewest = 4, kMost = 16;  // several, because batches differ in length
  double drawn = 0.0;
  const auto run = [&] {
    drawn += static_cast<double>(task.draw(1));
    const double start = clock.seconds();
    if (const torch::Tensor sum = task.loss(0).sum; sum.defined()) sum.backward();
    const double seconds = clock.seconds() - start;
    return world == nullptr ? seconds : world->lead(seconds);  // all do as many
  };
  // Save the running statistics of batch norms, which change with every batch.
  std::vector<std::pair<torch::Tensor, torch::Tensor>> buffers;
  for (const torch::Tensor& buffer : task.model().buffers()) buffers.emplace_back(buffer, buffer.clone());
  double total = run(), count = 1.0;
  if (total < kTooLong) {  // discard the first one, which included warm-up
    total = count = drawn = 0.0;
    while ((total < kLongEnough || count < kFewest) && total < kTooLong && count < kMost) {
      total += run();
      count += 1.0;
    }
  }
  for (auto& [buffer, before] : buffers) buffer.copy_(before);
  for (const torch::Tensor& parameter : task.model().parameters()) parameter.mutable_grad() = torch::Tensor();
  task.restart();
  const double batches = static_cast<double>(options.accumulation);
  return {total / count * batches, drawn / count * batches};
}

}  // namespace mega::train
