// Reads Protocol Buffers messages: a sequence of fields, each a key (number and wire type) and a value.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace mega {

enum class WireType : uint32_t { varint = 0, fixed64 = 1, bytes = 2, fixed32 = 5 };

struct ProtobufField {
  uint32_t number = 0;
  WireType type = WireType::varint;
  uint64_t value = 0;      // for a varint
  std::string_view bytes;  // for all other types, as in the message

  bool is(uint32_t wanted, WireType wanted_type) const { return number == wanted && type == wanted_type; }
};

// Iterates over the fields of a message. Callers must ignore fields that they do not know, as Protocol
// Buffers requires.
class ProtobufReader {
 public:
  explicit ProtobufReader(std::string_view message) : rest_(message) {}

  // The next field; nullopt at the end or if the message is damaged.
  std::optional<ProtobufField> next();
  bool damaged() const { return damaged_; }

 private:
  std::optional<uint64_t> take_varint();
  std::optional<ProtobufField> take_field();

  std::string_view rest_;
  bool damaged_ = false;
};

}  // namespace mega
