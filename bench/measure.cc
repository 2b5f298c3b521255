#include "bench/measure.h"

#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <limits>
#include <memory>
#include <thread>

#include "mega/base/error.h"
#include "mega/base/strings.h"
#include "mega/ops/torch.h"
#include "mega/report/progress.h"

namespace mega::bench {
namespace {

// Between two values, in proportion.
double quantile(std::vector<double> values, double q) {
  std::sort(values.begin(), values.end());
  const double at = q * static_cast<double>(values.size() - 1), below = std::floor(at);
  const auto i = static_cast<size_t>(below);
  const double next = values[std::min(i + 1, values.size() - 1)];
  return values[i] + (at - below) * (next - values[i]);
}

// A field of /proc/self/status in MB, e.g. "VmRSS:" or "VmHWM:".
double status_mb(const std::string& key) {
  std::ifstream status("/proc/self/status");
  std::string line;
  while (std::getline(status, line))
    if (line.starts_with(key)) return std::stod(line.substr(key.size())) / 1024.0;
  fail("/proc/self/status has no ", key);
}

}  // namespace

std::vector<Row> measure(const std::vector<Candidate>& candidates, int repeats) {
  std::vector<std::vector<double>> times(candidates.size());
  Progress progress("measuring", (repeats + 1) * std::ssize(candidates), "runs");
  int64_t done = 0;
  for (int round = 0; round <= repeats; ++round) {
    for (size_t i = 0; i < candidates.size(); ++i) {
      const double time = seconds_of(candidates[i].run);
      if (round > 0) times[i].push_back(time);
      progress.update(++done);
    }
  }
  std::vector<Row> rows;
  double yardstick = 0.0;
  for (size_t i = 0; i < candidates.size(); ++i) {
    const Candidate& c = candidates[i];
    Row row{c.name, c.form, c.precision};
    row.median_s = median(times[i]);
    row.spread = spread(times[i]);
    row.tokens_per_s = c.tokens / row.median_s;
    row.flops = c.flops;
    row.channels = c.channels;
    if (c.form == "sgemm") yardstick = c.flops / row.median_s;
    rows.push_back(row);
  }
  for (Row& row : rows)
    if (yardstick > 0.0) row.share_of_sgemm = row.flops / row.median_s / yardstick;
  return rows;
}

Candidate sgemm() {
  constexpr int64_t kSize = 1024;
  const auto a = torch::rand({kSize, kSize}), b = torch::rand({kSize, kSize});
  auto c = torch::empty({kSize, kSize});
  return {"sgemm 1024^3", "sgemm",
          [=]() mutable {
            const torch::NoGradGuard guard;
            torch::mm_out(c, a, b);
          },
          2.0 * kSize * kSize * kSize};
}

double seconds_of(const std::function<void()>& work) {
  const auto start = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

double median(const std::vector<double>& values) { return quantile(values, 0.5); }

double spread(const std::vector<double>& values) {
  if (values.size() < 2) return std::numeric_limits<double>::quiet_NaN();
  return 0.5 * (quantile(values, 0.75) - quantile(values, 0.25)) / median(values);
}

std::string number(const char* format, double value) {
  char text[32];
  std::snprintf(text, sizeof text, format, value);
  return text;
}

double resident_mb() { return status_mb("VmRSS:"); }

double peak_growth_mb(const std::function<void()>& run) {
  std::ofstream("/proc/self/clear_refs") << "5";  // resets the peak (VmHWM)
  const double before = resident_mb();
  run();
  return std::max(0.0, status_mb("VmHWM:") - before);
}

std::string child_output(const std::vector<std::string>& arguments) {
  int pipe_ends[2];
  require(pipe(pipe_ends) == 0, "cannot create a pipe to a child process");
  const pid_t child = fork();
  require(child >= 0, "cannot start a child process");
  if (child == 0) {
    dup2(pipe_ends[1], STDOUT_FILENO);
    std::vector<char*> argv = {const_cast<char*>("mega")};
    for (const std::string& argument : arguments) argv.push_back(const_cast<char*>(argument.c_str()));
    argv.push_back(nullptr);
    execv("/proc/self/exe", argv.data());
    _exit(127);
  }
  close(pipe_ends[1]);
  std::string output;
  char buffer[256];
  for (ssize_t n; (n = read(pipe_ends[0], buffer, sizeof(buffer))) > 0;)
    output.append(buffer, static_cast<size_t>(n));
  close(pipe_ends[0]);
  int status = 0;
  waitpid(child, &status, 0);
  const std::string command = "mega " + join(arguments, " ");
  require(!WIFSIGNALED(status), command, ": killed by signal ", WTERMSIG(status), " (",
          strsignal(WTERMSIG(status)), WTERMSIG(status) == SIGKILL ? "; out of memory?)" : ")");
  require(WEXITSTATUS(status) == 0, command, ": failed with status ", WEXITSTATUS(status));
  return output;
}

double child_peak_growth_mb(const std::vector<std::string>& arguments) {
  return std::stod(child_output(arguments));
}

}  // namespace mega::bench
