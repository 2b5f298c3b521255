#include "mega/config/sentence_piece_check.h"

#include <cstdint>

namespace mega {
namespace {

// Reading a message of Protocol Buffers: a sequence of fields, each a key (number and wire type) and a value.
enum WireType : uint32_t { kVarint = 0, kFixed64 = 1, kBytes = 2, kFixed32 = 5 };

// Takes a number of seven bits per byte, the lowest first, off the front. False where it does not end.
bool take_varint(std::string_view& bytes, uint64_t& value) {
  value = 0;
  for (uint32_t shift = 0; shift < 64 && !bytes.empty(); shift += 7) {
    const auto byte = static_cast<unsigned char>(bytes.front());
    bytes.remove_prefix(1);
    value |= static_cast<uint64_t>(byte & 0x7F) << shift;
    if (byte < 0x80) return true;
  }
  return false;
}

// Whether the message is well-formed and accept(number, bytes) holds for each of its fields of bytes.
template <class Accept>
bool all_fields(std::string_view message, const Accept& accept) {
  while (!message.empty()) {
    uint64_t key = 0;
    if (!take_varint(message, key)) return false;
    const uint32_t tag = static_cast<uint32_t>(key);  // as the library reads it
    uint64_t length = 0;
    switch (tag & 7) {
      case kVarint:
        if (uint64_t value = 0; !take_varint(message, value)) return false;
        break;
      case kFixed64:
        length = 8;
        break;
      case kFixed32:
        length = 4;
        break;
      case kBytes:
        if (!take_varint(message, length)) return false;
        break;
      default:
        return false;
    }
    if (length > message.size()) return false;
    if ((tag & 7) == kBytes && !accept(tag >> 3, message.substr(0, length))) return false;
    message.remove_prefix(length);
  }
  return true;
}

}  // namespace

bool is_model_without_normalization(std::string_view model) {
  constexpr uint32_t kNormalizer = 3;  // ModelProto.normalizer_spec
  constexpr uint32_t kTable = 2;       // NormalizerSpec.precompiled_charsmap
  return all_fields(model, [](uint32_t part, std::string_view content) {
    return part != kNormalizer || all_fields(content, [](uint32_t field, std::string_view table) {
             return field != kTable || table.empty();
           });
  });
}

}  // namespace mega
