// The commands about commands: `help`, and, hidden, those that write completion scripts and manual pages when
// the programs are built.
#include <cstdio>
#include <filesystem>
#include <memory>
#include <vector>

#include "cli/commands.h"
#include "cli/help/command_info.h"
#include "cli/help/completion.h"
#include "cli/help/man_page.h"
#include "cli/help/usage_error.h"
#include "mega/base/files/file.h"

namespace mega::cli {
namespace {

const CLI::App* find_command(const CLI::App& app, const std::string& name) {
  for (const CLI::App* command : app.get_subcommands([](const CLI::App*) { return true; }))
    if (command->get_name() == name) return command;
  return nullptr;
}

void print_help(const CLI::App& app, const std::vector<std::string>& words) {
  const CLI::App* command = &app;
  for (const std::string& word : words) {
    const CLI::App* next = find_command(*command, word);
    if (next == nullptr)
      throw CLI::ParseError(unknown_command_text(*command, word), CLI::ExitCodes::InvalidError);
    command = next;
  }
  // The program's own help() is that of the command given on the command line, which is `help`.
  std::fputs(command->get_formatter()->make_help(command, "", CLI::AppFormatMode::Normal).c_str(), stdout);
}

void add_help_command(CLI::App& app) {
  auto words = std::make_shared<std::vector<std::string>>();
  CLI::App* sub = app.add_subcommand("help", "explain a command");
  sub->add_option("command", *words, "the command, e.g. train or data check")->type_name("COMMAND");
  sub->callback([&app, words] { print_help(app, *words); });
}

void add_completion(CLI::App& app) {
  auto shell = std::make_shared<std::string>();
  CLI::App* sub = app.add_subcommand("completion", "print a completion script for a shell")->group("");
  sub->add_option("shell", *shell)->required()->check(CLI::IsMember({"bash", "zsh", "fish"}));
  sub->callback([&app, shell] {
    const CommandInfo program = command_info(app);
    const std::string script = *shell == "bash"  ? bash_completion(program)
                               : *shell == "zsh" ? zsh_completion(program)
                                                 : fish_completion(program);
    std::fputs(script.c_str(), stdout);
  });
}

void add_man(CLI::App& app, bool page_per_command) {
  auto folder = std::make_shared<std::string>();
  CLI::App* sub = app.add_subcommand("man", "write the manual pages to a folder")->group("");
  sub->add_option("folder", *folder)->required();
  sub->callback([&app, folder, page_per_command] {
    std::filesystem::create_directories(*folder);
    for (const ManPage& page : man_pages(command_info(app), page_per_command))
      write_file(std::filesystem::path(*folder) / page.file, page.text);
  });
}

}  // namespace

void add_help(CLI::App& app, bool page_per_command) {
  add_help_command(app);
  add_completion(app);
  add_man(app, page_per_command);
}

}  // namespace mega::cli
