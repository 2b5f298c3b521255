#include <algorithm>
#include <atomic>
#include <exception>
#include <functional>
#include <mutex>
#include <sstream>
#include <thread>

#include "mega/base/files/file.h"
#include "mega/data/formats/image_file.h"
#include "mega/data/generators/output_files.h"
#include "mega/data/generators/pathfinder.h"

namespace mega::data {
namespace {

namespace fs = std::filesystem;

constexpr int64_t kBatch = 1000;

// As Python writes it: a number that could be a fraction shows that it could.
std::string with_fraction(double number) {
  std::ostringstream text;
  text << number;
  return text.str() + (text.str().find_first_of(".e") == std::string::npos ? ".0" : "");
}

// Folder and name of the picture, its number, label, continuity, lengths of contours, distractors and
// dashes, thickness, margin, and the number of contrasts.
std::string metadata_line(const PathfinderOptions& options, const PathfinderExample& example, int64_t batch,
                          int64_t number) {
  std::ostringstream line;
  line << "imgs/" << batch << " sample_" << number << ".png " << number << ' ' << example.label << ' '
       << with_fraction(options.continuity) << ' ' << options.contour_length << ' '
       << options.distractor_length << ' ' << options.dash_length << ' ' << options.dash_thickness << ' '
       << example.margin << " 1\n";
  return line.str();
}

}  // namespace

void write_pathfinder(const fs::path& folder, const PathfinderOptions& options, int64_t count, uint64_t seed,
                      const std::function<void(int64_t done)>& progress, int threads) {
  check(options);
  require_possible(count, "pictures");
  const int64_t batches = (count + kBatch - 1) / kBatch;
  create_folder(folder / "metadata");

  std::atomic<int64_t> next_batch = 0;
  std::mutex mutex;  // guards the following
  int64_t done = 0;
  std::exception_ptr error;

  const auto write_batch = [&](PathfinderGenerator& generator, int64_t batch) {
    const fs::path pictures = folder / "imgs" / std::to_string(batch);
    create_folder(pictures);
    std::string metadata;
    const int64_t size = std::min(kBatch, count - batch * kBatch);
    for (int64_t i = 0; i < size; ++i) {
      const PathfinderExample example = generator.example(batch * kBatch + i);
      // A picture needs no commit of its own: until its batch's metadata is written, nobody looks for it.
      write_plain_file(pictures / ("sample_" + std::to_string(i) + ".png"), encode_png(example.image));
      metadata += metadata_line(options, example, batch, i);
      const std::lock_guard lock(mutex);
      if (error) return;
      ++done;
      if (progress) progress(done);
    }
    write_file(folder / "metadata" / (std::to_string(batch) + ".npy"), metadata);
  };
  const auto work = [&] {
    try {
      PathfinderGenerator generator(options, seed);
      for (int64_t batch = next_batch++; batch < batches; batch = next_batch++) write_batch(generator, batch);
    } catch (...) {
      next_batch = batches;
      const std::lock_guard lock(mutex);
      if (!error) error = std::current_exception();
    }
  };
  {
    std::vector<std::jthread> others;
    for (int i = 1; i < threads; ++i) others.emplace_back(work);
    work();
  }
  if (error) std::rethrow_exception(error);
}

}  // namespace mega::data
