#include "mega/base/options/options_io.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "mega/base/files/toml.h"
#include "mega/base/options/options_text.h"
#include "mega/base/version.h"

namespace mega::internal {
namespace {

using Json = nlohmann::json;

// Reads JSON into options. Each function takes the dotted key of the option, for error messages.
class Reader {
 public:
  Reader(const std::vector<OptionNode>& root, const OptionSource& source) : root_(root), source_(source) {}

  void read_group(const std::vector<OptionNode>& nodes, const Json& json, const std::string& key) const {
    require(json.is_object(), at(key), "expected a group of options, got ", describe(json));
    choose_kinds(nodes, json, key);
    const std::vector<OptionNode> known = with_variant_fields(nodes);
    for (const auto& [name, value] : json.items()) {
      const OptionNode* node = find_option(known, name);
      if (node == nullptr) fail_unknown(known, name, key);
      if (!source_.lines.empty()) note_old_name(*node, key, name);  // only for files written by hand
      read(*node, value, dotted(key, name));
    }
  }

  void read(const OptionNode& node, const Json& json, const std::string& key) const {
    std::visit([&](const auto& target) { assign(target, node, json, key); }, node.value);
  }

 private:
  // The kind is read first: it determines which other keys exist.
  void choose_kinds(const std::vector<OptionNode>& nodes, const Json& json, const std::string& key) const {
    for (const OptionNode& node : nodes) {
      const auto* variant = std::get_if<VariantRef>(&node.value);
      if (variant == nullptr) continue;
      if (const auto kind = json.find(node.name); kind != json.end())
        assign(*variant, node, *kind, dotted(key, node.name));
      choose_kinds(variant->fields(), json, key);
    }
  }

  void assign(bool* target, const OptionNode& node, const Json& json, const std::string& key) const {
    if (!json.is_boolean()) fail_type(node, json, key);
    *target = json.get<bool>();
  }

  void assign(int64_t* target, const OptionNode& node, const Json& json, const std::string& key) const {
    constexpr double kExact = 9007199254740992;  // 2^53: above it a double may not be exact
    if (json.is_number_float()) {                // TOML parses 1e6 as a float: accept it as a whole number
      const double number = json.get<double>();
      if (!(std::abs(number) <= kExact && std::trunc(number) == number)) fail_type(node, json, key);
      *target = static_cast<int64_t>(number);
    } else {
      constexpr auto kLargest = static_cast<uint64_t>(std::numeric_limits<int64_t>::max());
      if (!json.is_number_integer()) fail_type(node, json, key);
      if (json.is_number_unsigned() && json.get<uint64_t>() > kLargest) fail_type(node, json, key);
      *target = json.get<int64_t>();
    }
    check_range(node, at(key));
  }

  void assign(double* target, const OptionNode& node, const Json& json, const std::string& key) const {
    if (!json.is_number()) fail_type(node, json, key);
    *target = json.get<double>();
    check_range(node, at(key));
  }

  void assign(std::string* target, const OptionNode& node, const Json& json, const std::string& key) const {
    if (!json.is_string()) fail_type(node, json, key);
    *target = json.get<std::string>();
  }

  void assign(const ChoiceRef& target, const OptionNode& node, const Json& json,
              const std::string& key) const {
    if (!json.is_string()) fail_type(node, json, key);
    const auto& name = json.get_ref<const std::string&>();
    if (std::find(target.names.begin(), target.names.end(), name) == target.names.end()) {
      const std::string guess = nearest(name, target.names);
      fail(at(key), "expected ", type_text(node), ", got ", in_quotes(name),
           guess.empty() ? "" : "; did you mean " + guess + "?", newer_note());
    }
    // Setting the current kind of a variant again must not reset its fields.
    if (target.get() != name) target.set(name);
  }

  void assign(const VariantRef& target, const OptionNode& node, const Json& json,
              const std::string& key) const {
    assign(target.kind, node, json, key);
  }

  void assign(const GroupRef& target, const OptionNode&, const Json& json, const std::string& key) const {
    read_group(target.fields(), json, key);
  }

  void assign(const ListRef& target, const OptionNode&, const Json& json, const std::string& key) const {
    require(json.is_array(), at(key), "expected a list, got ", describe(json));
    target.resize(json.size());
    for (size_t i = 0; i < json.size(); ++i)
      read(target.element(i), json[i], key + "[" + std::to_string(i) + "]");
  }

  [[noreturn]] void fail_type(const OptionNode& node, const Json& json, const std::string& key) const {
    fail(at(key), "expected ", type_text(node), ", got ", describe(json));
  }

  [[noreturn]] void fail_unknown(const std::vector<OptionNode>& known, const std::string& name,
                                 const std::string& key) const {
    fail(at(key, dotted(key, name)), unknown_option_text(root_, known, key, name), newer_note());
  }

  std::string newer_note() const {
    if (source_.newer_version.empty()) return "";
    return "; it was written by mega " + source_.newer_version + ", newer than this " + version() +
           ": update to read it";
  }

  // "presets/x.toml:12: model.block.width: "
  std::string at(const std::string& key) const { return at(key, key); }

  // The same, with the line of another key.
  std::string at(const std::string& key, const std::string& key_of_line) const {
    std::string place = source_.name;
    if (const auto line = source_.lines.find(key_of_line); line != source_.lines.end())
      place += ":" + std::to_string(line->second);
    if (!place.empty() && !key.empty()) place += ": ";
    place += key;
    return place.empty() ? "" : place + ": ";
  }

  static std::string describe(const Json& json) {
    if (json.is_string()) return in_quotes(json.get_ref<const std::string&>());
    if (json.is_number_float()) return number_text(json.get<double>());
    if (json.is_array()) return "a list";
    if (json.is_object()) return "a group of options";
    if (json.is_null()) return "nothing";
    return json.dump();
  }

  const std::vector<OptionNode>& root_;
  const OptionSource& source_;
};

nlohmann::ordered_json write_value(const OptionNode& node);

struct Writer {
  nlohmann::ordered_json operator()(const bool* value) const { return *value; }
  nlohmann::ordered_json operator()(const int64_t* value) const { return *value; }
  nlohmann::ordered_json operator()(const double* value) const { return *value; }
  nlohmann::ordered_json operator()(const std::string* value) const { return *value; }
  nlohmann::ordered_json operator()(const ChoiceRef& choice) const { return choice.get(); }
  nlohmann::ordered_json operator()(const VariantRef& variant) const { return variant.kind.get(); }
  nlohmann::ordered_json operator()(const GroupRef& group) const { return write_options(group.fields()); }
  nlohmann::ordered_json operator()(const ListRef& list) const {
    nlohmann::ordered_json array = nlohmann::ordered_json::array();
    for (size_t i = 0; i < list.size(); ++i) array.push_back(write_value(list.element(i)));
    return array;
  }
};

nlohmann::ordered_json write_value(const OptionNode& node) { return std::visit(Writer{}, node.value); }

}  // namespace

nlohmann::ordered_json write_options(const std::vector<OptionNode>& nodes) {
  nlohmann::ordered_json object = nlohmann::ordered_json::object();
  for (const OptionNode& node : with_variant_fields(nodes)) object[node.name] = write_value(node);
  return object;
}

void read_options(const std::vector<OptionNode>& nodes, const nlohmann::json& json,
                  const OptionSource& source) {
  Reader(nodes, source).read_group(nodes, json, "");
}

void read_option(const OptionNode& node, const nlohmann::json& json, const std::string& key) {
  const OptionSource source;
  Reader({}, source).read(node, json, key);
}

OptionSource read_toml(std::string_view text, const std::string& name, nlohmann::json& json) {
  TomlDocument document = parse_toml(text, name);
  json = std::move(document.values);
  return {name, std::move(document.lines), ""};
}

}  // namespace mega::internal
