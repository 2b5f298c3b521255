#include "mega/config/files/state_file.h"

#include <charconv>

#include "mega/base/error.h"
#include "mega/base/files/tensor_hash.h"
#include "mega/base/strings.h"

namespace mega {
namespace {

constexpr const char* kFormatKey = "format";
constexpr const char* kFormat = "mega-state-2";
constexpr const char* kFingerprint = "fingerprint";

bool is_number(const std::string& key) {
  return key != kFormatKey && key != kFingerprint && key != kChecksumKey;
}

std::string checksum(const Metadata& metadata, const std::vector<TensorView>& tensors) {
  return hexadecimal(hash_file(metadata, tensors));
}

// All of the text as one number.
template <class Number>
Number parse_number(const std::string& text, int base, const std::string& where) {
  Number number = 0;
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, number, base);
  require(error == std::errc() && stop == end && !text.starts_with('-'), where,
          ": expected a whole number from 0", base == 16 ? " in hexadecimal digits" : "", ", got ",
          in_quotes(text));
  return number;
}

StateFile interpret(Safetensors file, const std::string& where) {
  const Metadata& metadata = file.metadata();
  const auto format = metadata.find(kFormatKey), sum = metadata.find(kChecksumKey);
  require(format != metadata.end(), where, ": not a state file: its metadata has no ", in_quotes(kFormatKey));
  require(format->second == kFormat, where, ": a state of format ", in_quotes(format->second),
          ", this version reads ", in_quotes(kFormat));
  require(sum != metadata.end() && sum->second == checksum(metadata, file.tensors()), where,
          ": the checksum does not match: the state is damaged");
  StateFile result;
  result.where = where;
  for (const auto& [key, text] : metadata)
    if (is_number(key)) result.numbers[key] = parse_number<int64_t>(text, 10, where + ": " + in_quotes(key));
  if (const auto found = metadata.find(kFingerprint); found != metadata.end())
    result.fingerprint = parse_number<uint64_t>(found->second, 16, where + ": " + kFingerprint);
  result.tensors = std::move(file);
  return result;
}

}  // namespace

StateFile StateFile::open(const std::filesystem::path& path) {
  return interpret(Safetensors::open(path), path.string());
}

StateFile StateFile::parse(std::span<const std::byte> bytes, const std::string& where) {
  return interpret(Safetensors::parse(bytes, where), where);
}

int64_t StateFile::number(const std::string& name) const {
  const auto found = numbers.find(name);
  require(found != numbers.end(), where, ": has no number ", in_quotes(name));
  return found->second;
}

void write_state_file(const std::filesystem::path& path, std::optional<uint64_t> fingerprint,
                      const std::map<std::string, int64_t>& numbers, std::vector<TensorView> tensors) {
  Metadata metadata = {{kFormatKey, kFormat}};
  if (fingerprint) metadata[kFingerprint] = hexadecimal(*fingerprint);
  for (const auto& [name, number] : numbers) {
    require(is_number(name), path.string(), ": the format itself writes ", in_quotes(name));
    require(number >= 0, path.string(), ": ", in_quotes(name), " is ", number,
            ", a state has numbers from 0 only");
    metadata[name] = std::to_string(number);
  }
  metadata[kChecksumKey] = checksum(metadata, tensors);
  write_safetensors(path, std::move(tensors), metadata);
}

}  // namespace mega
