#include "cli/torch_program.h"

#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>

#include "mega/base/error.h"
#include "mega/base/system/blas_kernels.h"
#include "mega/base/system/wait_policy.h"

namespace mega::cli {
namespace {

namespace fs = std::filesystem;

constexpr const char* kName = "mega-torch";

fs::path find_torch_program() {
  std::error_code error;
  const fs::path self = fs::read_symlink("/proc/self/exe", error);
  require(!error, "/proc/self/exe: cannot find out where this program is: ", error.message());
  const fs::path beside = self.parent_path() / kName;
  const fs::path installed = (self.parent_path() / MEGA_TORCH_FOLDER / kName).lexically_normal();
  for (const fs::path& path : {beside, installed})
    if (fs::exists(path, error)) return path;
  fail("this needs libtorch and the program ", kName, ", which is neither ", beside.string(), " nor ",
       installed.string(), "; install mega again, or build it whole (cmake --build build)");
}

}  // namespace

void run_torch_program(char** arguments) {
  const fs::path program = find_torch_program();
  let_idle_threads_sleep();
  choose_blas_kernels();
  std::fflush(nullptr);
  execv(program.c_str(), arguments);
  fail(program.string(), ": cannot be run: ", std::strerror(errno));
}

}  // namespace mega::cli
