#include "cli/help/command_info.h"

#include <algorithm>
#include <set>

#include "mega/base/strings.h"

namespace mega::cli {
namespace {

std::string upper(std::string text) {
  for (char& c : text)
    if ('a' <= c && c <= 'z') c = static_cast<char>(c - 'a' + 'A');
  return text;
}

// The type of a value is written TEXT:{int8,bf16}: the type's own name and what the checks say of themselves.
std::string own_type(const std::string& type) { return type.substr(0, type.find(':')); }

std::vector<std::string> choices_in(const std::string& type) {
  const size_t begin = type.find(":{"), end = type.find('}', begin);
  if (begin == std::string::npos || end == std::string::npos) return {};
  return split(type.substr(begin + 2, end - begin - 2), ',');
}

// CLI11 names a type TEXT, INT, UINT or FLOAT; a declaration may name it otherwise, as FILE or N.
bool may_be_path(const std::string& type) {
  return type.empty() || type == "TEXT" || type == "FILE" || type == "DIR" || type == "PATH";
}

std::string name_of(const CLI::Option& option) {
  return option.get_lnames().empty() ? option.get_name() : option.get_lnames().front();
}

std::string value_of(const CLI::Option& option, const std::vector<std::string>& choices) {
  constexpr size_t kLongest = 24;
  const std::string all = join(choices, "|"), type = own_type(option.get_type_name());
  if (!choices.empty() && all.size() <= kLongest) return all;
  if (type == "INT" || type == "UINT") return "N";
  if (type == "FLOAT") return "X";
  return type == "TEXT" || type.empty() ? upper(name_of(option)) : type;
}

// In alphabetical order: CLI11 has them in the order of their addresses.
std::string names_of(const std::set<CLI::Option*>& options) {
  std::vector<std::string> names;
  for (const CLI::Option* option : options)
    names.push_back(option->nonpositional() ? "--" + name_of(*option) : upper(option->get_name()));
  std::sort(names.begin(), names.end());
  return join(names, ", ");
}

std::string help_of(const CLI::Option& option) {
  std::string help = option.get_description();
  if (!option.get_needs().empty()) help += "; needs " + names_of(option.get_needs());
  if (!option.get_excludes().empty()) help += "; not with " + names_of(option.get_excludes());
  return help;
}

const CLI::App& program_of(const CLI::App& app) {
  return app.get_parent() == nullptr ? app : program_of(*app.get_parent());
}

OptionInfo option_info(const CLI::App& command, const CLI::Option& option) {
  OptionInfo info;
  for (const std::string& name : option.get_snames()) info.names.push_back("-" + name);
  for (const std::string& name : option.get_lnames()) info.names.push_back("--" + name);
  if (option.get_positional()) info.argument = upper(option.get_name(/*positional=*/true));
  info.help = &option == command.get_help_ptr() ? "print this help" : help_of(option);
  info.required = option.get_required();
  if (option.get_items_expected_max() == 0) return info;  // a flag
  info.choices = choices_in(option.get_type_name());
  info.value = value_of(option, info.choices);
  info.default_value = option.get_default_str();
  info.repeated = option.get_expected_max() >= CLI::detail::expected_max_vector_size;
  info.value_optional = option.get_expected_min() == 0;
  if (own_type(option.get_type_name()) == "COMMAND") info.choices = command_names(program_of(command));
  info.kind = may_be_path(own_type(option.get_type_name())) ? ValueKind::path : ValueKind::other;
  if (takes_recipe(command, option.get_name())) info.kind = ValueKind::recipe;
  if (!info.choices.empty()) info.kind = ValueKind::choice;
  return info;
}

bool is_hidden(const CLI::App& app) { return app.get_group().empty() || app.get_name().empty(); }

}  // namespace

std::string command_path(const CLI::App& app) {
  return (app.get_parent() == nullptr ? "" : command_path(*app.get_parent()) + " ") + app.get_name();
}

std::vector<std::string> command_names(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::App* command : app.get_subcommands([](const CLI::App*) { return true; }))
    if (!is_hidden(*command)) names.push_back(command->get_name());
  return names;
}

bool takes_recipe(const CLI::App& command, const std::string& option) {
  // A model may be a folder of any name; only `mega inspect`, which can change options, takes a preset too.
  if (option == "model")
    return command.get_name() == "inspect" && command.get_option_no_throw("--set") != nullptr;
  return option == "recipe" || option == "--preset";
}

CommandInfo command_info(const CLI::App& app) {
  CommandInfo info;
  info.name = app.get_name();
  info.path = command_path(app);
  info.summary = app.get_description();
  info.footer = trim(app.get_footer());
  info.group = app.get_group();
  for (const CLI::Option* option : app.get_options([](const CLI::Option*) { return true; }))
    if (!option->get_group().empty()) info.options.push_back(option_info(app, *option));
  for (const CLI::App* command : app.get_subcommands([](const CLI::App*) { return true; }))
    if (!is_hidden(*command)) info.commands.push_back(command_info(*command));
  return info;
}

std::string usage(const CommandInfo& command) {
  std::string text = "[OPTIONS]";
  for (const OptionInfo& option : command.options) {
    if (option.argument.empty()) continue;
    const std::string name = option.argument + (option.repeated ? "..." : "");
    text += " " + (option.required ? name : "[" + name + "]");
  }
  if (!command.commands.empty()) text += " COMMAND";
  return text;
}

std::string option_title(const OptionInfo& option) {
  if (option.names.empty()) return option.argument + (option.repeated ? "..." : "");
  const std::string names = join(option.names, ", ");
  if (option.value.empty()) return names;
  return names + " " + (option.value_optional ? "[" + option.value + "]" : option.value);
}

std::string explanation(const OptionInfo& option) {
  if (option.default_value.empty()) return option.help;
  return option.help + " (default: " + option.default_value + ")";
}

}  // namespace mega::cli
