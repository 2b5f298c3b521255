// JSON of untrusted origin, and text of untrusted origin as JSON.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

namespace mega {

struct JsonLimits {
  int depth = 32;
  size_t values = 1 << 18;  // two bytes of text may take up to a hundred bytes of memory
};

// Limited depth and size, no duplicate keys, errors with a location. `where` is the prefix of error messages,
// usually a path.
nlohmann::json parse_json(std::string_view text, std::string_view where, const JsonLimits& limits = {});

// As text, on one line or indented. Strings may hold anything: what is not UTF-8 becomes replacement
// characters, and control characters are escaped, DEL and C1 too, because terminals obey them.
std::string json_text(const nlohmann::json& json, int indent = -1);
std::string json_text(const nlohmann::ordered_json& json, int indent = -1);

}  // namespace mega
