// Which files, or which parts of them, a running text is trained and evaluated on.
#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "mega/config/recipe/data_options.h"
#include "mega/data/corpus/file_hash.h"
#include "mega/data/corpus/text_reader.h"

namespace mega::data {

// A text in three pieces, in its order: for training, validation and test. Cut by bytes, at the end of a line
// where there is one near.
class TextDivision {
 public:
  // Shares of the whole text; the first piece is what they leave.
  TextDivision(std::vector<std::filesystem::path> files, double valid_share, double test_share)
      : files_(std::move(files)), valid_share_(valid_share), test_share_(test_share) {}

  // Reads the text once to know its length.
  TextRange piece(size_t number);
  // The same for the same division, without reading.
  std::string description() const;

 private:
  std::vector<std::filesystem::path> files_;
  double valid_share_, test_share_;
  std::optional<std::array<int64_t, 4>> cuts_;
};

// The text of one split.
struct TextSource {
  std::vector<std::filesystem::path> files;
  std::shared_ptr<TextDivision> division;  // null: the files as a whole
  size_t piece = 0;
  std::string name;
  std::shared_ptr<FileHashes>
      hashes;  // shared by the sources of one text; null: the fingerprint is not needed

  TextRange range() const;
  // Of what is in the files now, in their order, and of what is taken of them. Reads all of them.
  uint64_t fingerprint() const;
};

struct TextSources {
  TextSource train, valid, test;  // without files where there is none
};

// What the options name. Where data.path is a folder, names in it say the split; where nothing does, the text
// is divided. Standard input is first copied into the folder `spool`.
TextSources find_texts(const DataOptions& options, const std::filesystem::path& spool);

}  // namespace mega::data
