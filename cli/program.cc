#include "cli/program.h"

#include <cstdio>
#include <exception>

#include "mega/base/error.h"

namespace mega::cli {

int run_program(CLI::App& app, int argc, char** argv) {
  app.require_subcommand(1);
  app.get_formatter()->column_width(38);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error);
  } catch (const Error& error) {
    std::fprintf(stderr, "%s: %s\n", app.get_name().c_str(), error.what());
    return 1;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s: unexpected error: %s\n", app.get_name().c_str(), error.what());
    return 1;
  }
  return 0;
}

}  // namespace mega::cli
