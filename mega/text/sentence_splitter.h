// Cuts running text into sentences as Moses' split-sentences.perl does: after ? ! and full stops, where what
// follows can begin a sentence, and not after abbreviations (mega/text/abbreviations.h) and initials.
//
// Chinese and Japanese (zh, yue, ja) are cut after their own marks too, which no blank follows.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace mega {

// The sentences, in order, with single blanks within. A line break is a blank; an empty line ends a
// paragraph, and with it a sentence. Bytes that are no UTF-8 become U+FFFD.
std::vector<std::string> split_sentences(std::string_view text, std::string_view language = "en");

}  // namespace mega
