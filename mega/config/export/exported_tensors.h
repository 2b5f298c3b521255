// The tensors of a model file as other programs want them.
#pragma once

#include <deque>
#include <string>
#include <vector>

#include "mega/config/files/model_file.h"

namespace mega {

struct ExportedTensors {
  std::vector<TensorView> tensors;
  std::deque<std::vector<float>> floats;      // that some of them lie in
  std::deque<std::vector<int64_t>> integers;  // the same

  void add(std::string name, std::vector<int64_t> shape, std::vector<float> values);
  void add(std::string name, std::vector<int64_t> shape, std::vector<int64_t> values);
};

// The weights as trained, where they lie in the file; with `tied`, a tensor that is another one under a
// second name stands there too, with the same data. Error where the file is quantised.
ExportedTensors exported_tensors(const ModelFile& file, bool tied);

// Throws where a model that was exported and read again has other options: what the other program cannot say.
// Fields that only training reads may differ, and those in `changed`, by their names ("model.tie_output").
void check_same_options(const ModelOptions& before, const ModelOptions& after, const std::string& where,
                        const std::vector<std::string>& changed = {});

}  // namespace mega
