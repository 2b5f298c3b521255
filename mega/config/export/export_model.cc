#include "mega/config/export/export_model.h"

#include "mega/config/export/exported_tensors.h"

namespace mega {

namespace fs = std::filesystem;

fs::path export_path(const fs::path& model, ExportFormat format) {
  const std::string name = model.stem().string();
  switch (format) {
    case ExportFormat::fairseq:
      return name + ".pt";
    case ExportFormat::huggingface:
      return name + "-huggingface";
    case ExportFormat::safetensors:
      break;
  }
  return name + ".weights.safetensors";
}

void export_model(const ModelFile& file, ExportFormat format, const fs::path& path) {
  switch (format) {
    case ExportFormat::fairseq:
      return export_fairseq(file, path);
    case ExportFormat::huggingface:
      return export_huggingface(file, path);
    case ExportFormat::safetensors:
      return export_safetensors(file, path);
  }
}

void export_safetensors(const ModelFile& file, const fs::path& path) {
  const ExportedTensors exported = exported_tensors(file, false);
  write_safetensors(path, exported.tensors, {{"format", "pt"}});
}

}  // namespace mega
