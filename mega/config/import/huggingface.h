// Models of Hugging Face's Mega family: config.json beside the tensors, which lie in model.safetensors or
// pytorch_model.bin. Their layers are the released ones; what surrounds them is not.
#pragma once

#include <cstdint>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "mega/config/import/fairseq_signature.h"
#include "mega/config/import/huggingface_names.h"
#include "mega/config/import/state_dict.h"
#include "mega/config/model_options.h"

namespace mega {

// config.json; a field that it leaves out has the default of that program.
class HuggingFaceConfig {
 public:
  // Error unless it describes a model that ours can be.
  explicit HuggingFaceConfig(const std::filesystem::path& path);

  HuggingFaceFamily family() const { return family_; }
  const std::string& architecture() const { return architecture_; }  // "MegaForCausalLM"
  std::vector<std::string> labels() const;                           // by number; empty: not said

  std::string text(const char* name, const char* missing) const;
  int64_t integer(const char* name, int64_t missing) const;  // null is -1, or 0 where there is none
  double number(const char* name, double missing) const;
  bool flag(const char* name, bool missing) const;

  // "FILE: NAME".
  std::string where(const char* name) const;

 private:
  template <class Value, class Check>
  Value get(const char* name, Value missing, Check is_right, const char* expected) const;

  std::filesystem::path path_;
  nlohmann::json json_;
  HuggingFaceFamily family_ = HuggingFaceFamily::causal;
  std::string architecture_;
};

// The folder of a model, or one of its files, as the file of its tensors.
std::filesystem::path huggingface_tensors(const std::filesystem::path& path);
// Whether config.json of that program lies beside the file of tensors.
bool is_huggingface(const std::filesystem::path& tensors);

// Gives tensors their released names and shapes; those that only exist in that program are taken out.
// Returns what is added to every embedding (the type of the only kind of text that our models read), if any.
std::vector<float> rename_from_huggingface(StateDict& state, const HuggingFaceConfig& config);

ModelOptions huggingface_options(const HuggingFaceConfig& config, const StateDict& state);

ImportedSignature huggingface_signature(const HuggingFaceConfig& config, const ModelOptions& options,
                                        const DataFiles& files);

}  // namespace mega
