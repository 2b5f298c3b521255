#include "mega/base/options/options_text.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <optional>

namespace mega::internal {
namespace {

// Full dotted keys of all options at or under the nodes.
void collect_keys(const std::vector<OptionNode>& nodes, const std::string& prefix,
                  std::vector<std::string>& keys) {
  for (const OptionNode& node : with_variant_fields(nodes)) {
    const std::string key = dotted(prefix, node.name);
    keys.push_back(key);
    if (const auto* group = std::get_if<GroupRef>(&node.value)) collect_keys(group->fields(), key, keys);
  }
}

std::vector<std::string> names_of(const std::vector<OptionNode>& nodes) {
  std::vector<std::string> names;
  for (const OptionNode& node : nodes) names.push_back(node.name);
  return names;
}

std::string range_text(const std::optional<Range>& range) {
  if (!range) return "";
  return ", " + number_text(range->low) + " to " + number_text(range->high);
}

struct TypeText {
  const OptionNode& node;
  std::string operator()(const bool*) const { return "true or false"; }
  std::string operator()(const int64_t*) const { return "a whole number" + range_text(node.range); }
  std::string operator()(const double*) const { return "a number" + range_text(node.range); }
  std::string operator()(const std::string*) const { return "a string"; }
  std::string operator()(const ChoiceRef& choice) const { return "one of " + join(choice.names, ", "); }
  std::string operator()(const VariantRef& variant) const { return (*this)(variant.kind); }
  std::string operator()(const GroupRef&) const { return "a group of options"; }
  std::string operator()(const ListRef&) const { return "a list" + range_text(node.range); }
};

struct ValueText {
  std::string operator()(const bool* value) const { return *value ? "true" : "false"; }
  std::string operator()(const int64_t* value) const { return std::to_string(*value); }
  std::string operator()(const double* value) const { return number_text(*value); }
  std::string operator()(const std::string* value) const { return *value; }
  std::string operator()(const ChoiceRef& choice) const { return choice.get(); }
  std::string operator()(const VariantRef& variant) const { return variant.kind.get(); }
  std::string operator()(const GroupRef&) const { return "{...}"; }
  std::string operator()(const ListRef& list) const {
    std::vector<std::string> values;
    for (size_t i = 0; i < list.size(); ++i) values.push_back(value_text(list.element(i)));
    return join(values, ",");
  }
};

}  // namespace

std::string number_text(double number) {
  constexpr double kWrittenOut = 1e15;
  std::array<char, 64> buffer;
  const bool whole = std::trunc(number) == number && std::abs(number) < kWrittenOut;
  const auto end = whole ? std::to_chars(buffer.begin(), buffer.end(), static_cast<int64_t>(number)).ptr
                         : std::to_chars(buffer.begin(), buffer.end(), number).ptr;
  return {buffer.begin(), end};
}

std::string type_text(const OptionNode& node) { return std::visit(TypeText{node}, node.value); }

std::string value_text(const OptionNode& node) { return std::visit(ValueText{}, node.value); }

std::string dotted(const std::string& group, const std::string& name) {
  return group.empty() ? name : group + "." + name;
}

std::vector<OptionNode> with_variant_fields(const std::vector<OptionNode>& nodes) {
  std::vector<OptionNode> all;
  for (const OptionNode& node : nodes) {
    all.push_back(node);
    if (const auto* variant = std::get_if<VariantRef>(&node.value)) {
      std::vector<OptionNode> fields = with_variant_fields(variant->fields());
      std::move(fields.begin(), fields.end(), std::back_inserter(all));
    }
  }
  return all;
}

const OptionNode* find_option(const std::vector<OptionNode>& nodes, std::string_view name) {
  for (const OptionNode& node : nodes)
    if (node.name == name ||
        std::find(node.old_names.begin(), node.old_names.end(), name) != node.old_names.end())
      return &node;
  return nullptr;
}

void note_old_name(const OptionNode& node, const std::string& group, const std::string& name) {
  if (name == node.name) return;
  std::fprintf(stderr, "note: the option %s is now called %s\n", dotted(group, name).c_str(),
               dotted(group, node.name).c_str());
}

std::string unknown_option_text(const std::vector<OptionNode>& root, const std::vector<OptionNode>& known,
                                const std::string& key, const std::string& name) {
  // The right name in the wrong group, or a mistyped name in the right one.
  std::vector<std::string> keys;
  collect_keys(root, "", keys);
  const std::string unknown = "unknown option " + in_quotes(name) + "; ";
  for (const std::string& candidate : keys)
    if (candidate == name || candidate.ends_with("." + name))
      return unknown + "did you mean " + candidate + "?";
  const std::vector<std::string> names = names_of(known);
  if (const std::string guess = nearest(name, names); !guess.empty())
    return unknown + "did you mean " + dotted(key, guess) + "?";
  return unknown + "there are: " + join(names, ", ");
}

void check_range(const OptionNode& node, const std::string& where) {
  double number = 0;
  if (const auto* whole = std::get_if<int64_t*>(&node.value))
    number = static_cast<double>(**whole);
  else if (const auto* real = std::get_if<double*>(&node.value))
    number = **real;
  else
    return;
  const bool inside = !node.range || (node.range->low <= number && number <= node.range->high);
  require(std::isfinite(number) && inside, where, "expected ", type_text(node), ", got ",
          number_text(number));
}

}  // namespace mega::internal
