// TensorBoard event files: scalars and text over steps. Each event is written when the call returns, so that
// a run can be watched while it trains.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string_view>

namespace mega {

class EventFile {
 public:
  // Creates events.out.tfevents.<seconds>.<host> in the folder, which is created if needed.
  explicit EventFile(const std::filesystem::path& folder);
  ~EventFile();
  EventFile(const EventFile&) = delete;
  EventFile& operator=(const EventFile&) = delete;

  // A slash in the tag creates groups: "loss/train".
  void scalar(std::string_view tag, int64_t step, double value);
  void text(std::string_view tag, int64_t step, std::string_view text);  // shown as Markdown

  const std::filesystem::path& path() const { return path_; }

 private:
  void write(std::string_view event);

  std::filesystem::path path_;
  int descriptor_ = -1;
};

// CRC-32C (Castagnoli), the checksum of each record.
uint32_t crc32c(std::string_view bytes);

}  // namespace mega
