#include "cli/launch/hosts.h"

#include <charconv>
#include <sstream>

#include "mega/base/error.h"
#include "mega/base/strings.h"

namespace mega::cli {

std::vector<LaunchHost> parse_hosts(const std::string& text, const std::string& where) {
  constexpr std::string_view kSlots = "slots=";
  constexpr int kMost = 4096;
  std::vector<LaunchHost> hosts;
  int number = 0;
  for (const std::string& line : split(text, '\n')) {
    ++number;
    std::istringstream words(line.substr(0, line.find('#')));
    LaunchHost host;
    if (!(words >> host.name)) continue;
    // It becomes an argument of ssh.
    require(host.name.front() != '-', where, ":", number, ": expected the name of a host, got ",
            in_quotes(host.name));
    for (std::string word; words >> word;) {
      const char* end = word.data() + word.size();
      const bool known = word.starts_with(kSlots);
      const auto [stop, error] = known ? std::from_chars(word.data() + kSlots.size(), end, host.processes)
                                       : std::from_chars_result{end, {}};
      require(known && error == std::errc() && stop == end && host.processes > 0 && host.processes <= kMost,
              where, ":", number, ": expected NAME or NAME slots=N, got ", in_quotes(line));
    }
    hosts.push_back(host);
  }
  require(!hosts.empty(), where, ": names no host");
  return hosts;
}

std::vector<std::string> place_processes(const std::vector<LaunchHost>& hosts, int n) {
  std::vector<std::string> places;
  for (const LaunchHost& host : hosts)
    for (int i = 0; i < host.processes && static_cast<int>(places.size()) < n; ++i)
      places.push_back(host.name);
  require(static_cast<int>(places.size()) == n, "-n ", n, ": the hosts have room for ", places.size(),
          " processes; name more, or give them slots=N");
  return places;
}

}  // namespace mega::cli
