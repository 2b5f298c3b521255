#include "cli/help/completion.h"

#include <functional>
#include <vector>

#include "mega/base/strings.h"
#include "mega/config/recipe/presets.h"

namespace mega::cli {
namespace {

// Calls use(command) for the program and every command under it.
void for_each_command(const CommandInfo& command, const std::function<void(const CommandInfo&)>& use) {
  use(command);
  for (const CommandInfo& one : command.commands) for_each_command(one, use);
}

// For the name of a shell function: "mega-run data" -> "mega_run_data".
std::string as_identifier(std::string path) {
  for (char& c : path)
    if (c == ' ' || c == '-') c = '_';
  return path;
}

std::string replaced(std::string text, const std::string& what, const std::string& by) {
  for (size_t at = 0; (at = text.find(what, at)) != std::string::npos; at += by.size())
    text.replace(at, what.size(), by);
  return text;
}

// In single quotes, for any of the shells.
std::string quoted(const std::string& text) { return "'" + replaced(text, "'", "'\\''") + "'"; }

// The first part of the help: there is one line for it.
std::string short_help(const OptionInfo& option) { return option.help.substr(0, option.help.find(';')); }

std::vector<std::string> values_of(const OptionInfo& option) {
  return option.kind == ValueKind::recipe ? preset_names() : option.choices;
}

bool takes_files(const OptionInfo& option) {
  return option.kind == ValueKind::path || option.kind == ValueKind::recipe;
}

// The argument that comes first decides what is offered for all: presets in one place and files in another is
// more than a shell can be told simply.
const OptionInfo* first_argument(const CommandInfo& command) {
  for (const OptionInfo& option : command.options)
    if (!option.argument.empty()) return &option;
  return nullptr;
}

// --- bash: one function that finds the command among the words, then looks at the word before the cursor.

std::string bash_reply(const std::vector<std::string>& words, bool files) {
  std::string text;
  if (!words.empty()) text += " _mega_words " + quoted(join(words, " ")) + ";";
  if (files) text += " _mega_files;";
  return text;
}

std::string bash_values(const CommandInfo& command) {
  std::string text;
  for (const OptionInfo& option : command.options) {
    if (option.names.empty() || option.value.empty()) continue;
    std::vector<std::string> patterns;
    for (const std::string& name : option.names) patterns.push_back(quoted(command.path + " " + name));
    text += "    " + join(patterns, " | ") + ")" + bash_reply(values_of(option), takes_files(option)) +
            " return ;;\n";
  }
  return text;
}

std::string bash_words(const CommandInfo& command) {
  std::vector<std::string> options, words;
  for (const OptionInfo& option : command.options)
    options.insert(options.end(), option.names.begin(), option.names.end());
  for (const CommandInfo& one : command.commands) words.push_back(one.name);
  const OptionInfo* argument = first_argument(command);
  if (argument != nullptr) words = values_of(*argument);
  const std::string reply = bash_reply(words, argument != nullptr && takes_files(*argument));
  return "    " + quoted(command.path) + ")\n      if [[ $cur == -* ]]; then" + bash_reply(options, false) +
         " else" + (reply.empty() ? " :;" : reply) + " fi ;;\n";
}

// --- zsh: a function for each command.

// Within the brackets and fields of a specification of _arguments.
std::string zsh_escaped(std::string text) {
  for (const char* special : {"\\", "[", "]", ":"})
    text = replaced(text, special, "\\" + std::string(special));
  return text;
}

std::string zsh_action(const OptionInfo& option) {
  const std::string words = join(values_of(option), " ");
  if (option.kind == ValueKind::recipe) return "{ compadd -- " + words + "; _files }";
  if (option.kind == ValueKind::choice) return "(" + words + ")";
  return option.kind == ValueKind::path ? "_files" : " ";
}

std::string zsh_options(const CommandInfo& command) {
  std::string text;
  for (const OptionInfo& option : command.options) {
    const std::string value = option.value.empty() ? ""
                                                   : (option.value_optional ? "::" : ":") +
                                                         zsh_escaped(option.value) + ":" + zsh_action(option);
    for (const std::string& name : option.names)
      text += " \\\n    " + quoted((option.repeated ? "*" : "") + name + "[" +
                                   zsh_escaped(short_help(option)) + "]" + value);
    if (!option.argument.empty() && option.names.empty())
      text += " \\\n    " + quoted((option.repeated   ? "*:"
                                    : option.required ? ":"
                                                      : "::") +
                                   zsh_escaped(option.argument) + ":" + zsh_action(option));
  }
  return text;
}

std::string zsh_function(const CommandInfo& command) {
  const std::string name = "_" + as_identifier(command.path);
  if (command.commands.empty()) return name + "() {\n  _arguments -s" + zsh_options(command) + "\n}\n\n";
  std::string described, called;
  for (const CommandInfo& one : command.commands) {
    described += "        " + quoted(one.name + ":" + zsh_escaped(one.summary)) + "\n";
    called += "        " + one.name + ") _" + as_identifier(one.path) + " ;;\n";
  }
  return name + "() {\n  local line state\n  _arguments -C" + zsh_options(command) +
         " \\\n    '1:command:->command' '*::argument:->argument'\n  case $state in\n    command)\n      "
         "local -a "
         "commands=(\n" +
         described + "      )\n      _describe command commands ;;\n    argument)\n      case $line[1] in\n" +
         called + "      esac ;;\n  esac\n}\n\n";
}

// --- fish: conditions on the command that the words before the cursor name.

std::string fish_option(const std::string& beginning, const OptionInfo& option) {
  std::string text = beginning;
  for (const std::string& name : option.names)
    text += name.starts_with("--") ? " -l " + name.substr(2) : " -s " + name.substr(1);
  if (!option.value.empty() && !option.value_optional) text += takes_files(option) ? " -r -F" : " -x";
  if (const auto values = values_of(option); !values.empty()) text += " -a " + quoted(join(values, " "));
  return text + " -d " + quoted(short_help(option)) + "\n";
}

std::string fish_command(const std::string& program, const CommandInfo& command) {
  const std::string beginning =
      "complete -c " + program + " -n " + quoted("__" + as_identifier(program) + "_at " + command.path);
  std::string text;
  for (const CommandInfo& one : command.commands)
    text += beginning + " -a " + one.name + " -d " + quoted(one.summary) + "\n";
  for (const OptionInfo& option : command.options)
    if (!option.names.empty()) text += fish_option(beginning, option);
  if (const OptionInfo* argument = first_argument(command)) {
    if (takes_files(*argument)) text += beginning + " -F\n";
    if (const auto values = values_of(*argument); !values.empty())
      text += beginning + " -a " + quoted(join(values, " ")) + "\n";
  }
  return text;
}

std::vector<std::string> command_paths(const CommandInfo& program) {
  std::vector<std::string> paths;
  for_each_command(program, [&](const CommandInfo& command) { paths.push_back(quoted(command.path)); });
  return paths;
}

}  // namespace

std::string bash_completion(const CommandInfo& program) {
  std::string values, words;
  for_each_command(program, [&](const CommandInfo& command) {
    values += bash_values(command);
    words += bash_words(command);
  });
  const std::string function = "_" + as_identifier(program.name);
  return "# bash completion for " + program.name + R"(
_mega_words() {
  mapfile -t -O ${#COMPREPLY[@]} COMPREPLY < <(compgen -W "$1" -- "$cur")
}
_mega_files() {
  compopt -o filenames 2>/dev/null
  mapfile -t -O ${#COMPREPLY[@]} COMPREPLY < <(compgen -f -- "$cur")
}
)" + function +
         R"(() {
  local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD - 1]} i
  local command=)" +
         program.name + R"(
  COMPREPLY=()
  if [[ $prev == = ]]; then prev=${COMP_WORDS[COMP_CWORD - 2]}; fi
  if [[ $cur == = ]]; then cur=; fi
  for ((i = 1; i < COMP_CWORD; ++i)); do
    case "$command ${COMP_WORDS[i]}" in
      )" +
         join(command_paths(program), " | ") +
         R"() command+=" ${COMP_WORDS[i]}" ;;
    esac
  done
  case "$command $prev" in
)" + values +
         R"(  esac
  case $command in
)" + words +
         R"(  esac
}
complete -F )" +
         function + " " + program.name + "\n";
}

std::string zsh_completion(const CommandInfo& program) {
  std::string text = "#compdef " + program.name + "\n\n";
  for_each_command(program, [&](const CommandInfo& command) { text += zsh_function(command); });
  const std::string function = "_" + as_identifier(program.name);
  // Found in a folder of completions, the file is the function's body; sourced, it says whose completion it
  // is.
  return text + "if [[ $zsh_eval_context[-1] == loadautofunc ]]; then\n  " + function +
         " \"$@\"\nelse\n  compdef " + function + " " + program.name + "\nfi\n";
}

std::string fish_completion(const CommandInfo& program) {
  std::string text =
      "# fish completion for " + program.name + "\nfunction __" + as_identifier(program.name) +
      "_at\n    set -l command " + program.name +
      "\n    for word in (commandline -opc)[2..-1]\n        if contains -- \"$command $word\" " +
      join(command_paths(program), " ") +
      "\n            set command \"$command $word\"\n        end\n    end\n    test \"$command\" = "
      "\"$argv\"\nend\ncomplete -c " +
      program.name + " -f\n";
  for_each_command(program, [&](const CommandInfo& command) { text += fish_command(program.name, command); });
  return text;
}

}  // namespace mega::cli
