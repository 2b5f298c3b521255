// What a comparison reads of a run's folder.
#include "cli/compare/trained_run.h"

#include <gtest/gtest.h>

#include <cmath>

#include "mega/base/files/file.h"
#include "tests/base/helpers.h"

namespace mega::cli {
namespace {

TrainedRun run_with(const std::string& valid) {
  const testing::ScratchFolder folder;
  write_file(folder / "metrics.jsonl", "");
  write_file(folder / "result.json",
             R"({"parameters":1,"updates":2,"seconds":3.0,"peak_memory_bytes":4,"selected_by":"accuracy",)"
             R"("higher_is_better":true,"test":{},"valid":)" +
                 valid + "}");
  return read_trained_run(folder.path());
}

TEST(TrainedRun, KnowsItsLoss) {
  EXPECT_EQ(run_with(R"({"accuracy":0.5,"loss":1.25})").valid_loss, 1.25);
  EXPECT_EQ(run_with(R"({"accuracy":0.5})").valid_loss, -0.5) << "without one, the metric";
}

TEST(TrainedRun, ALossThatIsNotFiniteIsNone) {
  EXPECT_TRUE(std::isnan(run_with(R"({"accuracy":0.1,"loss":null})").valid_loss));
}

}  // namespace
}  // namespace mega::cli
