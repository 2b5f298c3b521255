#include "cli/commands/dialogue_commands.h"

#include <array>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "cli/commands/dialogue.h"
#include "mega/base/error.h"
#include "mega/base/printable.h"
#include "mega/base/strings.h"

namespace mega::cli {
namespace {

struct Command {
  const char* name;
  const char* argument;  // "" if it has none
  const char* help;
  bool (*run)(Dialogue& dialogue, const std::string& argument);  // false: ends the dialogue
};

bool run_help(Dialogue&, const std::string&);

bool run_reset(Dialogue& dialogue, const std::string&) {
  dialogue.reset();
  std::fputs("the text so far is forgotten\n", stderr);
  return true;
}

bool run_save(Dialogue& dialogue, const std::string& file) {
  dialogue.save(file);
  std::fprintf(stderr, "saved to %s\n", printable(file).c_str());
  return true;
}

bool run_load(Dialogue& dialogue, const std::string& file) {
  dialogue.load(file);
  std::fprintf(stderr, "going on from %s\n", printable(file).c_str());
  return true;
}

bool run_quit(Dialogue&, const std::string&) { return false; }

constexpr std::array<Command, 5> kCommands = {{
    {"/reset", "", "forget the text so far", run_reset},
    {"/save", "FILE", "save the model's state, for /load and --load-state", run_save},
    {"/load", "FILE", "go on from a saved state", run_load},
    {"/help", "", "this list", run_help},
    {"/quit", "", "end, as Ctrl-D does", run_quit},
}};

bool run_help(Dialogue&, const std::string&) {
  const auto print = [](const std::string& what, const char* help) {
    std::fprintf(stderr, "  %-12s %s\n", what.c_str(), help);
  };
  for (const Command& command : kCommands)
    print(std::string(command.name) + (*command.argument != '\0' ? " " : "") + command.argument,
          command.help);
  print("//TEXT", "a text that begins with a slash");
  print("empty line", "the model writes on");
  print("Ctrl-C", "stops an answer, or discards what was typed");
  return true;
}

const Command& find_command(const std::string& name) {
  std::vector<std::string> known;
  for (const Command& command : kCommands) {
    if (name == command.name) return command;
    known.push_back(command.name);
  }
  const std::string meant = nearest(name, known);
  fail("unknown command ", printable(name), meant.empty() ? "" : ": did you mean " + meant + "?",
       "\n/help lists the commands; begin a text with // if it begins with a slash");
}

// Users expect what their shell does.
std::string with_home(const std::string& file) {
  const char* home = std::getenv("HOME");
  return file.starts_with("~/") && home != nullptr ? home + file.substr(1) : file;
}

}  // namespace

bool is_command(std::string_view line) { return line.starts_with('/') && !line.starts_with("//"); }

std::string without_escape(std::string_view line) {
  return std::string(line.starts_with("//") ? line.substr(1) : line);
}

bool run_command(Dialogue& dialogue, std::string_view line) {
  const size_t end = std::min(line.find(' '), line.size());
  const std::string name(trim(line.substr(0, end))), argument(trim(line.substr(end)));
  const Command& command = find_command(name);
  const bool takes_argument = *command.argument != '\0';
  require(takes_argument || argument.empty(), command.name, " takes no argument");
  require(!takes_argument || !argument.empty(), command.name, ": expected ", command.name, " ",
          command.argument);
  return command.run(dialogue, with_home(argument));
}

}  // namespace mega::cli
