#include "mega/config/files/model_file.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <set>

#include "mega/base/error.h"
#include "mega/base/files/json.h"
#include "mega/base/files/tensor_hash.h"
#include "mega/base/options/options_io.h"
#include "mega/base/strings.h"
#include "mega/base/version.h"
#include "mega/config/files/signature.h"

namespace mega {
namespace {

constexpr const char* kFormat = "format";
constexpr const char* kVersion = "mega_version";
constexpr const char* kOptions = "options";

const std::string& metadata_at(const Safetensors& file, const char* key, const std::string& where) {
  const auto found = file.metadata().find(key);
  require(found != file.metadata().end(), where, ": not a model of mega: its metadata has no ",
          in_quotes(key));
  return found->second;
}

void check_format(const std::string& text, const std::string& writer, const std::string& where) {
  int64_t format = 0;
  const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), format);
  require(error == std::errc() && stop == text.data() + text.size() && format >= 1, where,
          ": format: expected a whole number from 1, got ", in_quotes(text));
  require(format <= kModelFileFormat, where, ": format ", format, ", written by mega ", in_quotes(writer),
          ", is newer than the ", kModelFileFormat, " that this mega ", version(),
          " reads; update to read it");
}

// "0.10.2" as three numbers; zeros where it is something else.
std::array<int64_t, 3> version_numbers(const std::string& text) {
  std::array<int64_t, 3> numbers{};
  const std::vector<std::string> parts = split(text, '.');
  for (size_t i = 0; i < numbers.size() && i < parts.size(); ++i)
    std::from_chars(parts[i].data(), parts[i].data() + parts[i].size(), numbers[i]);
  return numbers;
}

bool is_newer(const std::string& writer) { return version_numbers(writer) > version_numbers(version()); }

// Of everything that says what the file is: cheap, however large the tensors are.
std::string head_checksum(const Metadata& metadata, std::vector<TensorView> tensors) {
  for (TensorView& tensor : tensors) tensor.data = {};
  return hexadecimal(hash_file(metadata, std::move(tensors)));
}

std::string full_checksum(const Metadata& metadata, const std::vector<TensorView>& tensors) {
  return hexadecimal(hash_file(metadata, tensors));
}

void check_head(const Safetensors& file, const std::string& where) {
  const auto found = file.metadata().find(kChecksumKey);
  if (found == file.metadata().end()) return;
  require(found->second.starts_with(head_checksum(file.metadata(), file.tensors()) + "-"), where,
          ": the checksum does not match: the file is damaged, or was changed by another program");
}

int64_t bytes_of_tensors(const Safetensors& file) {
  int64_t bytes = 0;
  for (const TensorView& tensor : file.tensors()) bytes += static_cast<int64_t>(tensor.data.size());
  return bytes;
}

// "a", "b", "c" and 7 more.
std::string listed(const std::vector<std::string>& names) {
  constexpr size_t kShown = 3;
  std::vector<std::string> quoted;
  for (size_t i = 0; i < std::min(names.size(), kShown); ++i) quoted.push_back(in_quotes(names[i]));
  const std::string text = join(quoted, ", ");
  return names.size() > kShown ? text + " and " + std::to_string(names.size() - kShown) + " more" : text;
}

ModelFile interpret(Safetensors file, const std::string& where) {
  ModelFile result;
  result.where = where;
  // The format first: a newer one may have changed everything else.
  const std::string& format = metadata_at(file, kFormat, where);
  const auto writer = file.metadata().find(kVersion);
  if (writer != file.metadata().end()) result.mega_version = writer->second;
  check_format(format, result.mega_version, where);
  check_head(file, where);

  const std::string options_where = where + ": " + kOptions;
  const nlohmann::json json = parse_json(metadata_at(file, kOptions, where), options_where);
  const std::string newer = is_newer(result.mega_version) ? result.mega_version : "";
  options_from_json(result.options, json, {options_where, {}, newer});
  try {
    validate(result.options);
  } catch (const Error& error) {
    fail(where, ": ", error.what());
  }
  result.tensors = std::move(file);
  if (bytes_of_tensors(result.tensors) <= ModelFile::kVerifiedAtOnce) result.verify();
  return result;
}

}  // namespace

const std::string& ModelFile::options_text() const { return tensors.metadata().at(kOptions); }

ModelFile ModelFile::open(const std::filesystem::path& path) {
  return interpret(Safetensors::open(path), path.string());
}

ModelFile ModelFile::parse(std::span<const std::byte> bytes, const std::string& where) {
  return interpret(Safetensors::parse(bytes, where), where);
}

bool ModelFile::has_checksum() const { return tensors.metadata().contains(kChecksumKey); }

void ModelFile::verify() const {
  if (!has_checksum()) return;
  const Metadata& metadata = tensors.metadata();
  require(metadata.at(kChecksumKey) ==
              head_checksum(metadata, tensors.tensors()) + "-" + full_checksum(metadata, tensors.tensors()),
          where, ": the checksum does not match: the file is damaged; copy or download it again");
}

void check_tensors(const ModelOptions& options, const Safetensors& file) {
  std::vector<std::string> missing;
  for (const TensorInfo& tensor : options.kind().tensors()) {
    if (!tensor.tied_to.empty()) continue;
    const TensorView* found = file.find(tensor.name);
    if (found == nullptr || found->shape != tensor.shape) missing.push_back(tensor.name);
  }
  require(missing.empty(), missing.size(),
          " weights are missing or have another shape: ", missing.empty() ? "" : missing.front(),
          missing.size() > 1 ? ", ..." : "");
  check_surplus(options, file);
}

void check_surplus(const ModelOptions& options, const Safetensors& file) {
  std::set<std::string> known;
  for (const TensorInfo& tensor : options.kind().tensors()) {
    known.insert(tensor.name);
    if (tensor.quantizable) known.insert(scale_name(tensor.name));
  }
  std::vector<std::string> surplus;
  for (const TensorView& tensor : file.tensors())
    if (!known.contains(tensor.name) && !is_signature_tensor(tensor.name)) surplus.push_back(tensor.name);
  require(surplus.empty(), "tensors that a model of these options does not have: ", listed(surplus));
}

void write_with_checksum(const std::filesystem::path& path, std::vector<TensorView> tensors,
                         Metadata metadata) {
  metadata[kChecksumKey] = head_checksum(metadata, tensors) + "-" + full_checksum(metadata, tensors);
  write_safetensors(path, std::move(tensors), metadata);
}

void write_model_file(const std::filesystem::path& path, const ModelOptions& options,
                      std::vector<TensorView> tensors, const Metadata& extra) {
  validate(options);
  Metadata metadata = {{kFormat, std::to_string(kModelFileFormat)},
                       {kVersion, version()},
                       {kOptions, options_to_json(options).dump()},
                       {kChecksumKey, ""}};
  for (const auto& [key, value] : extra)
    require(metadata.emplace(key, value).second, path.string(), ": metadata ", in_quotes(key),
            " is written by the format itself");
  write_with_checksum(path, std::move(tensors), std::move(metadata));
}

}  // namespace mega
