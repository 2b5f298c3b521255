// What a stream leaves behind, as a file: safetensors with everything else in its metadata.
//
//   format       "mega-state-2"
//   fingerprint  of the model whose state it is, 16 hexadecimal digits; absent where the writer does not know
//   checksum     of all other metadata and all tensors, 16 hexadecimal digits
//   ...          whole numbers from 0, by their names
//
// A file that is cut off or changed anywhere is an Error. Both users of this format,
// mega/infer/session_file.h and mega/nn/state.h, name tensors and numbers alike.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "mega/base/files/safetensors.h"

namespace mega {

struct StateFile {
  std::string where;  // names it in error messages
  std::optional<uint64_t> fingerprint;
  std::map<std::string, int64_t> numbers;
  Safetensors tensors;

  static StateFile open(const std::filesystem::path& path);
  // The same from memory that outlives the result.
  static StateFile parse(std::span<const std::byte> bytes, const std::string& where);

  // Error where there is none of this name.
  int64_t number(const std::string& name) const;
};

// Written whole or not at all.
void write_state_file(const std::filesystem::path& path, std::optional<uint64_t> fingerprint,
                      const std::map<std::string, int64_t>& numbers, std::vector<TensorView> tensors);

}  // namespace mega
