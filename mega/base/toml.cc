#include "mega/base/toml.h"

// The only file that includes toml++, whose headers are slow to compile.
#include <toml++/toml.h>

#include "mega/base/error.h"

namespace mega {
namespace {

class Converter {
 public:
  explicit Converter(const std::string& name) : name_(name) {}

  nlohmann::json convert(const toml::node& node, const std::string& key) {
    const auto line = static_cast<int>(node.source().begin.line);
    if (line > 0) lines_[key] = line;
    switch (node.type()) {
      case toml::node_type::table: {
        nlohmann::json object = nlohmann::json::object();
        for (const auto& [child_key, child] : *node.as_table()) {
          const std::string child_name(child_key.str());
          object[child_name] = convert(child, key.empty() ? child_name : key + "." + child_name);
        }
        return object;
      }
      case toml::node_type::array: {
        nlohmann::json array = nlohmann::json::array();
        for (const toml::node& child : *node.as_array())
          array.push_back(convert(child, key + "[" + std::to_string(array.size()) + "]"));
        return array;
      }
      case toml::node_type::string:
        return node.as_string()->get();
      case toml::node_type::integer:
        return node.as_integer()->get();
      case toml::node_type::floating_point:
        return node.as_floating_point()->get();
      case toml::node_type::boolean:
        return node.as_boolean()->get();
      default:
        fail(name_, ":", line, ": ", key, ": dates and times are not supported; write a string in quotes");
    }
  }

  std::map<std::string, int> take_lines() { return std::move(lines_); }

 private:
  const std::string& name_;
  std::map<std::string, int> lines_;
};

}  // namespace

TomlDocument parse_toml(std::string_view text, const std::string& name) {
  try {
    const toml::table table = toml::parse(text, name);
    Converter converter(name);
    nlohmann::json values = converter.convert(table, "");
    return {std::move(values), converter.take_lines()};
  } catch (const toml::parse_error& error) {
    fail(name, ":", error.source().begin.line, ": not valid TOML: ", error.description());
  }
}

}  // namespace mega
