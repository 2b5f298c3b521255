// Any bytes as a checkpoint of PyTorch: as a file, as a pickle inside a well-formed archive, and as pieces of
// pickles put together. Either there is an Error, or every value can be looked at and every tensor read.
#include <fuzzer/FuzzedDataProvider.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <vector>

#include "mega/base/error.h"
#include "mega/base/pytorch/torch_file.h"
#include "tests/base/pytorch/pickle_bytes.h"

namespace {

using namespace mega;
using namespace mega::testing;

void check(bool ok) {
  if (!ok) std::abort();
}

void read_tensor(const TorchTensor& tensor) {
  std::vector<float> values(static_cast<size_t>(std::min<int64_t>(tensor.elements(), 1 << 12)));
  tensor.read(tensor.elements() - std::ssize(values), values);
  tensor.equals(tensor);
  if (const auto bytes = tensor.contiguous())
    check(static_cast<int64_t>(bytes->size()) == tensor.elements() * element_size(tensor.dtype()));
}

// Depth is bounded, but not the number of ways to reach a value that is shared.
void visit(const PickleValue& value, int& left) {
  if (--left < 0) return;
  if (value.is_tensor()) read_tensor(value.tensor(""));
  if (value.kind() == PickleValue::Kind::list || value.kind() == PickleValue::Kind::tuple)
    for (const PickleValue& item : value.items("")) visit(item, left);
  if (!value.is_table()) return;
  for (const PickleEntry& entry : value.entries("")) {
    if (entry.key.is_text()) check(value.find(entry.key.text("")) == &entry.value);
    visit(entry.value, left);
  }
}

void read(const std::string& bytes) {
  try {
    const TorchFile file = TorchFile::parse(bytes_of(bytes), "fuzz");
    int left = 10000;
    visit(file.root(), left);
  } catch (const Error&) {
  }
}

std::string in_archive(const std::string& pickle, bool deflate) {
  ZipBytes zip;
  zip.large = true;
  zip.add("archive/data.pkl", pickle, deflate && pickle.size() < 0xFFFF ? 8 : 0);
  zip.add("archive/data/0", std::string(16, '\x3f'));
  zip.add("archive/data/1", std::string(64, '\x3c'), 8);
  return zip.finish();
}

int64_t small(FuzzedDataProvider& choices) { return choices.ConsumeIntegralInRange<int64_t>(-1, 9); }

// One operation, or a few that belong together.
std::string piece(FuzzedDataProvider& choices) {
  static const auto kTypes =
      std::to_array<std::string>({"FloatStorage", "HalfStorage", "DoubleStorage", "LongStorage"});
  static const std::string kSingle = std::string("N()]}taesub.RQ0") + "\x81\x85\x86\x87\x88\x89\x93\x94";
  switch (choices.ConsumeIntegralInRange<int>(0, 9)) {
    case 0:
      return std::string(1, kSingle[choices.ConsumeIntegralInRange<size_t>(0, kSingle.size() - 1)]);
    case 1:
      return text_op(choices.ConsumeRandomLengthString(6));
    case 2:
      return int_op(small(choices));
    case 3: {
      const std::string key(1, static_cast<char>('0' + choices.ConsumeIntegralInRange<int>(0, 1)));
      const std::string& type = kTypes[choices.ConsumeIntegralInRange<size_t>(0, kTypes.size() - 1)];
      const int64_t size = type == "HalfStorage" ? 8 : type == "FloatStorage" ? 4 : 2;
      const std::string storage = storage_op(type, key, key == "0" ? size : 4 * size);
      return tensor_op(storage, small(choices), small(choices), small(choices));
    }
    case 4:
      return "q" + little(choices.ConsumeIntegralInRange<uint64_t>(0, 7), 1);
    case 5:
      return "h" + little(choices.ConsumeIntegralInRange<uint64_t>(0, 7), 1);
    case 6:
      return global_op("argparse", "Namespace") + ")\x81}" + text_op("a") + int_op(small(choices)) + "sb";
    case 7:
      return global_op("collections", "OrderedDict") + (choices.ConsumeBool() ? ")R" : "");
    case 8:
      return global_op("numpy", "dtype") + text_op("i8") + "\x85R";
    default:
      return choices.ConsumeRandomLengthString(4);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  FuzzedDataProvider choices(data, size);
  switch (choices.ConsumeIntegralInRange<int>(0, 3)) {
    case 0:
      read(choices.ConsumeRemainingBytesAsString());
      break;
    case 1:
      read(in_archive(choices.ConsumeRemainingBytesAsString(), false));
      break;
    case 2: {
      std::string archive = in_archive(
          kProto + "}" + text_op("model") + tensor_op(storage_op("FloatStorage", "0", 4), 0, 4, 1) + "s.",
          true);
      for (int i = 0; i < 8 && choices.remaining_bytes() > 0; ++i)
        archive[choices.ConsumeIntegralInRange<size_t>(0, archive.size() - 1)] =
            choices.ConsumeIntegral<char>();
      read(archive);
      break;
    }
    default: {
      const bool deflate = choices.ConsumeBool();
      std::string pickle = kProto;
      while (choices.remaining_bytes() > 0) pickle += piece(choices);
      read(in_archive(pickle + ".", deflate));
    }
  }
  return 0;
}
