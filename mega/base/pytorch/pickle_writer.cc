#include "mega/base/pytorch/pickle_writer.h"

#include <bit>
#include <limits>

#include "mega/base/error.h"

namespace mega {
namespace {

// The operations that are written.
enum Operation : char {
  kMark = '(',
  kStop = '.',
  kNone = 'N',
  kTrue = '\x88',
  kFalse = '\x89',
  kInteger = 'J',  // 32 bits
  kLong = '\x8a',  // any number of bytes
  kReal = 'G',
  kText = 'X',
  kEmptyTuple = ')',
  kTuple = 't',
  kEmptyList = ']',
  kAppends = 'e',
  kEmptyDict = '}',
  kSetItems = 'u',
  kGlobal = 'c',
  kNewObject = '\x81',
  kReduce = 'R',
  kBuild = 'b',
  kPersistentId = 'Q',
};

const char* storage_class(DType dtype) {
  switch (dtype) {
    case DType::F64:
      return "DoubleStorage";
    case DType::F32:
      return "FloatStorage";
    case DType::F16:
      return "HalfStorage";
    case DType::BF16:
      return "BFloat16Storage";
    case DType::I64:
      return "LongStorage";
    case DType::I32:
      return "IntStorage";
    case DType::I16:
      return "ShortStorage";
    case DType::I8:
      return "CharStorage";
    case DType::U8:
      return "ByteStorage";
    case DType::BOOL:
      return "BoolStorage";
  }
  fail("PyTorch has no storage of this type");
}

}  // namespace

PickleWriter::PickleWriter() : bytes_("\x80\x02") {}

void PickleWriter::number(uint64_t value, int bytes) {
  for (int i = 0; i < bytes; ++i) bytes_ += static_cast<char>(value >> (8 * i) & 0xFF);
}

void PickleWriter::global(std::string_view module, std::string_view name) {
  bytes_ += kGlobal;
  bytes_.append(module).append("\n").append(name).append("\n");
}

void PickleWriter::none() { bytes_ += kNone; }

void PickleWriter::boolean(bool value) { bytes_ += value ? kTrue : kFalse; }

void PickleWriter::integer(int64_t value) {
  const bool is_short =
      value >= std::numeric_limits<int32_t>::min() && value <= std::numeric_limits<int32_t>::max();
  bytes_ += is_short ? kInteger : kLong;
  if (!is_short) number(sizeof value, 1);
  number(static_cast<uint64_t>(value), is_short ? 4 : 8);
}

void PickleWriter::real(double value) {  // the highest byte first, unlike all else
  bytes_ += kReal;
  const auto bits = std::bit_cast<uint64_t>(value);
  for (int i = 7; i >= 0; --i) bytes_ += static_cast<char>(bits >> (8 * i) & 0xFF);
}

void PickleWriter::text(std::string_view value) {
  bytes_ += kText;
  number(value.size(), 4);
  bytes_.append(value);
}

void PickleWriter::begin_list() { bytes_.append({kEmptyList, kMark}); }
void PickleWriter::end_list() { bytes_ += kAppends; }

void PickleWriter::begin_tuple() { bytes_ += kMark; }
void PickleWriter::end_tuple() { bytes_ += kTuple; }

void PickleWriter::begin_dict() { bytes_.append({kEmptyDict, kMark}); }
void PickleWriter::end_dict() { bytes_ += kSetItems; }

void PickleWriter::begin_fields() {
  global("argparse", "Namespace");
  bytes_.append({kEmptyTuple, kNewObject});
  begin_dict();
}

void PickleWriter::end_fields() {
  end_dict();
  bytes_ += kBuild;
}

void PickleWriter::tensor(std::string_view storage, DType dtype, int64_t storage_elements,
                          std::span<const int64_t> shape) {
  const auto integers = [&](std::span<const int64_t> values) {
    begin_tuple();
    for (const int64_t value : values) integer(value);
    end_tuple();
  };
  std::vector<int64_t> strides(shape.size(), 1);
  for (size_t i = shape.size(); i-- > 1;) strides[i - 1] = strides[i] * shape[i];

  global("torch._utils", "_rebuild_tensor_v2");
  begin_tuple();
  begin_tuple();
  text("storage");
  global("torch", storage_class(dtype));
  text(storage);
  text("cpu");
  integer(storage_elements);
  end_tuple();
  bytes_ += kPersistentId;
  integer(0);  // offset
  integers(shape);
  integers(strides);
  boolean(false);  // needs no gradient
  global("collections", "OrderedDict");
  bytes_.append({kEmptyTuple, kReduce});
  end_tuple();
  bytes_ += kReduce;
}

std::string PickleWriter::finish() const { return bytes_ + static_cast<char>(kStop); }

}  // namespace mega
