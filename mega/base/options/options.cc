#include "mega/base/options/options.h"

#include <charconv>

#include "mega/base/options/options_io.h"
#include "mega/base/options/options_text.h"

namespace mega::internal {
namespace {

// The number that the text contains, or else the text itself, so that the reader reports what it expected.
nlohmann::json number_or_text(std::string_view text) {
  const char* const end = text.data() + text.size();
  int64_t whole = 0;
  if (const auto [stop, error] = std::from_chars(text.data(), end, whole);
      error == std::errc() && stop == end)
    return whole;
  double real = 0;
  if (const auto [stop, error] = std::from_chars(text.data(), end, real); error == std::errc() && stop == end)
    return real;
  return text;
}

// Converts the text to the JSON value that the option's type requires.
struct TextToJson {
  std::string_view text;

  nlohmann::json operator()(const bool*) const {
    if (text == "true") return true;
    if (text == "false") return false;
    return text;
  }
  nlohmann::json operator()(const int64_t*) const { return number_or_text(text); }
  nlohmann::json operator()(const double*) const { return number_or_text(text); }
  nlohmann::json operator()(const std::string*) const { return text; }
  nlohmann::json operator()(const ChoiceRef&) const { return text; }
  nlohmann::json operator()(const VariantRef&) const { return text; }
  nlohmann::json operator()(const GroupRef&) const { return text; }
  nlohmann::json operator()(const ListRef& list) const {
    std::string_view inside = text;
    if (inside.size() >= 2 && inside.front() == '[' && inside.back() == ']')
      inside = trim(inside.substr(1, inside.size() - 2));
    nlohmann::json array = nlohmann::json::array();
    if (inside.empty()) return array;
    const std::vector<std::string> parts = split(inside, ',');
    list.resize(parts.size());  // the type is that of an element
    for (size_t i = 0; i < parts.size(); ++i)
      array.push_back(std::visit(TextToJson{trim(parts[i])}, list.element(i).value));
    return array;
  }
};

// Walks "model.block.width" down from the root.
OptionNode resolve(const std::vector<OptionNode>& root, const std::string& key) {
  std::vector<OptionNode> nodes = with_variant_fields(root);
  std::string group;
  const std::vector<std::string> names = split(key, '.');
  for (size_t i = 0;; ++i) {
    const OptionNode* node = find_option(nodes, names[i]);
    if (node == nullptr)
      fail(group, group.empty() ? "" : ": ", unknown_option_text(root, nodes, group, names[i]));
    note_old_name(*node, group, names[i]);
    group = dotted(group, node->name);
    if (i + 1 == names.size()) return *node;
    const auto* child = std::get_if<GroupRef>(&node->value);
    require(child != nullptr, group, ": is ", type_text(*node), "; it has no option ",
            in_quotes(names[i + 1]));
    nodes = with_variant_fields(child->fields());
  }
}

void collect_rows(const std::vector<OptionNode>& nodes, const std::vector<OptionNode>& defaults,
                  const std::string& prefix, std::vector<OptionRow>& rows) {
  for (size_t i = 0; i < nodes.size(); ++i) {
    const OptionNode& node = nodes[i];
    const std::string key = dotted(prefix, node.name);
    if (const auto* group = std::get_if<GroupRef>(&node.value)) {
      collect_rows(group->fields(), std::get<GroupRef>(defaults[i].value).fields(), key, rows);
      continue;
    }
    rows.push_back({key, type_text(node), value_text(defaults[i]), value_text(node), node.help});
    if (const auto* variant = std::get_if<VariantRef>(&node.value)) {
      const auto& default_variant = std::get<VariantRef>(defaults[i].value);
      if (default_variant.kind.get() != variant->kind.get()) default_variant.kind.set(variant->kind.get());
      collect_rows(variant->fields(), default_variant.fields(), prefix, rows);
    }
  }
}

void check_ranges_under(const std::vector<OptionNode>& nodes, const std::string& where,
                        const std::string& prefix);

void check_ranges_of(const OptionNode& node, const std::string& where, const std::string& key) {
  check_range(node, where + (where.empty() ? "" : ": ") + key + ": ");
  if (const auto* group = std::get_if<GroupRef>(&node.value)) check_ranges_under(group->fields(), where, key);
  if (const auto* list = std::get_if<ListRef>(&node.value))
    for (size_t i = 0; i < list->size(); ++i)
      check_ranges_of(list->element(i), where, key + "[" + std::to_string(i) + "]");
}

void check_ranges_under(const std::vector<OptionNode>& nodes, const std::string& where,
                        const std::string& prefix) {
  for (const OptionNode& node : with_variant_fields(nodes))
    check_ranges_of(node, where, dotted(prefix, node.name));
}

}  // namespace

void set_option(const std::vector<OptionNode>& nodes, std::string_view assignment) {
  const size_t equals = assignment.find('=');
  require(equals != std::string_view::npos && equals > 0, "expected key=value, got ", in_quotes(assignment));
  const std::string key(trim(assignment.substr(0, equals)));
  const OptionNode node = resolve(nodes, key);
  if (const auto* group = std::get_if<GroupRef>(&node.value)) {
    std::vector<std::string> names;
    for (const OptionNode& child : with_variant_fields(group->fields())) names.push_back(child.name);
    fail(key, ": is a group of options; set one of ", join(names, ", "));
  }
  const std::string_view text = trim(assignment.substr(equals + 1));
  read_option(node, std::visit(TextToJson{text}, node.value), key);
}

void check_ranges(const std::vector<OptionNode>& nodes, const std::string& where) {
  check_ranges_under(nodes, where, "");
}

std::vector<OptionRow> option_rows(const std::vector<OptionNode>& nodes,
                                   const std::vector<OptionNode>& defaults) {
  std::vector<OptionRow> rows;
  collect_rows(nodes, defaults, "", rows);
  return rows;
}

}  // namespace mega::internal
