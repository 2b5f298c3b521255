#include "mega/report/event_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <bit>
#include <cctype>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <string>
#include <system_error>

#include "mega/base/error.h"
#include "mega/base/utf8.h"

namespace mega {
namespace {

// Field numbers of tensorflow's event.proto, summary.proto, tensor.proto and tensor_shape.proto.
constexpr int kEventWallTime = 1, kEventStep = 2, kEventFileVersion = 3, kEventSummary = 5;
constexpr int kSummaryValue = 1;
constexpr int kValueTag = 1, kValueSimple = 2, kValueTensor = 8, kValueMetadata = 9;
constexpr int kMetadataPlugin = 1, kPluginName = 1;
constexpr int kTensorType = 1, kTensorShape = 2, kTensorStrings = 8, kTypeString = 7;
constexpr int kShapeDimension = 2, kDimensionSize = 1;

template <class Integer>
void append_little_endian(std::string& bytes, Integer value) {
  for (size_t i = 0; i < sizeof value; ++i) bytes += static_cast<char>(value >> (8 * i));
}

// Builds a Protocol Buffers message field by field.
class Message {
 public:
  Message& integer(int field, int64_t value) {
    key(field, 0);
    varint(static_cast<uint64_t>(value));
    return *this;
  }
  Message& float64(int field, double value) {
    key(field, 1);
    append_little_endian(bytes_, std::bit_cast<uint64_t>(value));
    return *this;
  }
  Message& float32(int field, float value) {
    key(field, 5);
    append_little_endian(bytes_, std::bit_cast<uint32_t>(value));
    return *this;
  }
  Message& text(int field, std::string_view value) {
    key(field, 2);
    varint(value.size());
    bytes_ += value;
    return *this;
  }
  Message& message(int field, const Message& value) { return text(field, value.bytes_); }

  const std::string& bytes() const { return bytes_; }

 private:
  void key(int field, int wire_type) {
    varint(static_cast<uint64_t>(field) << 3 | static_cast<uint64_t>(wire_type));
  }
  void varint(uint64_t value) {
    for (; value >= 0x80; value >>= 7) bytes_ += static_cast<char>(value | 0x80);
    bytes_ += static_cast<char>(value);
  }

  std::string bytes_;
};

double now() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

std::string event_of(int64_t step, const Message& value) {
  const Message summary = Message().message(kSummaryValue, value);
  return Message()
      .float64(kEventWallTime, now())
      .integer(kEventStep, step)
      .message(kEventSummary, summary)
      .bytes();
}

std::string host_name() {
  std::array<char, 256> name{};
  if (::gethostname(name.data(), name.size() - 1) != 0 || name[0] == '\0') return "localhost";
  for (char& c : name)
    if (c != '\0' && c != '.' && std::isalnum(static_cast<unsigned char>(c)) == 0) c = '-';
  return name.data();
}

// TFRecord masks checksums, because the CRC of data that contains its own CRC is weak.
uint32_t masked_checksum(std::string_view bytes) {
  constexpr uint32_t kOffset = 0xa282ead8;
  return std::rotr(crc32c(bytes), 15) + kOffset;
}

constexpr std::array<uint32_t, 256> checksum_table() {
  constexpr uint32_t kPolynomial = 0x82f63b78;  // Castagnoli, reflected
  std::array<uint32_t, 256> table{};
  for (uint32_t byte = 0; byte < table.size(); ++byte) {
    uint32_t rest = byte;
    for (int bit = 0; bit < 8; ++bit) rest = rest >> 1 ^ (rest % 2 == 1 ? kPolynomial : 0);
    table[byte] = rest;
  }
  return table;
}

}  // namespace

uint32_t crc32c(std::string_view bytes) {
  static constexpr std::array<uint32_t, 256> kTable = checksum_table();
  uint32_t rest = ~uint32_t{0};
  for (const char c : bytes) rest = rest >> 8 ^ kTable[(rest ^ static_cast<unsigned char>(c)) & 0xff];
  return ~rest;
}

EventFile::EventFile(const std::filesystem::path& folder) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error) fail(folder.string(), ": cannot create the folder for event files: ", error.message());
  path_ = folder / ("events.out.tfevents." + std::to_string(static_cast<int64_t>(now())) + "." + host_name());
  // O_APPEND: a run restarted within the same second appends to the same file.
  descriptor_ = ::open(path_.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
  if (descriptor_ < 0) fail(path_.string(), ": cannot create: ", std::strerror(errno));
  write(Message().float64(kEventWallTime, now()).text(kEventFileVersion, "brain.Event:2").bytes());
}

EventFile::~EventFile() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

void EventFile::scalar(std::string_view tag, int64_t step, double value) {
  write(event_of(
      step, Message().text(kValueTag, valid_utf8(tag)).float32(kValueSimple, static_cast<float>(value))));
}

void EventFile::text(std::string_view tag, int64_t step, std::string_view text) {
  const Message plugin = Message().text(kPluginName, "text");
  const Message shape = Message().message(kShapeDimension, Message().integer(kDimensionSize, 1));
  const Message tensor = Message()
                             .integer(kTensorType, kTypeString)
                             .message(kTensorShape, shape)
                             .text(kTensorStrings, valid_utf8(text));
  write(event_of(step, Message()
                           .text(kValueTag, valid_utf8(tag))
                           .message(kValueTensor, tensor)
                           .message(kValueMetadata, Message().message(kMetadataPlugin, plugin))));
}

// Length, its checksum, the event, its checksum; in one call, so that readers rarely see a partial record.
void EventFile::write(std::string_view event) {
  std::string record;
  append_little_endian(record, static_cast<uint64_t>(event.size()));
  append_little_endian(record, masked_checksum(record));
  record += event;
  append_little_endian(record, masked_checksum(event));
  for (std::string_view rest = record; !rest.empty();) {
    const ssize_t count = ::write(descriptor_, rest.data(), rest.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) fail(path_.string(), ": cannot write: ", std::strerror(errno));
    rest.remove_prefix(static_cast<size_t>(count));
  }
}

}  // namespace mega
