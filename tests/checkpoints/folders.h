// Folders of checkpoints that tests read, described in tests/checkpoints/README.md and
// tests/hostile/README.md. MEGA_CHECKPOINTS_DIR and MEGA_HOSTILE_DIR name others of the same form.
#pragma once

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "mega/base/error.h"
#include "mega/base/files/file.h"
#include "mega/base/strings.h"

namespace mega::testing {

inline std::filesystem::path folder_of(const char* variable) {
  const char* name = std::getenv(variable);
  require(name != nullptr && std::filesystem::is_directory(name), variable,
          " names no folder; run the test through ctest, or set it");
  return name;
}

struct CheckpointCase {
  std::filesystem::path folder;
  nlohmann::json description;  // case.json

  std::string name() const { return folder.filename().string(); }
};

inline CheckpointCase checkpoint_case(const std::string& name) {
  const std::filesystem::path folder = folder_of("MEGA_CHECKPOINTS_DIR") / name;
  return {folder, nlohmann::json::parse(read_file(folder / "case.json"))};
}

// All folders, in the order of their names. The one of files to refuse is the other set.
inline std::vector<CheckpointCase> checkpoint_cases() {
  std::vector<CheckpointCase> cases;
  for (const auto& entry : std::filesystem::directory_iterator(folder_of("MEGA_CHECKPOINTS_DIR")))
    if (entry.is_directory() && entry.path().filename() != "hostile")
      cases.push_back(checkpoint_case(entry.path().filename().string()));
  require(!cases.empty(), "MEGA_CHECKPOINTS_DIR has no folders");
  std::sort(cases.begin(), cases.end(),
            [](const CheckpointCase& a, const CheckpointCase& b) { return a.folder < b.folder; });
  return cases;
}

struct HostileFile {
  std::filesystem::path path;
  bool must_load = false;
  std::string what;

  std::string name() const { return path.filename().string(); }
};

// The verdicts of its README.md: | file | load or refuse | what it is |. A file without one is an Error.
inline std::vector<HostileFile> hostile_files() {
  const std::filesystem::path folder = folder_of("MEGA_HOSTILE_DIR");
  std::map<std::string, HostileFile> files;
  for (const std::string& line : split(read_file(folder / "README.md"), '\n')) {
    const std::vector<std::string> cells = split(line, '|');
    if (cells.size() < 5) continue;
    const std::string name(trim(cells[1])), verdict(trim(cells[2]));
    if (verdict == "load" || verdict == "refuse")
      files[name] = {folder / name, verdict == "load", std::string(trim(cells[3]))};
  }
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    const std::string name = entry.path().filename().string();
    require(name == "README.md" || files.contains(name), name, ": README.md gives no verdict");
  }
  std::vector<HostileFile> result;
  for (auto& [name, file] : files) {
    require(std::filesystem::exists(file.path), name, ": is in README.md and not in the folder");
    result.push_back(std::move(file));
  }
  require(!result.empty(), "MEGA_HOSTILE_DIR has no files");
  return result;
}

// For names of tests: letters, digits and underscores.
inline std::string test_name(std::string name) {
  for (char& c : name)
    if (std::isalnum(static_cast<unsigned char>(c)) == 0) c = '_';
  return name;
}

}  // namespace mega::testing
