// Checks markup in tests: tags closed in order, attributes quoted, text escaped.
#pragma once

#include <cctype>
#include <string>
#include <string_view>
#include <vector>

namespace mega::testing {

// "" if the markup is well-formed XML (without comments or CDATA), otherwise the first fault. `empty_tags`
// need no end tag: <meta> in HTML.
inline std::string markup_fault(std::string_view text, const std::vector<std::string>& empty_tags = {}) {
  constexpr std::string_view kReferences[] = {"&amp;", "&lt;", "&gt;", "&quot;", "&#39;"};
  std::vector<std::string> open;
  while (!text.empty()) {
    const auto c = static_cast<unsigned char>(text[0]);
    if (c == '&') {
      bool known = false;
      for (const std::string_view reference : kReferences) known = known || text.starts_with(reference);
      if (!known) return "a raw & at " + std::string(text.substr(0, 20));
    }
    if (c < 0x20 && c != '\n' && c != '\t') return "a control character";
    if (c != '<') {
      text.remove_prefix(1);
      continue;
    }
    size_t end = 1;
    for (bool quoted = false; end < text.size() && (quoted || text[end] != '>'); ++end) {
      if (text[end] == '"') quoted = !quoted;
      if (text[end] == '<') return "a raw < at " + std::string(text.substr(0, 20));
    }
    if (end == text.size()) return "unterminated tag: " + std::string(text.substr(0, 20));
    const std::string_view tag = text.substr(1, end - 1);
    text.remove_prefix(end + 1);
    if (tag.starts_with("!DOCTYPE")) continue;
    if (tag.starts_with("/")) {
      if (open.empty() || open.back() != tag.substr(1)) return "mismatched end tag: " + std::string(tag);
      open.pop_back();
      continue;
    }
    const std::string name(tag.substr(0, tag.find_first_of(" \n/")));
    if (name.empty() || std::isalpha(static_cast<unsigned char>(name[0])) == 0)
      return "not a tag: " + std::string(tag);
    bool empty = tag.ends_with("/");
    for (const std::string& known : empty_tags) empty = empty || name == known;
    if (!empty) open.push_back(name);
  }
  return open.empty() ? "" : "never closed: " + open.back();
}

}  // namespace mega::testing
