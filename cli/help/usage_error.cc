#include "cli/help/usage_error.h"

#include <algorithm>
#include <vector>

#include "cli/help/command_info.h"
#include "mega/base/printable.h"
#include "mega/base/strings.h"

namespace mega::cli {
namespace {

std::string did_you_mean(const std::string& word, const std::vector<std::string>& known) {
  const std::string guess = nearest(word, known);
  return guess.empty() ? "" : "; did you mean " + guess + "?";
}

std::vector<std::string> option_names(const CLI::App& command) {
  std::vector<std::string> names;
  for (const OptionInfo& option : command_info(command).options)
    for (const std::string& name : option.names) names.push_back(name);
  return names;
}

std::string unknown_option_text(const CLI::App& command, const std::string& word) {
  const std::string name = word.substr(0, word.find('='));
  return "unknown option " + in_quotes(name) + did_you_mean(name, option_names(command));
}

bool is_option(const std::string& word) { return word.size() > 1 && word[0] == '-'; }

// CLI11 writes out the largest double where any positive number is accepted, 1.79769e+308 or, before 2.4, its
// 309 digits.
std::string without_largest_double(const std::string& text) {
  const std::string value = "Value ";
  const size_t begin = text.find(value), end = text.find(" not in range ", std::min(begin, text.size()));
  if (end == std::string::npos) return text;
  const std::string range = text.substr(end);
  if (range.find("17976931") == std::string::npos && range.find("1.79769e+308") == std::string::npos)
    return text;
  const size_t number = begin + value.size();
  return text.substr(0, begin) + "expected a positive number, got " + text.substr(number, end - number);
}

// Words that nothing in the declaration takes; "" if there are none.
std::string unexpected_text(const CLI::App& command) {
  std::vector<std::string> words = command.remaining();
  std::erase(words, "--");  // which only ends the options
  if (words.empty()) return "";
  if (!command_names(command).empty() && !is_option(words.front()))
    return unknown_command_text(command, words.front());
  // An unknown option before others, since what follows it may have been its value.
  const auto option = std::find_if(words.begin(), words.end(), is_option);
  if (option != words.end()) return unknown_option_text(command, *option);
  return "unexpected argument " + in_quotes(words.front());
}

}  // namespace

const CLI::App& given_command(const CLI::App& app) {
  const CLI::App* command = &app;
  while (!command->get_subcommands().empty()) command = command->get_subcommands().back();
  return *command;
}

std::string unknown_command_text(const CLI::App& app, const std::string& word) {
  return "unknown command " + in_quotes(word) + did_you_mean(word, command_names(app));
}

std::string usage_error_text(const CLI::App& app, const CLI::Error& error) {
  const CLI::App& command = given_command(app);
  std::string text = unexpected_text(command);
  const std::vector<std::string> names = command_names(command);
  if (text.empty() && !names.empty() && error.get_name() == "RequiredError")
    text = "a command is missing: " + join(names, ", ");
  if (text.empty()) text = printable(without_largest_double(error.what()));
  const std::string path = command_path(command);
  return path + ": " + text + "\n`" + path + " --help` explains it\n";
}

}  // namespace mega::cli
