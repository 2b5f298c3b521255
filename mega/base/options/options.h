// Options, declared once.
//
// A struct of options has defaults and a `visit` that names each field, its help line and its range:
//
//   struct EmaOptions {
//     int64_t dimension = 16;
//     template <class Self, class Visitor>
//     static void visit(Self& self, Visitor& v) {
//       v.field("dimension", self.dimension, "moving averages per channel", Range{0, 1024});
//     }
//   };
//
// Everything else follows from that declaration: `--set`, the table of `--help` and range checks here;
// JSON and TOML, with messages that point at the line, in options_io.h. All of it works on OptionNode, a
// view of one option without its C++ type, so that the code exists once and not once per struct.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "mega/base/error.h"
#include "mega/base/strings.h"

namespace mega {

// Allowed values of a number, both ends included.
struct Range {
  double low;
  double high;
};

// Names of an enum's values: specialise with a `names` made by enum_table.
template <class E>
struct EnumNames;

template <class E>
struct EnumName {
  E value;
  std::string_view name;
};

template <class E, size_t N>
constexpr std::array<EnumName<E>, N> enum_table(const EnumName<E> (&rows)[N]) {
  return std::to_array(rows);
}

template <class E>
concept NamedEnum = std::is_enum_v<E> && requires {
  EnumNames<E>::names;
};

template <NamedEnum E>
constexpr std::string_view to_string(E value) {
  for (const auto& row : EnumNames<E>::names)
    if (row.value == value) return row.name;
  return "?";
}

template <NamedEnum E>
std::vector<std::string> enum_names() {
  std::vector<std::string> names;
  for (const auto& row : EnumNames<E>::names) names.emplace_back(row.name);
  return names;
}

template <NamedEnum E>
E parse_enum(std::string_view text) {
  for (const auto& row : EnumNames<E>::names)
    if (row.name == text) return row.value;
  fail("expected one of ", join(enum_names<E>(), ", "), ", got ", in_quotes(text));
}

struct OptionNode;

// A value chosen from names: an enum.
struct ChoiceRef {
  std::vector<std::string> names;
  std::function<std::string()> get;
  std::function<void(const std::string&)> set;  // takes one of `names`
};

struct GroupRef {
  std::function<std::vector<OptionNode>()> fields;
};

// A choice of structs: choosing another kind resets the fields to that struct's defaults. The fields are on
// the same level as the option that names the kind.
struct VariantRef {
  ChoiceRef kind;
  std::function<std::vector<OptionNode>()> fields;
};

struct ListRef {
  std::function<size_t()> size;
  std::function<void(size_t)> resize;
  std::function<OptionNode(size_t)> element;
};

using OptionValue =
    std::variant<bool*, int64_t*, double*, std::string*, ChoiceRef, GroupRef, VariantRef, ListRef>;

// One option: its declaration, and where its value lives. Points into the struct it was made from.
struct OptionNode {
  std::string name;
  std::string help;
  std::optional<Range> range;
  OptionValue value;
  std::vector<std::string> old_names;  // still accepted
};

template <class T>
std::vector<OptionNode> option_nodes(T& options);

// The visitor that turns a struct's `visit` into nodes.
class OptionCollector {
 public:
  template <class T>
  void field(const char* name, T& value, const char* help, std::optional<Range> range = std::nullopt) {
    nodes_.push_back({name, help, range, reference(value, range), {}});
  }

  // The previous field had this name in an earlier version; files that use it still load.
  void renamed_from(const char* old_name) { nodes_.back().old_names.emplace_back(old_name); }

  template <class T>
  void nested(const char* name, T& group, const char* help) {
    nodes_.push_back({name, help, std::nullopt, group_of(group), {}});
  }

  template <class T>
  void list(const char* name, std::vector<T>& groups, const char* help) {
    nodes_.push_back({name,
                      help,
                      std::nullopt,
                      list_of(groups,
                              [](T& group) {
                                return OptionNode{"", "", std::nullopt, group_of(group), {}};
                              }),
                      {}});
  }

  template <class... T>
  void variant(const char* name, std::variant<T...>& choice, const char* help) {
    VariantRef ref;
    ref.kind.names = {T::kind...};
    ref.kind.get = [&choice] {
      return std::visit([](const auto& value) { return std::string(value.kind); }, choice);
    };
    ref.kind.set = [&choice](const std::string& kind) { (choose<T>(kind, choice), ...); };
    ref.fields = [&choice] { return std::visit([](auto& value) { return option_nodes(value); }, choice); };
    nodes_.push_back({name, help, std::nullopt, std::move(ref), {}});
  }

  std::vector<OptionNode> take() { return std::move(nodes_); }

 private:
  template <class T, class Variant>
  static void choose(const std::string& kind, Variant& choice) {
    if (kind == T::kind) choice = T{};
  }

  static OptionValue reference(bool& value, std::optional<Range>) { return &value; }
  static OptionValue reference(int64_t& value, std::optional<Range>) { return &value; }
  static OptionValue reference(double& value, std::optional<Range>) { return &value; }
  static OptionValue reference(std::string& value, std::optional<Range>) { return &value; }

  template <NamedEnum E>
  static OptionValue reference(E& value, std::optional<Range>) {
    return ChoiceRef{enum_names<E>(), [&value] { return std::string(to_string(value)); },
                     [&value](const std::string& name) { value = parse_enum<E>(name); }};
  }

  template <class T>
  static OptionValue reference(std::vector<T>& values, std::optional<Range> range) {
    static_assert(!std::is_same_v<T, bool>, "std::vector<bool> has no addressable elements");
    return list_of(values, [range](T& value) {
      return OptionNode{"", "", range, reference(value, range), {}};
    });
  }

  template <class T>
  static GroupRef group_of(T& group) {
    return {[&group] { return option_nodes(group); }};
  }

  template <class T, class MakeNode>
  static ListRef list_of(std::vector<T>& values, MakeNode make_node) {
    return {[&values] { return values.size(); }, [&values](size_t size) { values.resize(size); },
            [&values, make_node](size_t i) { return make_node(values[i]); }};
  }

  std::vector<OptionNode> nodes_;
};

template <class T>
std::vector<OptionNode> option_nodes(T& options) {
  OptionCollector collector;
  T::visit(options, collector);
  return collector.take();
}

// One row of a table of options: the full dotted key, and everything else as text.
struct OptionRow {
  std::string key;
  std::string type;  // "whole number, 0 to 1024"
  std::string default_value;
  std::string value;
  std::string help;
};

namespace internal {
void set_option(const std::vector<OptionNode>& nodes, std::string_view assignment);
void check_ranges(const std::vector<OptionNode>& nodes, const std::string& where);
std::vector<OptionRow> option_rows(const std::vector<OptionNode>& nodes,
                                   const std::vector<OptionNode>& defaults);
}  // namespace internal

// Applies "model.block.width=256". The text is parsed according to the option's type; a list is written
// "1,2,3"; setting the option that names a kind switches to that kind's defaults. On error the options are
// unchanged.
template <class T>
void set_option(T& options, std::string_view assignment) {
  T changed = options;
  internal::set_option(option_nodes(changed), assignment);
  options = std::move(changed);
}

// Throws if a number is not finite or out of range: for options set in code.
template <class T>
void check_ranges(const T& options, const std::string& where = "") {
  T copy = options;
  internal::check_ranges(option_nodes(copy), where);
}

// Every option with its default and current value. If the kind of a variant is not the default, the defaults
// of its fields are those of the current kind.
template <class T>
std::vector<OptionRow> option_rows(const T& options) {
  T copy = options;
  T defaults{};
  return internal::option_rows(option_nodes(copy), option_nodes(defaults));
}

}  // namespace mega
