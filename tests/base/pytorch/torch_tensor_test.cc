#include "mega/base/pytorch/torch_tensor.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "tests/base/helpers.h"

namespace mega::testing {
namespace {

template <class Value>
TorchStorage storage_of(DType dtype, const std::vector<Value>& values) {
  return {"0", dtype, std::ssize(values), std::as_bytes(std::span(values))};
}

std::vector<float> all(const TorchTensor& tensor) {
  std::vector<float> values(static_cast<size_t>(tensor.elements()));
  tensor.read(0, values);
  return values;
}

TEST(TorchTensor, ReadsEveryType) {
  const std::vector<double> doubles{0.5, -3};
  const std::vector<float> floats{0.5F, -3};
  const std::vector<uint16_t> halves{0x3800, 0xC200}, brains{0x3F00, 0xC040};
  const std::vector<float> expected{0.5F, -3};
  EXPECT_EQ(all({storage_of(DType::F64, doubles), 0, {2}, {1}}), expected);
  EXPECT_EQ(all({storage_of(DType::F32, floats), 0, {2}, {1}}), expected);
  EXPECT_EQ(all({storage_of(DType::F16, halves), 0, {2}, {1}}), expected);
  EXPECT_EQ(all({storage_of(DType::BF16, brains), 0, {2}, {1}}), expected);
  const std::vector<float> integers{7, -3};
  EXPECT_EQ(all({storage_of(DType::I64, std::vector<int64_t>{7, -3}), 0, {2}, {1}}), integers);
  EXPECT_EQ(all({storage_of(DType::I32, std::vector<int32_t>{7, -3}), 0, {2}, {1}}), integers);
  EXPECT_EQ(all({storage_of(DType::I16, std::vector<int16_t>{7, -3}), 0, {2}, {1}}), integers);
  EXPECT_EQ(all({storage_of(DType::I8, std::vector<int8_t>{7, -3}), 0, {2}, {1}}), integers);
  EXPECT_EQ(all({storage_of(DType::U8, std::vector<uint8_t>{7, 200}), 0, {2}, {1}}),
            (std::vector<float>{7, 200}));
  EXPECT_EQ(all({storage_of(DType::BOOL, std::vector<uint8_t>{0, 9}), 0, {2}, {1}}),
            (std::vector<float>{0, 1}));
}

TEST(TorchTensor, ReadsOddHalves) {
  const std::vector<uint16_t> halves{0x0000, 0x8000, 0x0001, 0x83FF, 0x7BFF, 0x7C00, 0xFC00, 0x7E00, 0x0400};
  const std::vector<float> values = all({storage_of(DType::F16, halves), 0, {9}, {1}});
  EXPECT_TRUE(std::signbit(values[1]) && values[1] == 0);
  EXPECT_EQ(values[2], 0x1p-24F);
  EXPECT_EQ(values[3], -0x1.FF8p-15F);
  EXPECT_EQ(values[4], 65504.0F);
  EXPECT_EQ(values[5], std::numeric_limits<float>::infinity());
  EXPECT_EQ(values[6], -std::numeric_limits<float>::infinity());
  EXPECT_TRUE(std::isnan(values[7]));
  EXPECT_EQ(values[8], 0x1p-14F);
}

TEST(TorchTensor, FollowsStrides) {
  const std::vector<float> numbers{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11};
  const TorchStorage storage = storage_of(DType::F32, numbers);
  EXPECT_EQ(all({storage, 0, {4, 3}, {1, 4}}), (std::vector<float>{0, 4, 8, 1, 5, 9, 2, 6, 10, 3, 7, 11}));
  EXPECT_EQ(all({storage, 4, {3}, {2}}), (std::vector<float>{4, 6, 8}));
  EXPECT_EQ(all({storage, 5, {2, 2}, {0, 0}}), (std::vector<float>{5, 5, 5, 5}));
  EXPECT_EQ(all({storage, 5, {}, {}}), (std::vector<float>{5}));
  EXPECT_EQ(all({storage, 12, {0, 7}, {3, 1}}), (std::vector<float>{}));
  // Any range is that of the whole.
  const TorchTensor tensor(storage, 1, {2, 2, 2}, {5, 1, 3});
  const std::vector<float> whole = all(tensor);
  for (int64_t begin = 0; begin <= 8; ++begin) {
    std::vector<float> rest(static_cast<size_t>(8 - begin));
    tensor.read(begin, rest);
    EXPECT_EQ(rest, std::vector<float>(whole.begin() + begin, whole.end()));
  }
  std::vector<float> more(2);
  EXPECT_PRED2(contains, error_of([&] { tensor.read(7, more); }), "of a tensor that has 8");
}

TEST(TorchTensor, KnowsWhatIsContiguous) {
  const std::vector<float> numbers(12, 1.0F);
  const TorchStorage storage = storage_of(DType::F32, numbers);
  const auto bytes = TorchTensor(storage, 6, {2, 1, 3}, {3, 77, 1}).contiguous();
  ASSERT_TRUE(bytes.has_value());
  EXPECT_EQ(bytes->data(), storage.data.data() + 24);
  EXPECT_EQ(bytes->size(), 24U);
  EXPECT_FALSE(TorchTensor(storage, 0, {3, 2}, {1, 3}).contiguous());
  EXPECT_FALSE(TorchTensor(storage, 0, {3}, {0}).contiguous());
}

TEST(TorchTensor, ComparesValues) {
  const std::vector<float> numbers{1, 2, 3, 4, 1, 3, 2, 4, std::nanf(""), 1, 2, 3, 5};
  const TorchStorage storage = storage_of(DType::F32, numbers);
  const TorchTensor matrix(storage, 0, {2, 2}, {2, 1});
  EXPECT_TRUE(matrix.equals({storage, 4, {2, 2}, {1, 2}}));
  EXPECT_TRUE(matrix.equals(matrix));
  EXPECT_FALSE(matrix.equals({storage, 4, {2, 2}, {2, 1}}));
  EXPECT_FALSE(matrix.equals({storage, 9, {2, 2}, {2, 1}}));
  EXPECT_FALSE(matrix.equals({storage, 0, {4}, {1}}));
  const TorchTensor undefined(storage, 8, {1}, {1});
  EXPECT_TRUE(undefined.equals(undefined));
}

TEST(TorchTensor, StaysInsideItsStorage) {
  const std::vector<float> numbers(4);
  const TorchStorage storage = storage_of(DType::F32, numbers);
  constexpr int64_t kHuge = std::numeric_limits<int64_t>::max();
  const auto refused = [&](int64_t offset, std::vector<int64_t> shape, std::vector<int64_t> strides) {
    return error_of([&] { TorchTensor(storage, offset, shape, strides); });
  };
  EXPECT_NO_THROW(TorchTensor(storage, 1, {3}, {1}));
  EXPECT_PRED2(contains, refused(2, {3}, {1}), "is not inside its storage of 4 elements");
  EXPECT_PRED2(contains, refused(0, {2, 3}, {2, 1}), "is not inside");
  EXPECT_PRED2(contains, refused(-1, {1}, {1}), "is not inside");
  EXPECT_PRED2(contains, refused(5, {0}, {1}), "is not inside");
  EXPECT_PRED2(contains, refused(0, {-1}, {1}), "is not inside");
  EXPECT_PRED2(contains, refused(3, {2}, {-1}), "is not inside");
  EXPECT_PRED2(contains, refused(0, {3}, {kHuge}), "is not inside");
  EXPECT_PRED2(contains, refused(1, {2, 2}, {kHuge - 1, 1}), "is not inside");
  EXPECT_PRED2(contains, refused(0, {kHuge, 3}, {0, 0}), "is not inside");
  EXPECT_PRED2(contains, refused(0, {1 << 20, 1 << 20}, {0, 0}), "repeats the 4 elements");
  EXPECT_PRED2(contains, refused(0, {2}, {}), "1 sizes and 0 strides");
  EXPECT_PRED2(contains, refused(0, std::vector<int64_t>(9, 1), std::vector<int64_t>(9, 1)), "9 dimensions");
}

TEST(TorchTensor, ReadsIntegersAsTheyAre) {
  const std::vector<int64_t> numbers{(int64_t{1} << 53) + 1, -5};
  const TorchStorage integers = storage_of(DType::I64, numbers);
  std::vector<int64_t> values(2);
  TorchTensor(integers, 0, {2}, {1}).read(0, values);
  EXPECT_EQ(values, numbers);
  const std::vector<float> floats(2);
  const TorchStorage reals = storage_of(DType::F32, floats);
  EXPECT_PRED2(contains, error_of([&] { TorchTensor(reals, 0, {2}, {1}).read(0, values); }),
               "expected integers");
}

}  // namespace
}  // namespace mega::testing
