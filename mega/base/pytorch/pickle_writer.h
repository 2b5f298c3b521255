// Writes pickles of plain values, in the second protocol, as Python's own pickler has them: what
// mega/base/pytorch/pickle.h reads.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "mega/base/files/safetensors.h"

namespace mega {

// Values follow each other; between begin and end, those of a container. Keys and values of a table
// alternate.
class PickleWriter {
 public:
  PickleWriter();

  void none();
  void boolean(bool value);
  void integer(int64_t value);
  void real(double value);
  void text(std::string_view value);

  void begin_list();
  void end_list();
  void begin_tuple();
  void end_tuple();
  void begin_dict();
  void end_dict();
  // argparse.Namespace: names and values.
  void begin_fields();
  void end_fields();

  // A row-major tensor at the beginning of a storage of so many elements.
  void tensor(std::string_view storage, DType dtype, int64_t storage_elements,
              std::span<const int64_t> shape);

  // All of it, with its end.
  std::string finish() const;

 private:
  void number(uint64_t value, int bytes);
  void global(std::string_view module, std::string_view name);

  std::string bytes_;
};

}  // namespace mega
