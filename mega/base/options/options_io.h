// Options to and from JSON and TOML; see options.h for how they are declared.
#pragma once

#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "mega/base/options/options.h"

namespace mega {

// Where options come from, for error messages.
struct OptionSource {
  std::string name;                  // a path; may be empty
  std::map<std::string, int> lines;  // the line of each dotted key, if known
  std::string newer_version;         // the version of the program that wrote this, if newer than this one
};

namespace internal {
nlohmann::ordered_json write_options(const std::vector<OptionNode>& nodes);
void read_options(const std::vector<OptionNode>& nodes, const nlohmann::json& json,
                  const OptionSource& source);
// Reads one value into the option `key`.
void read_option(const OptionNode& node, const nlohmann::json& json, const std::string& key);
OptionSource read_toml(std::string_view text, const std::string& name, nlohmann::json& json);
}  // namespace internal

// Every field, in the order of declaration.
template <class T>
nlohmann::ordered_json options_to_json(const T& options) {
  T copy = options;
  return internal::write_options(option_nodes(copy));
}

// Fields that are not in the JSON keep their value. An unknown key, a wrong type or a number out of range is
// an Error with its location, and leaves the options unchanged.
template <class T>
void options_from_json(T& options, const nlohmann::json& json, const OptionSource& source = {}) {
  T changed = options;
  internal::read_options(option_nodes(changed), json, source);
  options = std::move(changed);
}

// The same from TOML text; `name` is its path, for messages.
template <class T>
void options_from_toml(T& options, std::string_view text, const std::string& name) {
  nlohmann::json json;
  const OptionSource source = internal::read_toml(text, name, json);
  options_from_json(options, json, source);
}

}  // namespace mega
