// Files made to break an importer: refused with an Error or imported, as tests/hostile/README.md says, each
// in less than a second and 200 MB.
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>

#include "mega/base/files/safetensors.h"
#include "mega/config/import/import_checkpoint.h"
#include "tests/base/helpers.h"
#include "tests/checkpoints/folders.h"

namespace mega::testing {
namespace {

namespace fs = std::filesystem;

enum Verdict : int { kLoads = 0, kRefused = 1, kOther = 2 };

// In a process of its own, whose memory can be measured.
int verdict(const fs::path& path, const fs::path& out) {
  try {
    if (path.extension() == ".safetensors")
      Safetensors::open(path);
    else
      import_checkpoint({path, "", {}}).write(out);
    return kLoads;
  } catch (const Error& error) {
    const std::string message = error.what();
    std::fprintf(stderr, "%s\n", message.c_str());
    return contains(message, path.filename().string()) ? kRefused : kOther;
  } catch (...) {
    return kOther;
  }
}

// Whether a payload has done what payloads in these files try to do.
bool was_executed() {
  for (const auto& entry : fs::directory_iterator("/tmp"))
    if (entry.path().filename().string().starts_with("mega-hostile-")) return true;
  return false;
}

class HostileImport : public ::testing::TestWithParam<HostileFile> {};

TEST_P(HostileImport, HasItsVerdict) {
  const ScratchFolder folder;
  const fs::path out = folder / "model.safetensors";
  const auto start = std::chrono::steady_clock::now();
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) ::_exit(verdict(GetParam().path, out));
  int status = 0;
  struct rusage usage {};
  ASSERT_EQ(::wait4(child, &status, 0, &usage), child);
  const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - start;

  ASSERT_TRUE(WIFEXITED(status)) << "killed by signal " << WTERMSIG(status) << ": " << GetParam().what;
  EXPECT_EQ(WEXITSTATUS(status), GetParam().must_load ? kLoads : kRefused) << GetParam().what;
  EXPECT_EQ(fs::exists(out), GetParam().must_load);
  EXPECT_FALSE(was_executed());
  // Its own time: the machine may be busy.
  const double seconds = static_cast<double>(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
                         1e-6 * static_cast<double>(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec);
  EXPECT_LT(std::min(seconds, elapsed.count()), 1.0);
#ifndef __SANITIZE_ADDRESS__
  EXPECT_LT(usage.ru_maxrss, 200 << 10) << "KiB";
#endif
}

INSTANTIATE_TEST_SUITE_P(Files, HostileImport, ::testing::ValuesIn(hostile_files()),
                         [](const auto& one) { return test_name(one.param.name()); });

}  // namespace
}  // namespace mega::testing
