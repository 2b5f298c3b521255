// `mega bench predict`: a picture's way through the engine, from its pixels to the outputs, compared with the
// sgemm rate of this machine in the same run.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace mega::bench {

struct PicturePredictSettings {
  std::string preset = "imagenet";
  int threads = 0;    // 0: all cores
  int repeats = 7;    // rounds; the median is reported
  int64_t batch = 8;  // pictures of the rows with several side by side
};

struct PicturePredictRow {
  std::string weights;   // "f32", "bf16", "int8"
  int64_t pictures = 1;  // side by side
  double seconds_per_picture = 0.0;
  double share_of_sgemm = 0.0;
};

struct PicturePredictTable {
  double sgemm = 0.0;  // floating-point operations per second
  int64_t height = 0, width = 0;
  std::vector<PicturePredictRow> rows;

  std::string markdown() const;
  std::string json() const;
};

// Uses random weights and pictures, which do not affect the timing. Pictures are decoded, but of another size
// than the model's.
PicturePredictTable run_picture_predict(const PicturePredictSettings& settings);

}  // namespace mega::bench
