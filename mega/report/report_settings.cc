#include <map>

#include "mega/base/options/options.h"
#include "mega/report/html.h"
#include "mega/report/markup.h"
#include "mega/report/report_sections.h"

namespace mega {

std::vector<Report::Setting> compare_settings(const std::vector<OptionRow>& used,
                                              const std::vector<OptionRow>& preset) {
  std::map<std::string, std::string> of_preset;
  for (const OptionRow& row : preset) of_preset[row.key] = row.value;
  std::vector<Report::Setting> settings;
  for (const OptionRow& row : used) {
    const auto found = of_preset.find(row.key);
    // An option of another kind of model than the preset's has no value there.
    const bool differs = !preset.empty() && (found == of_preset.end() || found->second != row.value);
    settings.push_back({row.key, row.value, found == of_preset.end() ? "" : found->second, differs});
  }
  return settings;
}

// What differs from the preset first: the rest can be looked up there.
std::string configuration_section(const Report& report) {
  if (report.configuration.empty()) return "";
  html::Rows all, changed;
  for (const Report::Setting& setting : report.configuration) {
    all.push_back({setting.key, setting.value});
    const html::Cell preset_value = setting.preset_value.empty()
                                        ? html::Cell::markup("<span class=\"faint\">none</span>")
                                        : html::Cell(setting.preset_value);
    if (setting.differs) changed.push_back({setting.key, setting.value, preset_value});
  }
  const std::string everything = html::table({{"Setting", "name mono"}, {"Value", "text mono"}}, all);
  if (report.preset.empty() && changed.empty()) return html::section("Configuration", everything);
  const std::string preset = report.preset.empty() ? "the preset" : "the preset " + report.preset;
  const std::string differences =
      changed.empty()
          ? "<p class=\"faint\">As in " + escape_markup(preset) + ".</p>\n"
          : html::table({{"Setting", "name mono"}, {"Value", "text mono"}, {"Preset", "text mono"}}, changed,
                        "What differs from " + preset, html::Narrow::stack);
  return html::section(
      "Configuration",
      differences + html::fold("All settings (" + std::to_string(all.size()) + ")", everything));
}

}  // namespace mega
