#include "cli/help/help_text.h"

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "mega/base/strings.h"
#include "mega/report/terminal.h"

namespace mega::cli {
namespace {

// A title on the left, its text on the right.
struct Entry {
  std::string title, text;
};

constexpr int64_t kIndent = 2, kGap = 2;

std::string spaces(int64_t count) {
  return std::string(static_cast<size_t>(std::max<int64_t>(count, 0)), ' ');
}

std::string paragraph(const std::string& text, int64_t width) { return join(wrap(text, width), "\n") + "\n"; }

// Entries share a column as wide as most of their titles need; a longer title has a line of its own.
std::string section(const std::string& title, const std::vector<Entry>& entries, int64_t width) {
  constexpr int64_t kWidest = 24;
  if (entries.empty()) return "";
  int64_t column = 0;
  for (const Entry& entry : entries)
    if (const int64_t wide = display_width(entry.title); wide <= kWidest) column = std::max(column, wide);
  const int64_t left = kIndent + column + kGap;
  std::string text = "\n" + title + ":\n";
  for (const Entry& entry : entries) {
    const std::vector<std::string> lines = wrap(entry.text, width - left);
    const bool own_line = display_width(entry.title) > column;
    text += spaces(kIndent) + entry.title;
    if (own_line) text += "\n";
    for (size_t i = 0; i < lines.size() && !entry.text.empty(); ++i) {
      const bool beside = i == 0 && !own_line;
      text += spaces(beside ? left - kIndent - display_width(entry.title) : left) + lines[i];
      if (i + 1 < lines.size()) text += "\n";
    }
    text += "\n";
  }
  return text;
}

// A section per group, in the order in which groups come up.
std::string command_sections(const CommandInfo& command, int64_t width) {
  std::vector<std::pair<std::string, std::vector<Entry>>> groups;
  for (const CommandInfo& one : command.commands) {
    const auto same = [&](const auto& group) { return group.first == one.group; };
    auto found = std::find_if(groups.begin(), groups.end(), same);
    if (found == groups.end()) found = groups.insert(groups.end(), {one.group, {}});
    found->second.push_back({one.name, one.summary});
  }
  std::string text;
  for (const auto& [group, entries] : groups)
    text += section(group == "Subcommands" ? "Commands" : group, entries, width);
  return text;
}

class HelpFormatter : public CLI::FormatterBase {
 public:
  std::string make_help(const CLI::App* app, std::string, CLI::AppFormatMode) const override {
    return help_text(command_info(*app), terminal_width(stdout));
  }
};

void use(CLI::App& app, const std::shared_ptr<HelpFormatter>& formatter) {
  app.formatter(formatter);
  for (CLI::App* command : app.get_subcommands([](const CLI::App*) { return true; }))
    use(*command, formatter);
}

}  // namespace

std::string help_text(const CommandInfo& command, int64_t width) {
  std::vector<Entry> arguments, options;
  for (const OptionInfo& option : command.options) {
    if (option.names.empty())
      arguments.push_back({option_title(option), explanation(option)});
    else
      options.push_back({option_title(option), explanation(option)});
  }
  std::string text = paragraph("Usage: " + command.path + " " + usage(command), width);
  text += "\n" + paragraph(command.summary, width);
  text += command_sections(command, width);
  text += section("Arguments", arguments, width);
  text += section("Options", options, width);
  if (!command.footer.empty()) text += "\n" + paragraph(command.footer, width);
  return text;
}

void use_help_text(CLI::App& app) { use(app, std::make_shared<HelpFormatter>()); }

}  // namespace mega::cli
