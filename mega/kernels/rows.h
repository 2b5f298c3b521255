// A row-major matrix of floats, or a range of columns of a wider one.
#pragma once

#include <cstdint>

namespace mega::kernels {

template <class T>
struct RowsOf {
  T* data;
  int64_t stride;
  T* operator[](int64_t row) const { return data + row * stride; }
};
using Rows = RowsOf<float>;
using ConstRows = RowsOf<const float>;

}  // namespace mega::kernels
