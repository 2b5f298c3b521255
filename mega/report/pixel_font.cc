#include "mega/report/pixel_font.h"

#include <algorithm>

#include "mega/base/error.h"

namespace mega {
namespace {

constexpr int64_t kRows = 8;

// For each character from the blank on, a digit of base 32 for each row: five pixels, the leftmost first.
constexpr std::string_view kLetters =
    "00000000"
    "44444040"
    "aaa00000"
    "aavavaa0"
    "4fke5u40"
    "pp248jj0"
    "ciiclid0"
    "44800000"
    "24888420"
    "84222480"
    "04lel400"
    "044v4400"
    "00000648"
    "000v0000"
    "00000cc0"
    "11248gg0"
    "ehjlphe0"
    "4c4444e0"
    "eh1248v0"
    "v2421he0"
    "26aiv220"
    "vgu11he0"
    "68guhhe0"
    "v1248880"
    "ehhehhe0"
    "ehhf12c0"
    "0cc0cc00"
    "0cc0c480"
    "248g8420"
    "00v0v000"
    "84212480"
    "eh124040"
    "ehnlmgf0"
    "ehhvhhh0"
    "uhhuhhu0"
    "ehggghe0"
    "sihhhis0"
    "vgguggv0"
    "vgguggg0"
    "ehgnhhf0"
    "hhhvhhh0"
    "e44444e0"
    "72222ic0"
    "hikokih0"
    "ggggggv0"
    "hrllhhh0"
    "hhpljhh0"
    "ehhhhhe0"
    "uhhuggg0"
    "ehhhlid0"
    "uhhukih0"
    "fgge11u0"
    "v4444440"
    "hhhhhhe0"
    "hhhhha40"
    "hhhllla0"
    "hha4ahh0"
    "hhha4440"
    "v1248gv0"
    "e88888e0"
    "gg842110"
    "e22222e0"
    "4ah00000"
    "000000v0"
    "84200000"
    "00e1fhf0"
    "ggmphhu0"
    "00egghe0"
    "11djhhf0"
    "00ehvge0"
    "698s8880"
    "00fhhf1e"
    "ggmphhh0"
    "40c444e0"
    "206222ic"
    "ggikoki0"
    "c44444e0"
    "00qllhh0"
    "00mphhh0"
    "00ehhhe0"
    "00uhhugg"
    "00fhhf11"
    "00mpggg0"
    "00ege1u0"
    "88s88960"
    "00hhhjd0"
    "00hhha40"
    "00hhlla0"
    "00ha4ah0"
    "00hhhf1e"
    "00v248v0"
    "24484420"
    "44444440"
    "84424480"
    "008l2000";
constexpr std::string_view kBox = "vhhhhhhv";

std::string_view rows_of(char character) {
  if (character < ' ' || character > '~') return kBox;
  return kLetters.substr(static_cast<size_t>(character - ' ') * kRows, kRows);
}

unsigned bits_of(char digit) { return static_cast<unsigned>(digit <= '9' ? digit - '0' : digit - 'a' + 10); }

}  // namespace

void write_pixels(Thumbnail& picture, int64_t top, int64_t left, std::string_view text, uint8_t grey) {
  require(picture.valid() && picture.channels == 3, "write_pixels: expected a picture of 3 channels");
  for (const char character : text) {
    const std::string_view rows = rows_of(character);
    for (int64_t y = 0; y < kRows; ++y)
      for (int64_t x = 0; x < 5; ++x) {
        const bool inside =
            top + y >= 0 && top + y < picture.height && left + x >= 0 && left + x < picture.width;
        if (inside && (bits_of(rows[static_cast<size_t>(y)]) >> (4 - x) & 1U) != 0)
          std::fill_n(&picture.samples[static_cast<size_t>(((top + y) * picture.width + left + x) * 3)], 3,
                      grey);
      }
    left += kLetterWidth;
  }
}

}  // namespace mega
