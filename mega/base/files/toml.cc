#include "mega/base/files/toml.h"

// The only file that includes toml++, whose headers are slow to compile.
#include <toml++/toml.h>

#include <algorithm>

#include "mega/base/error.h"

namespace mega {
namespace {

// Parser and converter go one level of the stack deeper for each part of a dotted key and for each bracket,
// so both are counted before. Knows of TOML only what it takes to pass over strings and comments.
class DepthCheck {
 public:
  DepthCheck(std::string_view text, const std::string& name) : text_(text), name_(name) {}

  void run() {
    while (at_ < text_.size()) {
      const char c = text_[at_];
      if (c == '"' || c == '\'')
        skip_string(c);
      else if (c == '#')
        at_ = std::min(text_.find('\n', at_), text_.size());
      else
        count(text_[at_++]);
    }
  }

 private:
  void count(char c) {
    constexpr int kDeepest = 32;
    if (c == '.') ++parts_;
    if (c == '[' || c == '{') ++open_;
    if ((c == ']' || c == '}') && open_ > 0) --open_;
    if (c == '\n') ++line_;
    if (c == '\n' || c == '=' || c == ',' || c == '[' || c == '{') parts_ = 0;
    require(parts_ < kDeepest && open_ <= kDeepest, name_, ":", line_, ": nested deeper than ", kDeepest,
            " levels");
  }

  void skip_string(char quote) {
    const bool long_one = text_.substr(at_, 3) == std::string(3, quote);
    at_ += long_one ? 3 : 1;
    for (; at_ < text_.size(); ++at_) {
      const char c = text_[at_];
      if (c == '\n' && !long_one) return;  // not valid: the parser will say so
      if (c == '\n') ++line_;
      if (c == '\\' && quote == '"' && at_ + 1 < text_.size()) {
        if (text_[++at_] == '\n') ++line_;
      } else if (c == quote && (!long_one || text_.substr(at_, 3) == std::string(3, quote))) {
        break;
      }
    }
    at_ = std::min(at_ + (long_one ? 3 : 1), text_.size());
    // Up to two quotes may stand before the three that end the string.
    for (int i = 0; long_one && i < 2 && at_ < text_.size() && text_[at_] == quote; ++i) ++at_;
  }

  std::string_view text_;
  const std::string& name_;
  size_t at_ = 0;
  int line_ = 1;
  int parts_ = 0;  // dots of the key that is being read
  int open_ = 0;   // brackets
};

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
  DepthCheck(text, name).run();
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
