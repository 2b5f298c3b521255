// The largest published model, with random weights: exported as the released program would have it, imported
// again in under a minute within 1.5 times its size of memory, and the engine scores with it.
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cmath>
#include <cstdio>

#include "mega/config/export/export_model.h"
#include "mega/config/import/import_checkpoint.h"
#include "mega/config/parameter_count.h"
#include "mega/config/recipe/presets.h"
#include "mega/infer/session.h"
#include "tests/base/helpers.h"
#include "tests/infer/tiny_model.h"

namespace mega::testing {
namespace {

namespace fs = std::filesystem;

struct Usage {
  double seconds = 0;
  int64_t bytes = 0;  // most that was in memory
  bool succeeded = false;
};

// In a process of its own, whose memory can be measured.
template <class Work>
Usage measured(const Work& work) {
  const auto start = std::chrono::steady_clock::now();
  const pid_t child = ::fork();
  if (child == 0) {
    try {
      work();
      ::_exit(0);
    } catch (const std::exception& error) {
      std::fprintf(stderr, "%s\n", error.what());
      ::_exit(1);
    }
  }
  int status = 0;
  struct rusage usage {};
  ::wait4(child, &status, 0, &usage);
  const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - start;
  return {elapsed.count(), int64_t{usage.ru_maxrss} << 10, WIFEXITED(status) && WEXITSTATUS(status) == 0};
}

TEST(PublishedSize, IsImportedInAMinute) {
  const ModelOptions options = load_preset("wikitext103").model;
  const ScratchFolder folder;
  const fs::path ours = folder / "ours.safetensors", theirs = folder / "theirs.pt",
                 again = folder / "again.safetensors";
  ASSERT_TRUE(measured([&] {
                write_random_model(ours, options);
                export_model(ModelFile::open(ours), ExportFormat::fairseq, theirs);
              }).succeeded);
  const auto size = static_cast<int64_t>(fs::file_size(theirs));
  const Usage usage = measured([&] { import_checkpoint({theirs, ""}).write(again); });
  std::printf("%lld parameters, %.2f GB: %.1f s, %.2f GB of memory\n",
              static_cast<long long>(count_parameters(options).total), static_cast<double>(size) * 1e-9,
              usage.seconds, static_cast<double>(usage.bytes) * 1e-9);
  ASSERT_TRUE(usage.succeeded);
  EXPECT_LT(usage.seconds, 60.0);
  EXPECT_LT(static_cast<double>(usage.bytes), 1.5 * static_cast<double>(size));

  const Safetensors before = Safetensors::open(ours), after = Safetensors::open(again);
  for (const TensorInfo& info : options.kind().tensors())
    if (info.tied_to.empty()) {
      const TensorView &a = before.at(info.name), &b = after.at(info.name);
      EXPECT_TRUE(std::equal(a.data.begin(), a.data.end(), b.data.begin(), b.data.end())) << info.name;
    }

  infer::Session session(infer::LanguageModel::open(again), std::make_shared<infer::ThreadPool>(1));
  const std::vector<int32_t> tokens = {5, 100, 30'000, 200'000}, next = {100, 30'000, 200'000, 7};
  std::vector<float> scores(tokens.size());
  session.score(tokens, next, scores);
  for (const float score : scores) EXPECT_TRUE(std::isfinite(score) && score < 0) << score;
}

}  // namespace
}  // namespace mega::testing
