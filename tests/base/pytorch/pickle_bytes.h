// Pickles and zip archives written by hand.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace mega::testing {

inline std::string little(uint64_t value, size_t bytes) {
  std::string text;
  for (size_t i = 0; i < bytes; ++i, value >>= 8) text += static_cast<char>(value & 0xFF);
  return text;
}

inline std::span<const std::byte> bytes_of(std::string_view text) { return std::as_bytes(std::span(text)); }

inline const std::string kProto = "\x80\x02";

inline std::string text_op(std::string_view text) { return "X" + little(text.size(), 4) + std::string(text); }
inline std::string int_op(int64_t number) { return "J" + little(static_cast<uint64_t>(number), 4); }
inline std::string global_op(const std::string& module, const std::string& name) {
  return "c" + module + "\n" + name + "\n";
}
inline std::string storage_op(const std::string& type, const std::string& key, int64_t elements) {
  return "(" + text_op("storage") + global_op("torch", type) + text_op(key) + text_op("cpu") +
         int_op(elements) + "tQ";
}
// A vector of `size` elements.
inline std::string tensor_op(const std::string& storage, int64_t offset, int64_t size, int64_t stride) {
  return global_op("torch._utils", "_rebuild_tensor_v2") + "(" + storage + int_op(offset) + int_op(size) +
         "\x85" + int_op(stride) + "\x85\x89" + global_op("collections", "OrderedDict") + ")RtR";
}

inline uint32_t crc_of(std::string_view bytes) {
  uint32_t crc = ~0U;
  for (const char byte : bytes) {
    crc ^= static_cast<unsigned char>(byte);
    for (int i = 0; i < 8; ++i) crc = crc >> 1 ^ ((crc & 1) != 0 ? 0xEDB88320U : 0);
  }
  return ~crc;
}

// Deflate's form for what cannot be compressed: one block of at most 65535 bytes.
inline std::string deflated(std::string_view bytes) {
  return "\x01" + little(bytes.size(), 2) + little(~bytes.size(), 2) + std::string(bytes);
}

// Entries as an archive has them, with its records of 64 bits where asked for.
class ZipBytes {
 public:
  void add(const std::string& name, std::string_view contents, int method = 0) {
    add_raw(name, method == 0 ? std::string(contents) : deflated(contents), contents.size(), crc_of(contents),
            method);
  }

  void add_raw(const std::string& name, const std::string& packed, uint64_t size, uint32_t crc, int method) {
    // Sizes stand in the directory alone, and the local header has an extra field, as PyTorch writes them.
    const std::string padding = "FB" + little(5, 2) + "ZZZZZ";
    const std::string common = little(8, 2) + little(static_cast<uint64_t>(method), 2) + little(0, 4);
    directory_ +=
        "PK\x01\x02" + little(0, 4) + common + little(crc, 4) +
        (large ? little(0xFFFFFFFF, 4) + little(0xFFFFFFFF, 4) : little(packed.size(), 4) + little(size, 4)) +
        little(name.size(), 2) + little(large ? 20 : 0, 2) + little(0, 2 + 2 + 2 + 4) +
        little(data_.size(), 4) + name +
        (large ? little(1, 2) + little(16, 2) + little(size, 8) + little(packed.size(), 8) : "");
    data_ += "PK\x03\x04" + little(0, 2) + common + little(0, 12) + little(name.size(), 2) +
             little(padding.size(), 2) + name + padding + packed;
    ++entries_;
  }

  std::string finish() const {
    const uint64_t directory_at = data_.size(), end_at = directory_at + directory_.size();
    const std::string end64 = "PK\x06\x06" + little(44, 8) + little(0, 12) + little(entries_, 8) +
                              little(entries_, 8) + little(directory_.size(), 8) + little(directory_at, 8) +
                              "PK\x06\x07" + little(0, 4) + little(end_at, 8) + little(1, 4);
    return data_ + directory_ + (large ? end64 : "") + "PK\x05\x06" + little(0, 4) +
           (large ? little(0xFFFF, 2) + little(0xFFFF, 2) + little(0xFFFFFFFF, 4) + little(0xFFFFFFFF, 4)
                  : little(entries_, 2) + little(entries_, 2) + little(directory_.size(), 4) +
                        little(directory_at, 4)) +
           little(0, 2);
  }

  bool large = false;

 private:
  std::string data_, directory_;
  uint64_t entries_ = 0;
};

}  // namespace mega::testing
