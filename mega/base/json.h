// Parses untrusted JSON: limited depth and size, no duplicate keys, errors with a location.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string_view>

namespace mega {

struct JsonLimits {
  int depth = 32;
  size_t values = 1 << 18;  // two bytes of text may take up to a hundred bytes of memory
};

// `where` is the prefix of error messages, usually a path.
nlohmann::json parse_json(std::string_view text, std::string_view where, const JsonLimits& limits = {});

}  // namespace mega
