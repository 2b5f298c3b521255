// NumPy's .npy files: one array of numbers.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "mega/base/files/stream.h"

namespace mega::data {

// Format versions 1 to 3, in C or Fortran order, either byte order, of float32, float64, bool and the
// integers of 1 to 8 bytes. Anything else is an Error that says what to convert. Memory is taken only for
// bytes that the file really has.
class NpyFile {
 public:
  // Reads the header.
  explicit NpyFile(const std::filesystem::path& path);

  const std::vector<int64_t>& shape() const { return shape_; }
  int64_t size() const { return size_; }

  // Appends the next numbers in C order, whatever the order in the file; only an array in Fortran order is
  // held in memory as a whole. A file that ends too early, or goes on after the last number, is an Error.
  void read(int64_t count, std::vector<float>& into);
  void read(int64_t count, std::vector<double>& into);

 private:
  enum class Type { real, integer, natural };

  void read_header();
  void parse_header(const std::string& header);
  double decoded(const char* bytes) const;
  // The place of a number in the file, by its place in C order.
  int64_t place_of(int64_t index) const;
  std::string read_items(int64_t count);
  void require_end();
  template <class Value>
  void append(int64_t count, std::vector<Value>& into);

  InputStream stream_;
  Type type_ = Type::real;
  int64_t item_bytes_ = 0;
  bool swapped_ = false;  // the bytes of an item are in the other order than this machine's
  bool fortran_order_ = false;
  std::vector<int64_t> shape_;
  int64_t size_ = 0;
  int64_t next_ = 0;   // the number that is read next
  std::string whole_;  // of an array in Fortran order
};

}  // namespace mega::data
