// Reading TOML into JSON values, remembering the line of each.
#pragma once

#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

namespace mega {

struct TomlDocument {
  nlohmann::json values;
  std::map<std::string, int> lines;  // by dotted key, "model.block.width"; a list's by "cutoffs[0]" too
};

// `name` stands in error messages: "presets/x.toml:12: ...".
TomlDocument parse_toml(std::string_view text, const std::string& name);

}  // namespace mega
