#include "cli/commands/saliency_sheet.h"

#include <algorithm>
#include <cstdio>

#include "mega/base/error.h"
#include "mega/base/files/file.h"
#include "mega/base/strings.h"
#include "mega/data/picture_sheet.h"
#include "mega/report/heat_overlay.h"

namespace mega::cli {

SaliencySheet::SaliencySheet(AnyClassifier& classifier)
    : classifier_(classifier), encoder_(classifier.signature()) {
  require(std::holds_alternative<ImageInput>(classifier.signature().input.input),
          "--saliency is for models of pictures");
}

void SaliencySheet::add(const data::Record& record, std::span<const float> answer) {
  if (++count_ > kMost) return;
  const Signature& signature = classifier_.signature();
  const auto& input = std::get<ImageInput>(signature.input.input);
  const auto label = std::max_element(answer.begin(), answer.end()) - answer.begin();
  const Thumbnail seen = data::decoded_picture(encoder_.encode(record).values, input);
  std::string said = "output " + std::to_string(label + 1);
  if (!signature.classes.empty()) {
    char probability[16];
    std::snprintf(probability, sizeof probability, " %.1f %%",
                  100.0 * static_cast<double>(answer[static_cast<size_t>(label)]));
    said = signature.classes[static_cast<size_t>(label)] + probability;
  }
  cells_.push_back({{seen, heat_overlay(seen, classifier_.saliency(record, label))},
                    {std::filesystem::path(record.where).filename().string(), said}});
}

void SaliencySheet::write(const std::filesystem::path& path) const {
  require(!cells_.empty(), "--saliency: there is no picture to show");
  constexpr int64_t kSide = 256;
  write_file(path, to_png(contact_sheet(cells_, kSide)));
  if (count_ > kMost)
    std::fprintf(stderr, "note: %s shows the first %zu of %s pictures\n", path.c_str(), kMost,
                 with_thousands(static_cast<int64_t>(count_)).c_str());
}

}  // namespace mega::cli
