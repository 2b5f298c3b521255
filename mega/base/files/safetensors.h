// The safetensors file format: a JSON header that names tensors, then their bytes.
//
//   8 bytes   n, length of the header, little endian
//   n bytes   {"__metadata__": {"key": "text"}, "name": {"dtype": "F32", "shape": [2, 3],
//              "data_offsets": [begin, end]}, ...}, padded with spaces
//   the rest  the data, in one piece: no holes, no overlaps
//
// Files are untrusted: everything is validated when a file is opened, and an invalid file is an Error.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "mega/base/options/options.h"

namespace mega {

enum class DType { F64, F32, F16, BF16, I64, I32, I16, I8, U8, BOOL };

template <>
struct EnumNames<DType> {
  static constexpr auto names = enum_table<DType>({{DType::F64, "F64"},
                                                   {DType::F32, "F32"},
                                                   {DType::F16, "F16"},
                                                   {DType::BF16, "BF16"},
                                                   {DType::I64, "I64"},
                                                   {DType::I32, "I32"},
                                                   {DType::I16, "I16"},
                                                   {DType::I8, "I8"},
                                                   {DType::U8, "U8"},
                                                   {DType::BOOL, "BOOL"}});
};

// Bytes of one element.
int64_t element_size(DType dtype);

// "[2, 3]".
std::string shape_text(std::span<const int64_t> shape);

// A non-owning view of a tensor, row major. Not necessarily aligned to its element size, because the format
// does not require it: copy with memcpy unless is_aligned.
struct TensorView {
  std::string name;
  DType dtype = DType::F32;
  std::vector<int64_t> shape;
  std::span<const std::byte> data;

  int64_t elements() const { return static_cast<int64_t>(data.size()) / element_size(dtype); }
  bool is_aligned() const;
};

using Metadata = std::map<std::string, std::string>;

class Safetensors {
 public:
  // Maps the file; it stays mapped while a copy of this object exists.
  static Safetensors open(const std::filesystem::path& path);
  // Reads from memory that must outlive the object. `where` is used in error messages.
  static Safetensors parse(std::span<const std::byte> bytes, const std::string& where);

  const std::vector<TensorView>& tensors() const { return tensors_; }  // ordered by data offset
  const Metadata& metadata() const { return metadata_; }

  const TensorView* find(std::string_view name) const;  // nullptr if there is none
  const TensorView& at(std::string_view name) const;    // Error if there is none, with the nearest name

 private:
  std::string where_;
  std::shared_ptr<const void> keep_alive_;
  std::vector<TensorView> tensors_;
  std::map<std::string, size_t, std::less<>> index_;
  Metadata metadata_;
};

// Writes the file atomically. The data starts at a multiple of 64 bytes; tensors are ordered so that each is
// aligned to its element size, and to 64 bytes if its size is a multiple of 64.
void write_safetensors(const std::filesystem::path& path, std::vector<TensorView> tensors,
                       const Metadata& metadata);

}  // namespace mega
