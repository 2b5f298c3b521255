#include "cli/help/man_page.h"

#include <cstdio>

#include "mega/base/strings.h"
#include "mega/base/utf8.h"
#include "mega/base/version.h"

namespace mega::cli {
namespace {

// What roff would not show as it is: it makes typographic quotes and dashes of these, which cannot be copied
// to a shell.
std::string_view roff_name(char32_t character) {
  switch (character) {
    case '\\':
      return "\\e";
    case '-':
      return "\\-";
    case '`':
      return "\\(ga";
    case '\'':
      return "\\(aq";
    case '^':
      return "\\(ha";
    case '~':
      return "\\(ti";
    default:
      return "";
  }
}

// Text as roff shows it: nothing in it is a request, and what is not ASCII does not depend on the encoding of
// the reader's system.
std::string roff(std::string_view text) {
  constexpr char32_t kAscii = 0x80;
  std::string escaped;
  while (!text.empty()) {
    const Character character = first_character(text);
    if (const std::string_view name = roff_name(character.point); !name.empty()) {
      escaped += name;
    } else if (character.point < kAscii) {
      escaped += static_cast<char>(character.point);
    } else {
      char code[16];
      std::snprintf(code, sizeof code, "\\[u%04X]", static_cast<unsigned>(character.point));
      escaped += code;
    }
    text.remove_prefix(character.length);
  }
  return (escaped.starts_with('.') ? "\\&" : "") + escaped;
}

std::string bold(const std::string& text) { return "\\fB" + roff(text) + "\\fR"; }
std::string italic(const std::string& text) { return "\\fI" + roff(text) + "\\fR"; }

std::string upper(std::string text) {
  for (char& c : text)
    if ('a' <= c && c <= 'z') c = static_cast<char>(c - 'a' + 'A');
  return text;
}

// "mega data make" -> "mega-data-make", the name of its page.
std::string dashed(std::string path) {
  for (char& c : path)
    if (c == ' ') c = '-';
  return path;
}

std::string title_of(const OptionInfo& option) {
  if (option.names.empty()) return italic(option_title(option));
  std::vector<std::string> names;
  for (const std::string& name : option.names) names.push_back(bold(name));
  const std::string value = option.value.empty()    ? ""
                            : option.value_optional ? " [" + italic(option.value) + "]"
                                                    : " " + italic(option.value);
  return join(names, ", ") + value;
}

std::string entry(const std::string& title, const std::string& text) {
  return ".TP\n" + title + "\n" + roff(text) + "\n";
}

// Arguments first.
std::string options_of(const CommandInfo& command) {
  std::string arguments, options;
  for (const OptionInfo& option : command.options)
    (option.names.empty() ? arguments : options) += entry(title_of(option), explanation(option));
  return arguments + options;
}

std::string synopsis_of(const CommandInfo& command) {
  return bold(command.path) + " " + roff(usage(command)) + "\n";
}

// Commands under this one, each with its options.
std::string sections_of(const CommandInfo& command) {
  std::string text;
  for (const CommandInfo& one : command.commands) {
    text +=
        ".SS " + roff(one.path) + "\n" + roff(one.summary) + ".\n.PP\n" + synopsis_of(one) + options_of(one);
    text += sections_of(one);
  }
  return text;
}

std::string list_of(const CommandInfo& command) {
  std::string text;
  for (const CommandInfo& one : command.commands) text += entry(bold(one.name), one.summary);
  return text;
}

std::string page(const CommandInfo& command, const std::string& commands, const std::string& also) {
  const std::string name = dashed(command.path);
  std::string text = ".TH " + upper(name) + " 1 \"\" \"mega " + version() + "\" \"User Commands\"\n";
  text += ".SH NAME\n" + roff(name) + " \\- " + roff(command.summary) + "\n";
  text += ".SH SYNOPSIS\n" + synopsis_of(command);
  if (!commands.empty()) text += ".SH COMMANDS\n" + commands;
  text += ".SH ARGUMENTS AND OPTIONS\n" + options_of(command);
  if (!command.footer.empty()) text += ".SH NOTES\n" + roff(command.footer) + "\n";
  text += ".SH EXIT STATUS\n" + entry("0", "done") + entry("1", "failed; standard error says why") +
          entry("2", "the command line is wrong") + entry("130", "interrupted (Ctrl-C)");
  return text + ".SH SEE ALSO\n" + also + "\n";
}

std::string reference(const std::string& name) { return bold(name) + "(1)"; }

}  // namespace

std::vector<ManPage> man_pages(const CommandInfo& program, bool of_commands) {
  std::vector<std::string> names;
  std::vector<ManPage> pages;
  for (const CommandInfo& command : program.commands) {
    if (!of_commands) continue;
    const std::string name = dashed(command.path);
    names.push_back(reference(name));
    pages.push_back({name + ".1", page(command, sections_of(command), reference(program.name))});
  }
  const std::string also = names.empty() ? reference("mega") : join(names, ",\n");
  pages.push_back(
      {program.name + ".1", page(program, of_commands ? list_of(program) : sections_of(program), also)});
  return pages;
}

}  // namespace mega::cli
