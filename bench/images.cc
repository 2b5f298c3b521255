#include "bench/images.h"

#include <algorithm>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <numeric>

#include "bench/measure.h"
#include "mega/base/error.h"
#include "mega/base/files/stream.h"
#include "mega/base/random.h"
#include "mega/base/strings.h"
#include "mega/config/recipe/presets.h"
#include "mega/data/augment/picture_changes.h"
#include "mega/data/batches.h"
#include "mega/data/formats/image_file.h"
#include "mega/data/formats/resample.h"
#include "mega/data/readers/read_images.h"
#include "mega/ops/runtime.h"
#include "mega/report/table.h"

namespace mega::bench {
namespace {

using data::Picture;

constexpr size_t kPictures = 32;
constexpr int64_t kHeight = 375, kWidth = 500;  // the most frequent size in ImageNet

struct File {
  std::string name, bytes;
};

// Something with the spectrum of a photograph: noise of all sizes, the coarse the strongest, in colours that
// differ little.
Picture photograph(uint64_t seed) {
  Random draws(seed);
  std::vector<double> sums(static_cast<size_t>(kHeight * kWidth * 3), 128.0);
  double strength = 90.0;
  for (int64_t rows = 3; rows <= kHeight; rows *= 2, strength *= 0.75) {
    Picture grey(rows, rows * 4 / 3, 1), tint(rows, rows * 4 / 3, 3);
    for (Picture* noise : {&grey, &tint})
      for (uint8_t& sample : noise->samples) sample = static_cast<uint8_t>(draws.below(256));
    const Picture light = data::resampled(grey, kHeight, kWidth, data::Filter::bicubic);
    const Picture colour = data::resampled(tint, kHeight, kWidth, data::Filter::bicubic);
    for (size_t i = 0; i < sums.size(); ++i)
      sums[i] += strength * ((light.samples[i / 3] - 127.5) + 0.3 * (colour.samples[i] - 127.5)) / 127.5;
  }
  Picture picture(kHeight, kWidth, 3);
  for (size_t i = 0; i < sums.size(); ++i)
    picture.samples[i] = static_cast<uint8_t>(std::clamp(sums[i], 0.0, 255.0));
  return picture;
}

std::vector<File> made_files() {
  constexpr int kQuality = 90;
  std::vector<File> files;
  for (size_t i = 0; i < kPictures; ++i)
    files.push_back({"photograph " + std::to_string(i + 1),
                     data::encode_jpeg(photograph(stream_seed(0, "photograph", i)), {.quality = kQuality})});
  return files;
}

std::vector<File> read_files(const std::filesystem::path& path) {
  std::vector<std::filesystem::path> paths = {path};
  if (std::filesystem::is_directory(path)) {
    paths.clear();
    for (const auto& entry : std::filesystem::recursive_directory_iterator(path))
      if (entry.is_regular_file()) paths.push_back(entry.path());
    std::sort(paths.begin(), paths.end());
  }
  // Evenly spread, so that all classes are among them.
  std::vector<File> files;
  for (size_t i = 0; i < std::min(kPictures, paths.size()); ++i) {
    const std::filesystem::path& one = paths[i * paths.size() / std::min(kPictures, paths.size())];
    files.push_back({one.string(), read_stream(one, data::kLargestPictureFile)});
  }
  require(!files.empty(), path.string(), ": there are no pictures");
  return files;
}

std::string describe(const std::vector<File>& files, const std::vector<Picture>& pictures) {
  double bytes = 0, pixels = 0;
  for (const File& file : files) bytes += static_cast<double>(file.bytes.size());
  for (const Picture& picture : pictures) pixels += static_cast<double>(picture.height * picture.width);
  const auto count = static_cast<double>(files.size());
  return std::to_string(files.size()) + " pictures of " + number("%.2f", 1e-6 * pixels / count) +
         " megapixels and " + number("%.0f", 1e-3 * bytes / count) + " kB on average";
}

// What all rows work on.
struct Setting {
  ImageInput input;
  AugmentOptions augment;
  std::vector<File> files;
  std::vector<Picture> decoded;  // with as many channels as the input
  std::vector<data::PictureChanges> changes;
  std::unique_ptr<data::Encoder> encoder;
  data::Part part;  // the files, which are decoded each time they are asked for
};

data::Part part_of(const std::vector<File>& files) {
  const auto read = [&files](const std::filesystem::path& number) {
    const File& file = files[std::stoul(number.string())];
    return data::decoded_image(file.bytes, file.name, {});
  };
  const auto source = std::make_shared<const data::ExampleFiles>(data::ExampleFiles{"", read});
  auto examples = std::make_shared<data::Examples>(0);
  data::Part part;
  for (size_t i = 0; i < files.size(); ++i) {
    data::Record record;
    record.where = std::to_string(i);
    examples->add_unread(std::move(record), source);
    part.numbers.push_back(static_cast<int64_t>(i));
    part.labels.push_back(static_cast<int64_t>(i % 2));
  }
  part.examples = std::move(examples);
  return part;
}

std::shared_ptr<Setting> make_setting(const ImagesSettings& settings) {
  auto setting = std::make_shared<Setting>();
  const Recipe recipe = load_recipe(settings.preset);
  const auto* input = std::get_if<ImageInput>(&recipe.input.input);
  require(input != nullptr, "bench images needs a preset of a model of pictures; ",
          in_quotes(settings.preset), " is not one");
  setting->input = *input;
  setting->augment = recipe.augment;
  setting->files = settings.data.empty() ? made_files() : read_files(settings.data);
  for (const File& file : setting->files) {
    const Picture picture = data::decode_image(file.bytes, file.name);
    setting->changes.push_back(data::draw_changes(recipe.augment.image, *input, picture.height, picture.width,
                                                  setting->changes.size()));
    setting->decoded.push_back(data::with_channels(picture, input->channels));
  }
  Signature signature;
  signature.input = recipe.input;
  signature.classes = {"a", "b"};
  setting->encoder = std::make_unique<data::Encoder>(std::move(signature));
  setting->part = part_of(setting->files);
  return setting;
}

// A batch as training, or evaluation, makes it.
std::function<void()> batch_maker(const std::shared_ptr<Setting>& setting, int64_t size, bool training,
                                  int64_t threads) {
  std::vector<int64_t> examples;
  for (int64_t i = 0; i < size; ++i) examples.push_back(i % setting->part.size());
  return [=] {
    data::make_batch(setting->part, *setting->encoder, examples, 1,
                     {training, 1, 0, setting->augment, threads});
  };
}

std::vector<Candidate> make_candidates(const std::shared_ptr<Setting>& setting, int64_t batch) {
  const auto for_all = [&](const std::string& what, const auto& work) {
    Candidate candidate{what, "", [=] {
                          for (size_t i = 0; i < setting->files.size(); ++i) work(*setting, i);
                        }};
    candidate.tokens = static_cast<double>(setting->files.size());
    return candidate;
  };
  const std::string size =
      std::to_string(setting->input.height) + " x " + std::to_string(setting->input.width);
  std::vector<Candidate> candidates = {
      for_all("decoding alone",
              [](const Setting& s, size_t i) { data::decode_image(s.files[i].bytes, s.files[i].name); }),
      for_all("scaling and centre crop alone, to " + size,
              [](const Setting& s, size_t i) {
                const Picture& picture = s.decoded[i];
                data::resampled(picture, data::plain_view(s.input, picture.height, picture.width));
              }),
      for_all("random resized crop alone, to " + size,
              [](const Setting& s, size_t i) { data::resampled(s.decoded[i], s.changes[i].view); }),
      for_all("crop, flip and RandAugment alone", [](const Setting& s, size_t i) {
        data::changed(s.decoded[i], s.changes[i], data::fill_of(s.input));
      })};
  const auto add_batch = [&](const std::string& what, bool training, int64_t threads) {
    Candidate candidate{what, "", batch_maker(setting, batch, training, threads)};
    candidate.tokens = static_cast<double>(batch);
    candidate.channels = static_cast<double>(threads);
    candidates.push_back(candidate);
  };
  add_batch("evaluation: decoding, centre crop, numbers", false, 1);
  add_batch("training: decoding, all augmentation, numbers", true, 1);
  if (const int64_t cores = ops::available_cores(); cores > 1)
    add_batch("the same with " + std::to_string(cores) + " threads", true, cores);
  return candidates;
}

}  // namespace

ImagesTable run_images(const ImagesSettings& settings) {
  const std::shared_ptr<Setting> setting = make_setting(settings);
  ImagesTable table;
  table.pictures = describe(setting->files, setting->decoded);
  for (const bench::Row& row : measure(make_candidates(setting, settings.batch), settings.repeats))
    table.rows.push_back({row.name, 1.0 / row.tokens_per_s, row.spread,
                          std::max<int64_t>(1, static_cast<int64_t>(row.channels))});
  return table;
}

std::string ImagesTable::markdown() const {
  Table table({"what", "ms per picture", "± %", "pictures/s", "pictures/s per core"});
  for (const Row& row : rows)
    table.add({row.what, number("%.2f", 1e3 * row.seconds),
               row.spread >= 0 ? number("%.1f", 100 * row.spread) : "", number("%.0f", 1.0 / row.seconds),
               number("%.0f", 1.0 / row.seconds / static_cast<double>(row.cores))});
  return pictures + "\n\n" + table.markdown();
}

std::string ImagesTable::json() const {
  nlohmann::ordered_json report = {{"pictures", pictures}, {"rows", nlohmann::ordered_json::array()}};
  for (const Row& row : rows)
    report["rows"].push_back({{"what", row.what},
                              {"seconds_per_picture", row.seconds},
                              {"spread", row.spread},
                              {"pictures_per_second", 1.0 / row.seconds},
                              {"cores", row.cores}});
  return report.dump(2) + "\n";
}

}  // namespace mega::bench
