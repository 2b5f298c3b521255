#include "mega/config/model_file.h"

#include <array>
#include <charconv>

#include "mega/base/error.h"
#include "mega/base/json.h"
#include "mega/base/options_io.h"
#include "mega/base/version.h"

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

ModelFile interpret(Safetensors file, const std::string& where) {
  ModelFile result;
  // The format first: a newer one may have changed everything else.
  const std::string& format = metadata_at(file, kFormat, where);
  const auto writer = file.metadata().find(kVersion);
  if (writer != file.metadata().end()) result.mega_version = writer->second;
  check_format(format, result.mega_version, where);

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

void write_model_file(const std::filesystem::path& path, const ModelOptions& options,
                      std::vector<TensorView> tensors, const Metadata& extra) {
  validate(options);
  Metadata metadata = {{kFormat, std::to_string(kModelFileFormat)},
                       {kVersion, version()},
                       {kOptions, options_to_json(options).dump()}};
  for (const auto& [key, value] : extra)
    require(metadata.emplace(key, value).second, path.string(), ": metadata ", in_quotes(key),
            " is written by the format itself");
  write_safetensors(path, std::move(tensors), metadata);
}

}  // namespace mega
