#include "mega/base/pytorch/zip_writer.h"

#include <zlib.h>

#include <algorithm>
#include <initializer_list>

namespace mega {
namespace {

constexpr uint64_t kAlignment = 64;
constexpr uint64_t kUnknown32 = 0xFFFFFFFF;  // the 64-bit record has the number

std::string little(uint64_t value, size_t bytes) {
  std::string text;
  for (size_t i = 0; i < bytes; ++i, value >>= 8) text += static_cast<char>(value & 0xFF);
  return text;
}

// What a local header and a directory entry have in common: version, flags (names are UTF-8), method, time,
// date, CRC, both sizes.
std::string common_header(uint32_t crc, uint64_t size) {
  const uint64_t shown = std::min(size, kUnknown32);
  return little(45, 2) + little(1 << 11, 2) + little(0, 2 + 2 + 2) + little(crc, 4) + little(shown, 4) +
         little(shown, 4);
}

// The extra field of 64-bit numbers, those that 32 bits do not hold.
std::string large_numbers(std::initializer_list<uint64_t> values) {
  std::string field;
  for (const uint64_t value : values)
    if (value >= kUnknown32) field += little(value, 8);
  return field.empty() ? "" : little(1, 2) + little(field.size(), 2) + field;
}

}  // namespace

void ZipWriter::write(std::string_view bytes) {
  file_.write(bytes);
  position_ += bytes.size();
}

void ZipWriter::add(const std::string& name, std::span<const std::byte> contents) {
  const auto crc =
      static_cast<uint32_t>(::crc32_z(0, reinterpret_cast<const Bytef*>(contents.data()), contents.size()));
  const uint64_t size = contents.size(), at = position_;
  // The padding is an extra field of its own, named as PyTorch names it.
  constexpr uint64_t kFixed = 30, kFieldHeader = 4;
  const std::string sizes = large_numbers({size, size});
  const uint64_t end = at + kFixed + name.size() + sizes.size() + kFieldHeader;
  const uint64_t padding = (kAlignment - end % kAlignment) % kAlignment;
  write("PK\x03\x04" + common_header(crc, size) + little(name.size(), 2) +
        little(sizes.size() + kFieldHeader + padding, 2) + name + sizes + "FB" + little(padding, 2) +
        std::string(padding, 'Z'));
  file_.write(contents);
  position_ += size;
  const std::string field = large_numbers({size, size, at});
  directory_ += "PK\x01\x02" + little(45, 2) + common_header(crc, size) + little(name.size(), 2) +
                little(field.size(), 2) + little(0, 2 + 2 + 2 + 4) + little(std::min(at, kUnknown32), 4) +
                name + field;
  ++entries_;
}

void ZipWriter::finish() {
  const uint64_t begin = position_, end = begin + directory_.size();
  write(directory_);
  write("PK\x06\x06" + little(44, 8) + little(45, 2) + little(45, 2) + little(0, 4 + 4) +
        little(entries_, 8) + little(entries_, 8) + little(directory_.size(), 8) + little(begin, 8));
  write("PK\x06\x07" + little(0, 4) + little(end, 8) + little(1, 4));
  write("PK\x05\x06" + little(0, 4) + little(std::min<uint64_t>(entries_, 0xFFFF), 2) +
        little(std::min<uint64_t>(entries_, 0xFFFF), 2) + little(std::min(end - begin, kUnknown32), 4) +
        little(std::min(begin, kUnknown32), 4) + little(0, 2));
  file_.commit();
}

}  // namespace mega
