#include "mega/base/files/json.h"

#include <cstdio>
#include <nlohmann/json.hpp>
#include <string>
#include <unordered_set>
#include <vector>

#include "mega/base/error.h"
#include "mega/base/strings.h"

namespace mega {
namespace {

template <class Json>
std::string text_of(const Json& json, int indent) {
  const std::string text = json.dump(indent, ' ', false, Json::error_handler_t::replace);
  // Outside of strings JSON is ASCII, and DEL occurs in strings only: every match can be escaped.
  std::string safe;
  safe.reserve(text.size());
  for (size_t i = 0; i < text.size(); ++i) {
    const auto byte = static_cast<unsigned char>(text[i]);
    const auto next = static_cast<unsigned char>(i + 1 < text.size() ? text[i + 1] : '\0');
    const bool two_bytes = byte == 0xC2 && next < 0xA0;  // U+0080 to U+009F
    if (!two_bytes && byte != 0x7F) {
      safe += text[i];
      continue;
    }
    char escape[8];
    std::snprintf(escape, sizeof escape, "\\u%04x", static_cast<unsigned>(two_bytes ? next : byte));
    safe += escape;
    i += two_bytes ? 1 : 0;
  }
  return safe;
}

}  // namespace

nlohmann::json parse_json(std::string_view text, std::string_view where, const JsonLimits& limits) {
  using Event = nlohmann::json::parse_event_t;
  std::vector<std::unordered_set<std::string>> open_objects;
  size_t values = 0;

  // The library silently keeps the last of duplicate keys; reject them, because the file is ambiguous.
  const auto check = [&](int depth, Event event, nlohmann::json& parsed) {
    require(depth <= limits.depth, where, ": JSON nested deeper than ", limits.depth, " levels");
    if (event == Event::object_start) open_objects.emplace_back();
    if (event == Event::object_end) open_objects.pop_back();
    if (event == Event::key) {
      const auto& key = parsed.get_ref<const std::string&>();
      require(open_objects.back().insert(key).second, where, ": key ", in_quotes(key), " appears twice");
    }
    require(++values <= limits.values, where, ": JSON with more than ", limits.values, " values");
    return true;
  };

  try {
    return nlohmann::json::parse(text.begin(), text.end(), check);
  } catch (const nlohmann::json::exception& error) {
    // "[json.exception.parse_error.101] parse error at line 1, column 2: ...": drop the bracket.
    std::string_view message = error.what();
    if (const size_t end = message.find("] "); end != std::string_view::npos) message.remove_prefix(end + 2);
    fail(where, ": not valid JSON: ", message.substr(0, 300));
  }
}

std::string json_text(const nlohmann::json& json, int indent) { return text_of(json, indent); }

std::string json_text(const nlohmann::ordered_json& json, int indent) { return text_of(json, indent); }

}  // namespace mega
