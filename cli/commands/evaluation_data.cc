#include "cli/commands/evaluation_data.h"

#include <filesystem>

namespace mega::cli {

DataOptions evaluation_data(const DataOptions& trained_on, const std::string& path) {
  DataOptions data = trained_on;
  std::error_code not_there;
  if (path.empty() || std::filesystem::equivalent(path, data.path, not_there)) return data;
  data.path = path;
  data.valid = data.test = "";
  data.target = data.valid_target = data.test_target = "";
  data.test_share = 1.0;
  data.limit = data.evaluation_limit = 0;
  return data;
}

}  // namespace mega::cli
