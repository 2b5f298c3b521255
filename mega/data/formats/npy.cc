#include "mega/data/formats/npy.h"

#include <algorithm>
#include <bit>
#include <charconv>
#include <cstring>
#include <limits>
#include <span>
#include <string_view>

#include "mega/base/error.h"
#include "mega/base/files/stream.h"
#include "mega/base/strings.h"

namespace mega::data {
namespace {

constexpr size_t kLongestHeader = 1 << 20;
constexpr size_t kMostDimensions = 32;

// Up to `count` bytes. The text grows with what is read: a header may promise more than there is.
std::string read_bytes(InputStream& stream, uint64_t count) {
  constexpr uint64_t kPiece = 1 << 24;
  std::string bytes;
  while (bytes.size() < count) {
    const size_t had = bytes.size();
    bytes.resize(had + static_cast<size_t>(std::min(kPiece, count - had)));
    const size_t got = stream.read(std::span(bytes).subspan(had));
    bytes.resize(had + got);
    if (got == 0) break;
  }
  return bytes;
}

// The text of the header is a Python dictionary: {'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }
class HeaderParser {
 public:
  HeaderParser(std::string_view text, const std::string& name) : rest_(text), name_(name) {}

  bool take(char expected) {
    rest_ = trim(rest_);
    if (!rest_.starts_with(expected)) return false;
    rest_.remove_prefix(1);
    return true;
  }

  void expect(char expected) {
    if (!take(expected)) broken();
  }

  std::string quoted() {
    const char quote = take('\'') ? '\'' : '"';
    if (quote == '"') expect('"');
    const size_t end = rest_.find(quote);
    if (end == std::string_view::npos) broken();
    std::string text(rest_.substr(0, end));
    rest_.remove_prefix(end + 1);
    return text;
  }

  bool truth() {
    rest_ = trim(rest_);
    for (const std::string_view word : {"True", "False"}) {
      if (!rest_.starts_with(word)) continue;
      rest_.remove_prefix(word.size());
      return word == "True";
    }
    broken();
  }

  std::vector<int64_t> tuple() {
    std::vector<int64_t> numbers;
    expect('(');
    while (!take(')')) {
      rest_ = trim(rest_);
      int64_t number = -1;
      const auto [end, error] = std::from_chars(rest_.data(), rest_.data() + rest_.size(), number);
      if (error != std::errc() || number < 0 || numbers.size() == kMostDimensions) broken();
      rest_.remove_prefix(static_cast<size_t>(end - rest_.data()));
      numbers.push_back(number);
      take('L');  // as Python 2 wrote them
      if (!take(',')) {
        expect(')');
        break;
      }
    }
    return numbers;
  }

  [[noreturn]] void broken() const {
    fail(name_, ": the header is not one that NumPy writes, at ", in_quotes(rest_));
  }

 private:
  std::string_view rest_;
  const std::string& name_;
};

template <class T>
T value_at(const char* bytes, bool swapped) {
  char item[sizeof(T)];
  if (swapped) {
    std::reverse_copy(bytes, bytes + sizeof(T), item);
  } else {
    std::memcpy(item, bytes, sizeof(T));
  }
  T value;
  std::memcpy(&value, item, sizeof(T));
  return value;
}

}  // namespace

NpyFile::NpyFile(const std::filesystem::path& path) : stream_(path) {
  read_header();
  const std::string& name = stream_.name();
  size_ = std::find(shape_.begin(), shape_.end(), 0) == shape_.end() ? 1 : 0;
  for (const int64_t extent : shape_) {
    require(size_ == 0 || extent <= std::numeric_limits<int64_t>::max() / item_bytes_ / size_, name,
            ": the shape in the header is impossibly large");
    size_ *= extent;
  }
  if (size_ == 0) require_end();
}

void NpyFile::read_header() {
  const std::string& name = stream_.name();
  const std::string start = read_bytes(stream_, 8);
  require(start.size() == 8 && start.starts_with("\x93NUMPY"), name, ": not a NumPy .npy file");
  const int version = static_cast<unsigned char>(start[6]);
  require(version >= 1 && version <= 3, name, ": .npy format ", version,
          " is not known; versions 1 to 3 are");

  const size_t length_bytes = version == 1 ? 2 : 4;
  const std::string length_text = read_bytes(stream_, length_bytes);
  require(length_text.size() == length_bytes, name, ": cut off within the header");
  size_t length = 0;
  for (size_t i = length_bytes; i-- > 0;) length = length << 8 | static_cast<unsigned char>(length_text[i]);
  require(length <= kLongestHeader, name, ": a header of ", human_bytes(length),
          " is not one that NumPy writes");
  const std::string header = read_bytes(stream_, length);
  require(header.size() == length, name, ": cut off within the header");
  parse_header(header);
}

void NpyFile::parse_header(const std::string& header) {
  const std::string& name = stream_.name();
  HeaderParser parser(header, name);
  std::string type;
  bool has_order = false, has_shape = false;
  parser.expect('{');
  while (!parser.take('}')) {
    const std::string key = parser.quoted();
    parser.expect(':');
    if (key == "descr") {
      require(!parser.take('['), name, ": an array of records; save one array of numbers");
      type = parser.quoted();
    } else if (key == "fortran_order") {
      fortran_order_ = parser.truth();
      has_order = true;
    } else if (key == "shape") {
      shape_ = parser.tuple();
      has_shape = true;
    } else {
      parser.broken();
    }
    if (!parser.take(',')) {
      parser.expect('}');
      break;
    }
  }
  require(!type.empty() && has_order && has_shape, name, ": the header lacks descr, fortran_order or shape");

  constexpr std::string_view kKnown[] = {"f4", "f8", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "b1"};
  const std::string_view kind = std::string_view(type).substr(1);
  require(std::string_view("<>|=").find(type[0]) != std::string_view::npos &&
              std::find(std::begin(kKnown), std::end(kKnown), kind) != std::end(kKnown),
          name, ": numbers of type ", in_quotes(type),
          " are not known; save them as float32, float64 or integers");
  type_ = kind[0] == 'f' ? Type::real : kind[0] == 'i' ? Type::integer : Type::natural;
  item_bytes_ = kind[1] - '0';
  swapped_ = type[0] == (std::endian::native == std::endian::little ? '>' : '<');
}

double NpyFile::decoded(const char* bytes) const {
  switch (type_) {
    case Type::real:
      return item_bytes_ == 4 ? static_cast<double>(value_at<float>(bytes, swapped_))
                              : value_at<double>(bytes, swapped_);
    case Type::integer:
      if (item_bytes_ == 1) return value_at<int8_t>(bytes, swapped_);
      if (item_bytes_ == 2) return value_at<int16_t>(bytes, swapped_);
      if (item_bytes_ == 4) return value_at<int32_t>(bytes, swapped_);
      return static_cast<double>(value_at<int64_t>(bytes, swapped_));
    case Type::natural:
      break;
  }
  if (item_bytes_ == 1) return value_at<uint8_t>(bytes, swapped_);
  if (item_bytes_ == 2) return value_at<uint16_t>(bytes, swapped_);
  if (item_bytes_ == 4) return value_at<uint32_t>(bytes, swapped_);
  return static_cast<double>(value_at<uint64_t>(bytes, swapped_));
}

int64_t NpyFile::place_of(int64_t index) const {
  if (!fortran_order_) return index;
  // The last index is the fastest in C order, the first one in Fortran's.
  int64_t stride = size_, place = 0;
  for (size_t i = shape_.size(); i-- > 0;) {
    stride /= shape_[i];
    place += index % shape_[i] * stride;
    index /= shape_[i];
  }
  return place;
}

std::string NpyFile::read_items(int64_t count) {
  const auto expected = static_cast<uint64_t>(count * item_bytes_);
  std::string bytes = read_bytes(stream_, expected);
  require(bytes.size() == expected, stream_.name(),
          ": cut off: ", human_bytes(static_cast<uint64_t>(next_ * item_bytes_) + bytes.size()),
          " of numbers where ", human_bytes(static_cast<uint64_t>(size_ * item_bytes_)), " are expected");
  return bytes;
}

void NpyFile::require_end() {
  require(read_bytes(stream_, 1).empty(), stream_.name(), ": more bytes than its shape says");
}

template <class Value>
void NpyFile::append(int64_t count, std::vector<Value>& into) {
  constexpr int64_t kPiece = 1 << 16;
  require(count >= 0 && count <= size_ - next_, stream_.name(), ": ", count, " numbers asked for where ",
          size_ - next_, " are left");
  // Of what was read: the header may promise more than there is.
  const auto require_room = [&](int64_t numbers) {
    require(static_cast<uint64_t>(numbers) <= file_limit() / sizeof(Value), stream_.name(), ": a piece of ",
            count, " numbers, more than the ", human_bytes(file_limit()),
            " that are held at once; set MEGA_FILE_LIMIT to a larger number of bytes to raise the limit");
  };
  if (fortran_order_ && next_ == 0 && count > 0) {
    require_room(size_);
    whole_ = read_items(size_);
  }
  for (int64_t done = 0; done < count;) {
    const int64_t piece = std::min(kPiece, count - done);
    require_room(done + piece);
    const std::string bytes = fortran_order_ ? std::string() : read_items(piece);
    for (int64_t i = 0; i < piece; ++i) {
      const char* item =
          fortran_order_ ? whole_.data() + place_of(next_ + i) * item_bytes_ : bytes.data() + i * item_bytes_;
      into.push_back(static_cast<Value>(decoded(item)));
    }
    done += piece;
    next_ += piece;
  }
  if (count > 0 && next_ == size_) require_end();
}

void NpyFile::read(int64_t count, std::vector<float>& into) { append(count, into); }
void NpyFile::read(int64_t count, std::vector<double>& into) { append(count, into); }

}  // namespace mega::data
