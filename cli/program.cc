#include "cli/program.h"

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <new>
#include <string>
#include <string_view>
#include <vector>

#include "cli/commands/train_command.h"
#include "cli/help/command_info.h"
#include "cli/help/help_text.h"
#include "cli/help/usage_error.h"
#include "cli/terminal/standard_streams.h"
#include "mega/base/error.h"
#include "mega/base/printable.h"
#include "mega/config/recipe/presets.h"

namespace mega::cli {
namespace {

std::vector<std::string> given_words(const CLI::App& command, const std::string& option) {
  const CLI::Option* found = command.get_option_no_throw(option);
  return found == nullptr ? std::vector<std::string>{} : found->results();
}

// A preset, or a recipe that is there. Not a word in capitals, which stands for the user's own, nor another
// path.
bool is_known_recipe(const std::string& word) {
  if (word.ends_with(".toml")) return std::filesystem::exists(word);
  return !word.empty() &&
         word.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789-") == std::string::npos;
}

// What a model of the command was trained by, where its path tells: runs/NAME is the run of a preset.
Recipe recipe_of_run(const CLI::App& command) {
  const std::vector<std::string> presets = preset_names();
  for (const std::string& word : given_words(command, "model"))
    for (const std::string& preset : presets)
      if (word == "runs/" + preset) return load_recipe(preset);
  return {};
}

// Recipes and --set, which the commands read only when they run.
void check_recipes(const CLI::App& command) {
  Recipe recipe = recipe_of_run(command);
  bool known = false;
  for (const char* option : {"recipe", "model", "--preset"}) {
    if (!takes_recipe(command, option)) continue;
    for (const std::string& word : given_words(command, option)) {
      if (!is_known_recipe(word)) continue;
      recipe = load_recipe(word);
      known = true;
    }
  }
  if (command.get_name() == "train")
    for (const Shorthand& shorthand : train_shorthands())
      for (const std::string& value : given_words(command, shorthand.flag))
        change(recipe, shorthand.key + ("=" + value));
  for (const std::string& assignment : given_words(command, "--set"))
    if (known || !assignment.starts_with("model.")) change(recipe, assignment);
  if (known) validate(recipe);
}

void require_nothing(CLI::App& app) {
  app.require_subcommand(0, 1);
  for (CLI::Option* option : app.get_options()) option->required(false);
  for (CLI::App* command : app.get_subcommands([](const CLI::App*) { return true; }))
    require_nothing(*command);
}

// MEGA_PARSE_ONLY=1 reads the command line in full, with the usual errors, and ends before the command runs;
// no file has to be there. MEGA_PARSE_ONLY=partly allows what is required to be missing: a text that says
// `mega predict --stream` means the option. scripts/check_docs.sh checks documentation with it.
void parse_only(CLI::App& app, std::string_view how_much) {
  if (how_much.empty()) return;
  require(how_much == "1" || how_much == "partly", "MEGA_PARSE_ONLY: expected 1 or partly, got ", how_much);
  if (how_much == "partly") require_nothing(app);
  // Of the program itself, this is called after everything is read and before the commands' own callbacks.
  app.parse_complete_callback([&app] {
    check_recipes(given_command(app));
    throw CLI::Success();
  });
}

// Messages quote names of files, classes and options: they must not speak to the terminal.
int failed(const CLI::App& app, const std::string& message) {
  std::fprintf(stderr, "%s: %s\n", app.get_name().c_str(), printable(message).c_str());
  return kFailed;
}

int checked_output(const CLI::App& app) {
  const std::string trouble = output_trouble();
  return trouble.empty() ? kDone : failed(app, trouble);
}

}  // namespace

int run_program(CLI::App& app, int argc, char** argv) {
  hold_standard_streams();
  std::signal(SIGXFSZ, SIG_IGN);  // writing too large a file (ulimit -f) fails then, with a message
  app.require_subcommand(1);
  use_help_text(app);
  try {
    if (argc <= 1) {
      std::fputs(app.help().c_str(), stdout);
    } else {
      const char* how_much = std::getenv("MEGA_PARSE_ONLY");
      parse_only(app, how_much == nullptr ? "" : how_much);
      app.parse(argc, argv);
    }
  } catch (const CLI::CallForHelp&) {
    std::fputs(app.help().c_str(), stdout);
  } catch (const CLI::CallForVersion& version) {
    std::printf("%s\n", version.what());
  } catch (const CLI::Success&) {
  } catch (const CLI::RuntimeError& error) {  // a command that has said what there is to say
    return error.get_exit_code();
  } catch (const CLI::ParseError& error) {
    std::fputs(usage_error_text(app, error).c_str(), stderr);
    return kWrongUsage;
  } catch (const Error& error) {
    return failed(app, error.what());
  } catch (const std::filesystem::filesystem_error& error) {
    return failed(app, error.path1().string() + ": " + error.code().message());
  } catch (const std::bad_alloc&) {
    return failed(app, "out of memory; use a smaller model, batch or input, or a machine with more");
  } catch (const std::exception& error) {
    return failed(app, std::string("unexpected error: ") + error.what());
  }
  return checked_output(app);
}

}  // namespace mega::cli
