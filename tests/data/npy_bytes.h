// .npy files for tests, as NumPy writes them.
#pragma once

#include <string>
#include <vector>

namespace mega::testing {

template <class T>
std::string npy_bytes(const std::vector<T>& values) {
  return {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T)};
}

inline std::string npy_file(const std::string& type, const std::string& shape, const std::string& bytes,
                            bool fortran_order = false, int version = 1) {
  const std::string header = "{'descr': '" + type +
                             "', 'fortran_order': " + (fortran_order ? "True" : "False") +
                             ", 'shape': " + shape + ", }\n";
  std::string file = "\x93NUMPY";
  file += static_cast<char>(version);
  file += '\0';
  for (int i = 0; i < (version == 1 ? 2 : 4); ++i) file += static_cast<char>(header.size() >> (8 * i));
  return file + header + bytes;
}

}  // namespace mega::testing
