// Parses TOML into JSON values and the line of each.
#pragma once

#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

namespace mega {

struct TomlDocument {
  nlohmann::json values;
  std::map<std::string, int> lines;  // by dotted key, "model.block.width"; list elements as "cutoffs[0]"
};

// `name` is used in error messages: "presets/x.toml:12: ...".
TomlDocument parse_toml(std::string_view text, const std::string& name);

}  // namespace mega
