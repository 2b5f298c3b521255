#include "mega/base/system/wait_policy.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <string>
#include <vector>

namespace mega {
namespace {

// Runs this program again with these variables; it says by its exit code whether threads sleep.
bool sleeps_with(std::vector<std::string> variables) {
  variables.emplace_back("MEGA_WAIT_POLICY_CHILD=1");
  std::vector<char*> environment;
  for (std::string& variable : variables) environment.push_back(variable.data());
  environment.push_back(nullptr);
  std::string name = "test", filter = "--gtest_filter=WaitPolicy.Child";
  char* arguments[] = {name.data(), filter.data(), nullptr};
  const pid_t child = fork();
  if (child == 0) {
    execve("/proc/self/exe", arguments, environment.data());
    _exit(9);
  }
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_TRUE(WIFEXITED(status) && (WEXITSTATUS(status) == 0 || WEXITSTATUS(status) == 3));
  return WIFEXITED(status) && WEXITSTATUS(status) == 3;
}

TEST(WaitPolicy, Child) {
  if (std::getenv("MEGA_WAIT_POLICY_CHILD") == nullptr) return;
  ::setenv("OMP_WAIT_POLICY", "passive", 1);  // too late: OpenMP has read its environment
  _exit(idle_threads_sleep() ? 3 : 0);
}

TEST(WaitPolicy, IsWhatTheProgramWasStartedWith) {
  EXPECT_FALSE(sleeps_with({}));
  EXPECT_TRUE(sleeps_with({"OMP_WAIT_POLICY=passive"}));
  EXPECT_FALSE(sleeps_with({"OMP_WAIT_POLICY=active"}));
  EXPECT_TRUE(sleeps_with({"OMP_WAIT_POLICY=passive", "GOMP_SPINCOUNT=100"}));
  EXPECT_TRUE(sleeps_with({"GOMP_SPINCOUNT=0"}));
  EXPECT_FALSE(sleeps_with({"GOMP_SPINCOUNT=300000"}));
  EXPECT_FALSE(sleeps_with({"GOMP_SPINCOUNT=infinity", "OMP_WAIT_POLICY=passive"}));
}

TEST(WaitPolicy, LeavesAloneWhatTheUserSet) {
  for (const char* variable : {"OMP_WAIT_POLICY", "GOMP_SPINCOUNT", "KMP_BLOCKTIME"}) ::unsetenv(variable);
  ::setenv("OMP_WAIT_POLICY", "active", 1);
  let_idle_threads_sleep();
  EXPECT_STREQ(std::getenv("OMP_WAIT_POLICY"), "active");
  EXPECT_EQ(std::getenv("GOMP_SPINCOUNT"), nullptr);
  ::unsetenv("OMP_WAIT_POLICY");
  let_idle_threads_sleep();
  EXPECT_STREQ(std::getenv("OMP_WAIT_POLICY"), "passive");
  EXPECT_NE(std::getenv("GOMP_SPINCOUNT"), nullptr);
}

}  // namespace
}  // namespace mega
