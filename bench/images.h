// `mega bench images`: how many pictures a core makes ready for a model in a second, and what of the work
// takes how long. All rows are measured in turns in one run.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace mega::bench {

struct ImagesSettings {
  std::string preset = "imagenet";  // its input and its augmentation
  std::string data;                 // a file or a folder of pictures; empty: photographs are made
  int64_t batch = 64;               // pictures of a batch
  int repeats = 7;
};

struct ImagesTable {
  struct Row {
    std::string what;
    double seconds = 0.0, spread = 0.0;  // per picture
    int64_t cores = 1;                   // that worked on it
  };
  std::string pictures;  // what was read
  std::vector<Row> rows;

  std::string markdown() const;
  std::string json() const;
};

ImagesTable run_images(const ImagesSettings& settings);

}  // namespace mega::bench
