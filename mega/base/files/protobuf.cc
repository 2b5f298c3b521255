#include "mega/base/files/protobuf.h"

namespace mega {

std::optional<ProtobufField> ProtobufReader::next() {
  if (rest_.empty() || damaged_) return std::nullopt;
  auto field = take_field();
  damaged_ = !field;
  return field;
}

// Seven bits per byte, the lowest first; the last byte is below 128.
std::optional<uint64_t> ProtobufReader::take_varint() {
  uint64_t value = 0;
  for (uint32_t shift = 0; shift < 64 && !rest_.empty(); shift += 7) {
    const auto byte = static_cast<unsigned char>(rest_.front());
    rest_.remove_prefix(1);
    value |= static_cast<uint64_t>(byte & 0x7F) << shift;
    if (byte < 0x80) return value;
  }
  return std::nullopt;
}

std::optional<ProtobufField> ProtobufReader::take_field() {
  const auto key = take_varint();
  if (!key || *key > UINT32_MAX || *key < 8) return std::nullopt;  // field numbers start at 1
  ProtobufField field;
  field.number = static_cast<uint32_t>(*key >> 3);
  field.type = static_cast<WireType>(*key & 7);
  std::optional<uint64_t> length;
  switch (field.type) {
    case WireType::varint: {
      const auto value = take_varint();
      if (!value) return std::nullopt;
      field.value = *value;
      return field;
    }
    case WireType::fixed64:
      length = 8;
      break;
    case WireType::fixed32:
      length = 4;
      break;
    case WireType::bytes:
      length = take_varint();
      break;
  }
  if (!length || *length > rest_.size()) return std::nullopt;
  field.bytes = rest_.substr(0, *length);
  rest_.remove_prefix(*length);
  return field;
}

}  // namespace mega
