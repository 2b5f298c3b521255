#include "cli/commands/inspect_report.h"

#include <algorithm>
#include <cstdio>
#include <map>
#include <vector>

#include "mega/base/options/options_io.h"
#include "mega/base/printable.h"
#include "mega/base/strings.h"
#include "mega/config/files/decay_spectrum.h"
#include "mega/report/table.h"

namespace mega::cli {
namespace {

std::string share_of(int64_t part, int64_t total) {
  char text[16];
  std::snprintf(text, sizeof text, "%.1f %%", 100.0 * static_cast<double>(part) / static_cast<double>(total));
  return text;
}

// "I8 36.1 MiB, F32 80.0 KiB".
std::string stored_as(const std::map<DType, int64_t>& types) {
  std::vector<std::string> parts;
  for (const auto& [type, bytes] : types)
    parts.push_back(std::string(to_string(type)) + " " + human_bytes(static_cast<uint64_t>(bytes)));
  return join(parts, ", ");
}

struct Quantiles {
  double tenth = 0.0, half = 0.0, nine_tenths = 0.0, longest = 0.0;

  explicit Quantiles(std::vector<double> values) {
    std::sort(values.begin(), values.end());
    const auto at = [&](double share) {
      return values[static_cast<size_t>(share * static_cast<double>(values.size() - 1))];
    };
    tenth = at(0.1);
    half = at(0.5);
    nine_tenths = at(0.9);
    longest = values.back();
  }
};

std::string one_digit(double x) {
  char text[32];
  std::snprintf(text, sizeof text, "%.1f", x);
  return text;
}

}  // namespace

nlohmann::ordered_json file_report(const std::string& name, const ModelFile& file) {
  nlohmann::ordered_json report = {{"name", name}, {"options", options_to_json(file.options)}};
  const ParameterCount count = count_parameters(file.options);
  report["parameters"] = count.total;
  file.verify();
  report["has_checksum"] = file.has_checksum();
  for (const auto& [part, parameters] : count.parts) report["parts"][part] = parameters;
  for (const auto& [part, types] : stored_bytes(file))
    for (const auto& [type, bytes] : types) report["bytes"][part][to_string(type)] = bytes;
  for (const auto& lives : decay_spectrum(file.tensors)) {
    const Quantiles quantiles(lives);
    report["half_lives"].push_back({{"p10", quantiles.tenth},
                                    {"median", quantiles.half},
                                    {"p90", quantiles.nine_tenths},
                                    {"longest", quantiles.longest}});
  }
  return report;
}

void print_options(const std::string& name, const ModelOptions& options) {
  Table table({"option", "value", "meaning"});
  for (const auto& row : option_rows(options)) table.add({row.key, row.value, row.help});
  std::printf("%s\n", printable(name).c_str());
  table.print(stdout);
  std::printf("\n");
}

void print_parts(const ParameterCount& count) {
  Table table({"part", "parameters", "share"});
  for (const auto& [part, parameters] : count.parts)
    table.add({part, with_thousands(parameters), share_of(parameters, count.total)});
  table.add({"total", with_thousands(count.total), ""});
  table.print(stdout);
  std::printf("\n");
}

void print_stored_parts(const ModelFile& file) {
  const ParameterCount count = count_parameters(file.options);
  Table table({"part", "parameters", "share", "stored as"});
  std::map<DType, int64_t> all;
  for (const auto& [part, types] : stored_bytes(file)) {
    const auto found = count.parts.find(part);
    const int64_t parameters = found == count.parts.end() ? 0 : found->second;
    table.add({part, parameters > 0 ? with_thousands(parameters) : "",
               parameters > 0 ? share_of(parameters, count.total) : "", stored_as(types)});
    for (const auto& [type, bytes] : types) all[type] += bytes;
  }
  table.add({"total", with_thousands(count.total), "", stored_as(all)});
  table.print(stdout);
  file.verify();
  std::printf("\nchecksum: %s\n\n",
              file.has_checksum() ? "matches" : "none, written by an earlier version or another program");
}

void print_half_lives(const Safetensors& file) {
  const auto layers = decay_spectrum(file);
  if (layers.empty()) return;
  Table table({"layer", "10 %", "half", "90 %", "longest"});
  for (size_t i = 0; i < layers.size(); ++i) {
    const Quantiles quantiles(layers[i]);
    table.add({std::to_string(i), one_digit(quantiles.tenth), one_digit(quantiles.half),
               one_digit(quantiles.nine_tenths), one_digit(quantiles.longest)});
  }
  std::printf("EMA half-lives, in positions:\n");
  table.print(stdout);
  std::printf("\n");
}

}  // namespace mega::cli
