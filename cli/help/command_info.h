// What the declarations of a program's commands say, apart from the library that parses them: for help,
// manual pages and completion.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

namespace mega::cli {

// What can stand for a value, as far as completion can know.
enum class ValueKind {
  none,    // a flag
  choice,  // one of OptionInfo::choices
  recipe,  // a preset, or a file
  path,    // text, which may be a path
  other,   // a number, or text that is no path
};

// An option, or an argument by position.
struct OptionInfo {
  std::vector<std::string> names;    // {"-h", "--help"}; empty: by position only
  std::string argument;              // its name by position: "MODEL"; empty: has none
  std::string value;                 // stands for its value: "N", "int8|bf16"; empty for a flag
  std::string help;                  // with what it needs and excludes
  std::string default_value;         // "" where the help says it, or nothing can
  std::vector<std::string> choices;  // the allowed values, if they are counted
  ValueKind kind = ValueKind::none;
  bool required = false, repeated = false;
  bool value_optional = false;  // it may stand alone, although it takes a value
};

struct CommandInfo {
  std::string name;     // "make"
  std::string path;     // "mega data make"
  std::string summary;  // one line
  std::string footer;
  std::string group;
  std::vector<OptionInfo> options;  // in order of declaration
  std::vector<CommandInfo> commands;
};

// All that is not hidden.
CommandInfo command_info(const CLI::App& app);

// "mega data make": the names of the program and of the commands on the way.
std::string command_path(const CLI::App& app);

// The commands that this one has, without hidden ones.
std::vector<std::string> command_names(const CLI::App& app);

// Whether the argument or option may be a preset or a recipe of one's own.
bool takes_recipe(const CLI::App& command, const std::string& option);

// "[OPTIONS] MODEL [FILES...]": what follows the command.
std::string usage(const CommandInfo& command);

// "--type int8|bf16", "FILES...": names and value of an option; of one that is an argument too, the names.
std::string option_title(const OptionInfo& option);

// Its help, with the default.
std::string explanation(const OptionInfo& option);

}  // namespace mega::cli
