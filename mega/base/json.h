// Reading JSON that somebody else wrote: bounded in depth and size, no key twice, errors with a place.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string_view>

namespace mega {

struct JsonLimits {
  int depth = 32;
  size_t values = 1 << 18;  // a value takes up to a hundred bytes of memory for two of text
};

// `where` stands at the start of error messages: a path, usually.
nlohmann::json parse_json(std::string_view text, std::string_view where, const JsonLimits& limits = {});

}  // namespace mega
