// Text from anywhere (class names, excerpts of data) made safe to stand in XML, HTML and protocol buffers.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace mega {

// For element content and quoted attributes: valid UTF-8, & < > " ' as references, and characters that
// XML does not allow or no one can see (controls other than tab and newline) as U+FFFD.
std::string escape_markup(std::string_view text);

// At most `most` characters of valid UTF-8; what was cut off is shown as "…".
std::string shortened(std::string_view text, size_t most);

}  // namespace mega
