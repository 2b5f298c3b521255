// `mega bench stream`: a very long text, token by token. Compares time per token and memory at the end with
// those near the beginning.
#pragma once

#include <cstdint>
#include <string>

namespace mega::bench {

struct StreamSettings {
  std::string preset = "bytes-small";
  int64_t tokens = 1000000;
  int threads = 1;  // a token of a small model is too little work to share
};

struct StreamResult {
  int64_t tokens = 0, part = 0;                    // the first and last `part` tokens are compared
  double first_seconds = 0.0, last_seconds = 0.0;  // per token; `first` is measured after one chunk
  int64_t state_bytes = 0;                         // maximum size of the session's state
  double early_mb = 0.0, late_mb = 0.0;  // resident memory of the process after one chunk and at the end

  std::string markdown() const;
  std::string json() const;
};

StreamResult run_stream(const StreamSettings& settings);

}  // namespace mega::bench
