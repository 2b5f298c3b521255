// NumPy's .npy files: one array of numbers.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace mega::data {

// Format versions 1 to 3, in C or Fortran order, either byte order, of float32, float64, bool and the
// integers of 1 to 8 bytes. Anything else is an Error that says what to convert. Memory is taken only for
// bytes that the file really has.
class NpyArray {
 public:
  explicit NpyArray(const std::filesystem::path& path);

  const std::vector<int64_t>& shape() const { return shape_; }
  int64_t size() const { return size_; }

  // By the index in C order, whatever the order in the file.
  double operator[](int64_t index) const;

 private:
  enum class Type { real, integer, natural };

  void read_header(const std::string& header, const std::string& name);
  double decoded(const char* bytes) const;

  Type type_ = Type::real;
  int64_t item_bytes_ = 0;
  bool swapped_ = false;  // the bytes of an item are in the other order than this machine's
  bool fortran_order_ = false;
  std::vector<int64_t> shape_;
  int64_t size_ = 0;
  std::string bytes_;
};

}  // namespace mega::data
