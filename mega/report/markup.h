// Escapes untrusted text (class names, excerpts of data) for XML, HTML and Protocol Buffers.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace mega {

// For element content and quoted attributes: valid UTF-8, & < > " ' as references, and characters that
// XML does not allow or that are invisible (controls other than tab and newline) as U+FFFD.
std::string escape_markup(std::string_view text);

// At most `most` characters of valid UTF-8; truncated text ends with "…".
std::string shortened(std::string_view text, size_t most);

}  // namespace mega
