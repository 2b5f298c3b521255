#include <algorithm>
#include <cctype>

#include "mega/base/error.h"
#include "mega/data/formats/picture_decoders.h"

namespace mega::data {
namespace {

// Reads the numbers of a portable grey or pixel map, which white space and comments stand between.
class Scanner {
 public:
  Scanner(std::string_view bytes, const std::string& name) : bytes_(bytes), name_(name) {}

  int64_t number() {
    while (position_ < bytes_.size() && (is_space(bytes_[position_]) || bytes_[position_] == '#')) {
      if (bytes_[position_] == '#') position_ = std::min(bytes_.find('\n', position_), bytes_.size() - 1);
      ++position_;
    }
    require(position_ < bytes_.size(), name_, ": the file ends too early");
    const size_t begin = position_;
    int64_t value = 0;
    while (position_ < bytes_.size() && std::isdigit(static_cast<unsigned char>(bytes_[position_]))) {
      value = value * 10 + (bytes_[position_++] - '0');
      require(value < int64_t{1} << 31, name_, ": a number that is too large at byte ", begin);
    }
    require(position_ > begin, name_, ": expected a number at byte ", begin);
    return value;
  }

  // Most significant byte first.
  int64_t binary(int64_t bytes) {
    int64_t value = 0;
    for (int64_t i = 0; i < bytes; ++i) {
      require(position_ < bytes_.size(), name_, ": the file ends too early");
      value = value * 256 + static_cast<unsigned char>(bytes_[position_++]);
    }
    return value;
  }

  void skip(size_t bytes) { position_ += bytes; }
  size_t left() const { return position_ < bytes_.size() ? bytes_.size() - position_ : 0; }

 private:
  static bool is_space(char c) { return std::isspace(static_cast<unsigned char>(c)) != 0; }

  std::string_view bytes_;
  const std::string& name_;
  size_t position_ = 0;
};

}  // namespace

Picture decode_pnm(std::string_view bytes, const std::string& name) {
  const bool text = bytes[1] == '2' || bytes[1] == '3';
  const bool colours = bytes[1] == '3' || bytes[1] == '6';
  Scanner scanner(bytes, name);
  scanner.skip(2);
  const int64_t width = scanner.number();
  const int64_t height = scanner.number();
  const int64_t most = scanner.number();
  require(most > 0 && most < 1 << 16, name, ": the largest value is ", most, "; expected 1 to 65535");
  scanner.skip(1);  // the one white space before the samples

  // A sample takes a byte at least: a file that promises more than it has gets no memory.
  const int64_t sample_bytes = !text && most > 255 ? 2 : 1;
  const double samples = static_cast<double>(width) * static_cast<double>(height) * (colours ? 3 : 1);
  require(samples * static_cast<double>(sample_bytes) <= static_cast<double>(scanner.left()), name,
          ": the file ends too early for a picture of ", height, " by ", width, " pixels");
  Picture picture;
  set_size(picture, height, width, colours ? 3 : 1, name);
  for (uint8_t& sample : picture.samples) {
    const int64_t value = text ? scanner.number() : scanner.binary(sample_bytes);
    require(value <= most, name, ": a value of ", value, " where the largest is ", most);
    sample = static_cast<uint8_t>((value * 255 + most / 2) / most);
  }
  return picture;
}

}  // namespace mega::data
