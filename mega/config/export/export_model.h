// Models of ours as files of other programs.
#pragma once

#include <filesystem>

#include "mega/base/options/options.h"
#include "mega/config/files/model_file.h"

namespace mega {

enum class ExportFormat { fairseq, huggingface, safetensors };

template <>
struct EnumNames<ExportFormat> {
  static constexpr auto names = enum_table<ExportFormat>({{ExportFormat::fairseq, "fairseq"},
                                                          {ExportFormat::huggingface, "huggingface"},
                                                          {ExportFormat::safetensors, "safetensors"}});
};

// Where a model is written unless it is told: NAME.pt, the folder NAME-huggingface, NAME.weights.safetensors.
std::filesystem::path export_path(const std::filesystem::path& model, ExportFormat format);

// Writes `path`, of which nothing is left where that fails: an Error says what the other program cannot have.
void export_model(const ModelFile& file, ExportFormat format, const std::filesystem::path& path);

// A checkpoint that the released program loads: its options, its names, its tied tensors.
void export_fairseq(const ModelFile& file, const std::filesystem::path& path);

// A folder with config.json and model.safetensors.
void export_huggingface(const ModelFile& file, const std::filesystem::path& folder);

// The weights alone, under the released names.
void export_safetensors(const ModelFile& file, const std::filesystem::path& path);

}  // namespace mega
