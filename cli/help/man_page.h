// Manual pages, made from the declarations of the commands.
#pragma once

#include <string>
#include <vector>

#include "cli/help/command_info.h"

namespace mega::cli {

struct ManPage {
  std::string file;  // "mega-train.1"
  std::string text;  // for man(7)
};

// A page of the program, and one of each of its commands if `of_commands`; else its page has them all.
// Commands of a command are on its page.
std::vector<ManPage> man_pages(const CommandInfo& program, bool of_commands);

}  // namespace mega::cli
