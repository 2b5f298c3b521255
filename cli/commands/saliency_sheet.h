// `mega predict --saliency FILE`: pictures beside what the answers to them rest on.
#pragma once

#include <filesystem>
#include <span>
#include <vector>

#include "cli/any_model.h"
#include "mega/data/encoder.h"
#include "mega/report/contact_sheet.h"

namespace mega::cli {

class SaliencySheet {
 public:
  // An Error if the model reads anything but pictures.
  explicit SaliencySheet(AnyClassifier& classifier);

  // A picture and what the model said of it. Beyond the first kMost, pictures are only counted.
  void add(const data::Record& record, std::span<const float> answer);

  // As PNG; says so where pictures were left out.
  void write(const std::filesystem::path& path) const;

 private:
  static constexpr size_t kMost = 64;

  AnyClassifier& classifier_;
  data::Encoder encoder_;
  std::vector<SheetCell> cells_;
  size_t count_ = 0;
};

}  // namespace mega::cli
