#include "mega/base/files/safetensors.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <nlohmann/json.hpp>
#include <set>
#include <tuple>

#include "mega/base/error.h"
#include "mega/base/files/file.h"
#include "mega/base/files/json.h"
#include "mega/base/strings.h"

namespace mega {
namespace {

constexpr size_t kLengthBytes = 8;
constexpr size_t kAlignment = 64;
constexpr size_t kLongestHeader = 64 << 20;
constexpr size_t kMostDimensions = 16;
constexpr const char* kMetadataKey = "__metadata__";

uint64_t read_little_endian(std::span<const std::byte> bytes) {
  uint64_t value = 0;
  for (size_t i = kLengthBytes; i-- > 0;) value = value << 8 | std::to_integer<uint64_t>(bytes[i]);
  return value;
}

std::string little_endian(uint64_t value) {
  std::string bytes;
  for (size_t i = 0; i < kLengthBytes; ++i) bytes += static_cast<char>(value >> (8 * i) & 0xFF);
  return bytes;
}

// Size of a tensor in bytes; false if it does not fit an int64.
bool checked_size(DType dtype, std::span<const int64_t> shape, int64_t& bytes) {
  bytes = element_size(dtype);
  for (const int64_t size : shape)
    if (size < 0 || __builtin_mul_overflow(bytes, size, &bytes)) return false;
  return true;
}

// A whole number from 0 to INT64_MAX.
int64_t whole_number(const nlohmann::json& value, const std::string& where) {
  constexpr auto kLargest = static_cast<uint64_t>(std::numeric_limits<int64_t>::max());
  require(value.is_number_unsigned() && value.get<uint64_t>() <= kLargest, where,
          ": expected a whole number from 0, got ", in_quotes(value.dump(-1, ' ', true)));
  return value.get<int64_t>();
}

const nlohmann::json& member(const nlohmann::json& entry, const char* key, const std::string& where) {
  const auto found = entry.find(key);
  require(found != entry.end(), where, ": has no ", in_quotes(key));
  return *found;
}

struct Entry {
  TensorView tensor;
  int64_t begin = 0;
  int64_t end = 0;
};

Entry parse_entry(const std::string& name, const nlohmann::json& json, const std::string& where) {
  require(json.is_object(), where, ": expected {dtype, shape, data_offsets}");
  require(json.size() == 3, where, ": expected only dtype, shape and data_offsets");
  Entry entry;
  entry.tensor.name = name;

  const nlohmann::json& dtype = member(json, "dtype", where);
  require(dtype.is_string(), where, ": dtype is not a string");
  try {
    entry.tensor.dtype = parse_enum<DType>(dtype.get_ref<const std::string&>());
  } catch (const Error& error) {
    fail(where, ": dtype: ", error.what());
  }

  const nlohmann::json& shape = member(json, "shape", where);
  require(shape.is_array() && shape.size() <= kMostDimensions, where, ": shape is not a list of at most ",
          kMostDimensions, " sizes");
  for (const nlohmann::json& size : shape)
    entry.tensor.shape.push_back(whole_number(size, where + ": shape"));

  const nlohmann::json& offsets = member(json, "data_offsets", where);
  require(offsets.is_array() && offsets.size() == 2, where, ": data_offsets is not [begin, end]");
  entry.begin = whole_number(offsets[0], where + ": data_offsets");
  entry.end = whole_number(offsets[1], where + ": data_offsets");
  require(entry.begin <= entry.end, where, ": data_offsets: end is before begin");

  int64_t bytes = 0;
  const bool fits = checked_size(entry.tensor.dtype, entry.tensor.shape, bytes);
  require(fits && bytes == entry.end - entry.begin, where, ": shape ", shape_text(entry.tensor.shape), " of ",
          to_string(entry.tensor.dtype), " does not match the ", entry.end - entry.begin,
          " bytes of data_offsets");
  return entry;
}

Metadata parse_metadata(const nlohmann::json& json, const std::string& where) {
  require(json.is_object(), where, ": ", kMetadataKey, " is not an object");
  Metadata metadata;
  for (const auto& [key, value] : json.items()) {
    require(value.is_string(), where, ": ", kMetadataKey, ": the value of ", in_quotes(key),
            " is not a string");
    metadata[key] = value.get<std::string>();
  }
  return metadata;
}

// Bytes other than 0 and 1 are not valid C++ bools.
void check_booleans(const TensorView& tensor, const std::string& where) {
  if (tensor.dtype != DType::BOOL) return;
  const bool valid = std::all_of(tensor.data.begin(), tensor.data.end(),
                                 [](std::byte b) { return std::to_integer<unsigned>(b) <= 1; });
  require(valid, where, ": BOOL data with a byte other than 0 and 1");
}

std::string make_header(std::span<const TensorView> tensors, const Metadata& metadata) {
  nlohmann::ordered_json header = nlohmann::ordered_json::object();
  if (!metadata.empty()) header[kMetadataKey] = metadata;
  size_t offset = 0;
  std::string text;
  // Concatenated by hand, because key lookup in an ordered object is linear in its size.
  for (const TensorView& tensor : tensors) {
    const nlohmann::ordered_json entry = {{"dtype", to_string(tensor.dtype)},
                                          {"shape", tensor.shape},
                                          {"data_offsets", {offset, offset + tensor.data.size()}}};
    text += "," + nlohmann::ordered_json(tensor.name).dump() + ":" + entry.dump();
    offset += tensor.data.size();
  }
  const std::string start = header.dump();
  if (header.empty() && !text.empty()) text.erase(0, 1);
  return start.substr(0, start.size() - 1) + text + "}";
}

}  // namespace

int64_t element_size(DType dtype) {
  switch (dtype) {
    case DType::F64:
    case DType::I64:
      return 8;
    case DType::F32:
    case DType::I32:
      return 4;
    case DType::F16:
    case DType::BF16:
    case DType::I16:
      return 2;
    case DType::I8:
    case DType::U8:
    case DType::BOOL:
      return 1;
  }
  fail("unknown dtype ", static_cast<int>(dtype));
}

std::string shape_text(std::span<const int64_t> shape) {
  std::vector<std::string> sizes;
  for (const int64_t size : shape) sizes.push_back(std::to_string(size));
  return "[" + join(sizes, ", ") + "]";
}

bool TensorView::is_aligned() const {
  return reinterpret_cast<uintptr_t>(data.data()) % static_cast<uintptr_t>(element_size(dtype)) == 0;
}

Safetensors Safetensors::open(const std::filesystem::path& path) {
  const auto file = std::make_shared<const MappedFile>(path);
  Safetensors result = parse(file->bytes(), path.string());
  result.keep_alive_ = file;
  return result;
}

Safetensors Safetensors::parse(std::span<const std::byte> bytes, const std::string& where) {
  require(bytes.size() >= kLengthBytes, where, ": too short for a safetensors file: ", bytes.size(),
          " bytes");
  const uint64_t header_size = read_little_endian(bytes);
  bytes = bytes.subspan(kLengthBytes);
  require(header_size <= bytes.size() && header_size <= kLongestHeader, where,
          ": not a safetensors file: its first 8 bytes give a header size of ", header_size, " bytes, but ",
          bytes.size(), " follow (the maximum is ", kLongestHeader, ")");
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()), header_size);
  const nlohmann::json header = parse_json(text, where + ": header", {.depth = 4});
  // No other white space: any changed byte of a header is detected.
  require(header.is_object() && text.starts_with('{') &&
              text.substr(text.rfind('}') + 1).find_first_not_of(' ') == text.npos,
          where, ": header: expected an object followed only by spaces");
  const std::span<const std::byte> data = bytes.subspan(header_size);

  Safetensors result;
  result.where_ = where;
  std::vector<Entry> entries;
  for (const auto& [name, value] : header.items()) {
    if (name == kMetadataKey)
      result.metadata_ = parse_metadata(value, where);
    else
      entries.push_back(parse_entry(name, value, where + ": tensor " + in_quotes(name)));
  }
  std::sort(entries.begin(), entries.end(), [](const Entry& a, const Entry& b) {
    return std::tie(a.begin, a.end, a.tensor.name) < std::tie(b.begin, b.end, b.tensor.name);
  });

  // Each tensor must begin where the previous one ended: no overlaps and no gaps.
  int64_t expected = 0;
  for (Entry& entry : entries) {
    const std::string tensor_where = where + ": tensor " + in_quotes(entry.tensor.name);
    require(entry.begin == expected, tensor_where, ": data begins at ", entry.begin, ", expected ", expected,
            " (holes and overlaps are not allowed)");
    require(static_cast<uint64_t>(entry.end) <= data.size(), tensor_where, ": data ends at ", entry.end,
            ", past the end of the file (", data.size(), " bytes of data; is the file truncated?)");
    entry.tensor.data =
        data.subspan(static_cast<size_t>(entry.begin), static_cast<size_t>(entry.end - entry.begin));
    check_booleans(entry.tensor, tensor_where);
    result.index_[entry.tensor.name] = result.tensors_.size();
    result.tensors_.push_back(std::move(entry.tensor));
    expected = entry.end;
  }
  require(static_cast<uint64_t>(expected) == data.size(), where, ": ",
          data.size() - static_cast<uint64_t>(expected), " bytes at the end belong to no tensor");
  return result;
}

const TensorView* Safetensors::find(std::string_view name) const {
  const auto found = index_.find(name);
  return found == index_.end() ? nullptr : &tensors_[found->second];
}

const TensorView& Safetensors::at(std::string_view name) const {
  if (const TensorView* tensor = find(name)) return *tensor;
  std::vector<std::string> names;
  for (const TensorView& tensor : tensors_) names.push_back(tensor.name);
  const std::string guess = nearest(name, names);
  fail(where_, ": has no tensor ", in_quotes(name),
       guess.empty() ? " among its " + std::to_string(names.size()) : "; the nearest is " + in_quotes(guess));
}

void write_safetensors(const std::filesystem::path& path, std::vector<TensorView> tensors,
                       const Metadata& metadata) {
  std::set<std::string_view> names;
  for (const TensorView& tensor : tensors) {
    const std::string where = path.string() + ": tensor " + in_quotes(tensor.name);
    require(tensor.name != kMetadataKey, where, ": the name is reserved");
    require(names.insert(tensor.name).second, where, ": duplicate name");
    int64_t bytes = 0;
    require(
        checked_size(tensor.dtype, tensor.shape, bytes) && static_cast<uint64_t>(bytes) == tensor.data.size(),
        where, ": shape ", shape_text(tensor.shape), " of ", to_string(tensor.dtype), " does not match ",
        tensor.data.size(), " bytes");
  }
  // Sizes that are multiples of 64 bytes come first and keep each other aligned; then larger elements before
  // smaller ones, so that every offset is a multiple of the element size. Ties are broken by name.
  std::sort(tensors.begin(), tensors.end(), [](const TensorView& a, const TensorView& b) {
    const auto key = [](const TensorView& t) {
      return std::make_tuple(t.data.size() % kAlignment != 0, -element_size(t.dtype),
                             std::string_view(t.name));
    };
    return key(a) < key(b);
  });

  std::string header;
  try {
    header = make_header(tensors, metadata);
  } catch (const nlohmann::json::exception& error) {
    fail(path.string(), ": a name or metadata value is not valid UTF-8: ", error.what());
  }
  while ((kLengthBytes + header.size()) % kAlignment != 0) header += ' ';
  AtomicFile file(path);
  file.write(little_endian(header.size()));
  file.write(header);
  for (const TensorView& tensor : tensors) file.write(tensor.data);
  file.commit();
}

}  // namespace mega
