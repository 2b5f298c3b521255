// Bands of a vocabulary sorted by frequency: rarer tokens get narrower embeddings (Baevski and Auli 2019).
#pragma once

#include <cstdint>
#include <vector>

namespace mega {

struct Band {
  int64_t begin = 0, end = 0;  // tokens
  int64_t width = 0;           // of their embeddings

  int64_t size() const { return end - begin; }
};

// One band up to each cutoff and one for the rest; each is `factor` times narrower than the one before.
inline std::vector<Band> make_bands(const std::vector<int64_t>& cutoffs, int64_t vocabulary, int64_t width,
                                    int64_t factor) {
  std::vector<Band> bands;
  int64_t begin = 0;
  for (const int64_t cutoff : cutoffs) {
    bands.push_back({begin, cutoff, width});
    begin = cutoff;
    width /= factor;
  }
  bands.push_back({begin, vocabulary, width});
  return bands;
}

}  // namespace mega
