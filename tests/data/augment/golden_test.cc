// Operations on pictures against what the reference (Pillow, torchvision, timm, DeiT) made of the same
// pictures: bytes, boxes and orders exactly, real numbers to a millionth. MEGA_GOLDEN_DIR names the folder
// of augment_*.safetensors (tests/golden/README.md).
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <cstring>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "mega/base/files/safetensors.h"
#include "mega/base/strings.h"
#include "mega/data/augment/mix.h"
#include "mega/data/augment/picture_changes.h"
#include "mega/data/augment/random_box.h"
#include "mega/data/augment/repeated_order.h"
#include "mega/data/encoder.h"

namespace mega::data {
namespace {

// One golden file. Every result in it must be asked for.
class GoldenFile {
 public:
  explicit GoldenFile(const std::string& name)
      : file_(Safetensors::open(std::filesystem::path(folder()) / (name + ".safetensors"))) {}
  ~GoldenFile() {
    for (const TensorView& tensor : file_.tensors())
      if (!taken_.contains(tensor.name)) ADD_FAILURE() << tensor.name << ": nothing here used it";
  }

  bool has(const std::string& name) const { return file_.find(name) != nullptr; }
  std::string option(const std::string& key) const { return file_.metadata().at(key); }
  double number(const std::string& key) const { return std::stod(option(key)); }

  template <class T>
  std::vector<T> numbers(const std::string& name) {
    taken_.insert(name);
    const TensorView& tensor = file_.at(name);
    EXPECT_EQ(element_size(tensor.dtype), static_cast<int64_t>(sizeof(T))) << name;
    std::vector<T> values(tensor.data.size() / sizeof(T));
    std::memcpy(values.data(), tensor.data.data(), tensor.data.size());
    return values;
  }
  std::vector<int64_t> shape(const std::string& name) const { return file_.at(name).shape; }

  Picture picture(const std::string& name) {
    const std::vector<int64_t> sizes = shape(name);
    Picture picture(sizes[0], sizes[1], sizes[2]);
    picture.samples = numbers<uint8_t>(name);
    return picture;
  }
  Box box(const std::string& name) {
    const auto sides = numbers<int64_t>(name);
    return {sides[0], sides[1], sides[2], sides[3]};
  }
  // (channels, height, width) in the file, with the channels of a pixel together here.
  std::vector<float> pixels(const std::string& name) {
    const std::vector<int64_t> sizes = shape(name);
    const auto all = numbers<float>(name);
    const size_t rank = sizes.size(), plane = static_cast<size_t>(sizes[rank - 1] * sizes[rank - 2]);
    const auto channels = static_cast<size_t>(sizes[rank - 3]);
    std::vector<float> values(all.size());
    for (size_t i = 0; i < all.size(); ++i) {
      const size_t image = i / (plane * channels), channel = i / plane % channels, at = i % plane;
      values[(image * plane + at) * channels + channel] = all[i];
    }
    return values;
  }

 private:
  static std::string folder() {
    const char* name = std::getenv("MEGA_GOLDEN_DIR");
    require(name != nullptr, "MEGA_GOLDEN_DIR is not set: it names the folder of golden files");
    return name;
  }

  Safetensors file_;
  std::set<std::string> taken_;
};

void expect_equal(const Picture& actual, const Picture& expected, const std::string& what) {
  ASSERT_EQ(actual.height, expected.height) << what;
  ASSERT_EQ(actual.width, expected.width) << what;
  int64_t different = 0;
  for (size_t i = 0; i < actual.samples.size(); ++i) different += actual.samples[i] != expected.samples[i];
  EXPECT_EQ(different, 0) << what << ": samples that differ";
}

void expect_near(const std::vector<float>& actual, const std::vector<float>& expected, double tolerance,
                 const std::string& what) {
  ASSERT_EQ(actual.size(), expected.size()) << what;
  double worst = 0;
  for (size_t i = 0; i < actual.size(); ++i)
    worst = std::max(worst, std::abs(static_cast<double>(actual[i]) - static_cast<double>(expected[i])));
  EXPECT_LE(worst, tolerance) << what;
}

const std::map<std::string, PictureOperation> kNames = {
    {"AutoContrast", PictureOperation::auto_contrast},
    {"Equalize", PictureOperation::equalize},
    {"Invert", PictureOperation::invert},
    {"Rotate", PictureOperation::rotate},
    {"PosterizeIncreasing", PictureOperation::posterize},
    {"SolarizeIncreasing", PictureOperation::solarize},
    {"SolarizeAdd", PictureOperation::solarize_add},
    {"ColorIncreasing", PictureOperation::saturation},
    {"ContrastIncreasing", PictureOperation::contrast},
    {"BrightnessIncreasing", PictureOperation::brightness},
    {"SharpnessIncreasing", PictureOperation::sharpness},
    {"ShearX", PictureOperation::shear_x},
    {"ShearY", PictureOperation::shear_y},
    {"TranslateXRel", PictureOperation::translate_x},
    {"TranslateYRel", PictureOperation::translate_y}};
constexpr Fill kFill = {124, 116, 104};

Picture after(Picture picture, PictureOperation operation, double argument) {
  apply(picture, {operation, argument}, kFill);
  return picture;
}

ImageInput imagenet_input() {
  ImageInput input;
  input.height = input.width = 14;
  input.channels = 3;
  input.means = {0.485, 0.456, 0.406};
  input.deviations = {0.229, 0.224, 0.225};
  input.filter = ImageFilter::bicubic;
  input.crop = 0.875;
  return input;
}

TEST(GoldenAugment, RandAugment) {
  GoldenFile golden("augment_randaugment");
  EXPECT_EQ(std::ssize(kNames), kPictureOperations);
  EXPECT_EQ(fill_of(imagenet_input()), kFill);
  const Picture picture = golden.picture("in.image");
  for (const auto& [name, operation] : kNames) {
    for (int k = 0;; ++k) {
      const std::string key = name + "." + std::to_string(k);
      if (!golden.has("out." + key)) {
        EXPECT_GT(k, 0) << name;
        break;
      }
      double argument = 0;
      if (name != "AutoContrast" && name != "Equalize" && name != "Invert") {
        argument = golden.number("arg." + key);
        const std::string sign = golden.option("sign." + key);
        EXPECT_EQ(has_sign(operation), sign != "none") << key;
        EXPECT_DOUBLE_EQ(operation_argument(operation, golden.number("magnitude." + key), sign == "-1"),
                         argument)
            << key;
      }
      expect_equal(after(picture, operation, argument), golden.picture("out." + key), key);
    }
  }
}

TEST(GoldenAugment, FlatChannels) {
  GoldenFile golden("augment_degenerate");
  const Picture picture = golden.picture("in.image");
  for (const auto& [name, argument] : std::map<std::string, double>{
           {"AutoContrast", 0}, {"ContrastIncreasing", 1.81}, {"Equalize", 0}, {"Rotate", 0}})
    expect_equal(after(picture, kNames.at(name), argument), golden.picture("out." + name + ".0"), name);
}

TEST(GoldenAugment, Levels) {
  GoldenFile golden("augment_levels");
  const auto magnitudes = golden.numbers<double>("in.magnitude");
  for (const auto& [name, operation] : kNames) {
    for (const char* sign : {"plus", "minus"}) {
      const std::string key = "out." + name + "." + sign;
      if (!golden.has(key)) continue;
      const auto expected = golden.numbers<double>(key);
      for (size_t i = 0; i < magnitudes.size(); ++i)
        EXPECT_NEAR(operation_argument(operation, magnitudes[i], sign == std::string("minus")), expected[i],
                    1e-12)
            << key << " at " << magnitudes[i];
    }
  }
}

TEST(GoldenAugment, Resize) {
  GoldenFile golden("augment_resize");
  const Picture picture = golden.picture("in.image");
  for (const auto& [name, filter] :
       std::map<std::string, Filter>{{"bicubic", Filter::bicubic}, {"bilinear", Filter::bilinear}}) {
    for (int k = 0; k < 5; ++k) {
      const std::string key = "out." + name + "." + std::to_string(k);
      const Picture expected = golden.picture(key);
      expect_equal(resampled(picture, expected.height, expected.width, filter), expected, key);
    }
  }
  PictureChanges changes;
  for (int k = 0; k < 3; ++k) {
    const std::string number = std::to_string(k);
    changes.view = {golden.box("in.box." + number), 14, 14, {0, 0, 14, 14}, Filter::bicubic};
    expect_equal(changed(picture, changes, kFill), golden.picture("out.resized_crop." + number),
                 "crop " + number);
  }
  Picture flipped = picture;
  flip(flipped);
  expect_equal(flipped, golden.picture("out.hflip"), "flip");

  changes.view = plain_view(imagenet_input(), picture.height, picture.width);
  EXPECT_EQ(changes.view.height, 19);
  EXPECT_EQ(changes.view.width, 16);
  expect_equal(changed(picture, changes, kFill), golden.picture("out.eval_u8"), "evaluation");
  Signature signature;
  signature.input.input = imagenet_input();
  Record record;
  record.picture = picture;
  const Sequence sequence = Encoder(signature).encode(record);
  EXPECT_EQ(sequence.length, 14 * 14);
  expect_near(sequence.values, golden.pixels("out.eval_tensor"), 1e-6, "evaluation");
}

TEST(GoldenAugment, Jitter) {
  GoldenFile golden("augment_jitter");
  const std::map<std::string, PictureOperation> names = {{"brightness", PictureOperation::brightness},
                                                         {"contrast", PictureOperation::contrast},
                                                         {"saturation", PictureOperation::saturation}};
  const Picture picture = golden.picture("in.image");
  for (const auto& [name, operation] : names) {
    for (int k = 0; k < 3; ++k) {
      const std::string key = name + "." + std::to_string(k);
      expect_equal(after(picture, operation, golden.number("factor." + key)), golden.picture("out." + key),
                   key);
    }
  }
  for (const char* key : {"sequence.0", "sequence.1"}) {
    Picture result = picture;
    for (const std::string& step : split(golden.option(key), ';')) {
      std::istringstream words(step);
      std::string name;
      double factor = 0;
      words >> name >> factor;
      result = after(result, names.at(name), factor);
    }
    expect_equal(result, golden.picture(std::string("out.") + key), key);
  }
}

TEST(GoldenAugment, Boxes) {
  GoldenFile golden("augment_boxes");
  const auto height = golden.numbers<int64_t>("in.height"), width = golden.numbers<int64_t>("in.width");
  const auto area = golden.numbers<double>("in.area_fraction"),
             ratio = golden.numbers<double>("in.log_ratio");
  const auto top = golden.numbers<double>("in.u_top"), left = golden.numbers<double>("in.u_left");
  const auto crops = golden.numbers<int64_t>("out.crop");
  const auto erase_height = golden.numbers<int64_t>("in.erase_height"),
             erase_width = golden.numbers<int64_t>("in.erase_width");
  const auto erase_area = golden.numbers<double>("in.erase_fraction"),
             erase_ratio = golden.numbers<double>("in.erase_log_aspect");
  const auto erased = golden.numbers<int64_t>("out.erase");
  for (size_t i = 0; i < height.size(); ++i) {
    const int64_t* crop = &crops[5 * i];
    const std::optional<Box> box = crop_box(height[i], width[i], {area[i], ratio[i], top[i], left[i]});
    EXPECT_EQ(box.has_value(), crop[4] == 1) << i;
    EXPECT_EQ(box.value_or(central_crop(height[i], width[i], 3.0 / 4.0, 4.0 / 3.0)),
              (Box{crop[0], crop[1], crop[2], crop[3]}))
        << i;
    const int64_t* sides = &erased[3 * i];
    const std::optional<Box> hole =
        erase_box(erase_height[i], erase_width[i], {erase_area[i], erase_ratio[i], 0, 0});
    EXPECT_EQ(hole.has_value(), sides[2] == 1) << i;
    EXPECT_EQ(hole.value_or(Box{}), (Box{0, 0, sides[0], sides[1]})) << i;
  }
}

TEST(GoldenAugment, Mix) {
  GoldenFile golden("augment_mix");
  const std::vector<int64_t> sizes = golden.shape("in.x");
  const PictureShape shape = {sizes[2], sizes[3], sizes[1]};
  const auto labels = golden.numbers<int64_t>("in.target");
  const auto logits = golden.numbers<float>("in.logits");
  const auto classes = static_cast<size_t>(golden.number("num_classes"));
  const auto smoothing = static_cast<float>(golden.number("label_smoothing"));
  // Of distributions over classes.
  const auto loss_of = [&](const std::vector<float>& targets) {
    double loss = 0;
    for (size_t row = 0; row < labels.size(); ++row) {
      double sum = 0;
      for (size_t c = 0; c < classes; ++c) sum += std::exp(static_cast<double>(logits[row * classes + c]));
      for (size_t c = 0; c < classes; ++c)
        loss -= static_cast<double>(targets[row * classes + c]) *
                (static_cast<double>(logits[row * classes + c]) - std::log(sum));
    }
    return loss / static_cast<double>(labels.size());
  };
  // Training smooths the mixed targets, the reference mixes smoothed ones: the same.
  const auto smoothed = [&](std::vector<float> targets) {
    for (float& target : targets) target = (1 - smoothing) * target + smoothing / static_cast<float>(classes);
    return targets;
  };
  for (int k = 0; k < 4; ++k) {
    const std::string number = std::to_string(k);
    const double raw = golden.numbers<double>("in.lam_raw." + number)[0];
    Mix mix = mixup(raw);
    if (golden.option("kind." + number) == "cutmix") {
      const auto centre = golden.numbers<int64_t>("in.center." + number);
      mix = cutmix(raw, centre[0], centre[1], shape);
      const auto edges = golden.numbers<int64_t>("out.box." + number);
      EXPECT_EQ(mix.box, (Box{edges[0], edges[2], edges[1] - edges[0], edges[3] - edges[2]}));
    }
    EXPECT_NEAR(mix.own, golden.numbers<double>("out.lam." + number)[0], 1e-12);
    std::vector<float> x = golden.pixels("in.x");
    mix_pictures(x, shape, mix);
    expect_near(x, golden.pixels("out.x." + number), 1e-6, "x " + number);
    const std::vector<float> targets = smoothed(mix_labels(labels, static_cast<int64_t>(classes), mix));
    expect_near(targets, golden.numbers<float>("out.target." + number), 1e-6, "target " + number);
    EXPECT_NEAR(loss_of(targets), static_cast<double>(golden.numbers<float>("out.loss." + number)[0]), 1e-6);
  }
  const std::vector<float> plain = smoothed(mix_labels(labels, static_cast<int64_t>(classes), {}));
  EXPECT_NEAR(loss_of(plain), static_cast<double>(golden.numbers<float>("out.label_smoothing_loss")[0]),
              1e-6);
}

TEST(GoldenAugment, Erase) {
  GoldenFile golden("augment_erase");
  const int64_t width = golden.shape("in.x")[2];
  for (int k = 0; k < 3; ++k) {
    const std::string number = std::to_string(k);
    std::vector<float> x = golden.pixels("in.x");
    erase(x, width, 3, golden.box("in.box." + number), golden.pixels("in.noise." + number), 2.0);
    expect_near(x, golden.pixels("out.x." + number), 1e-6, number);
  }
}

TEST(GoldenAugment, RepeatedOrder) {
  GoldenFile golden("augment_sampler");
  const auto permutation = golden.numbers<int64_t>("in.permutation");
  for (int64_t worker = 0; worker < 4; ++worker) {
    std::vector<int64_t> examples;
    for (const Repetition& one : repeated_order(permutation, 3, 4, worker)) examples.push_back(one.example);
    EXPECT_EQ(examples, golden.numbers<int64_t>("out.rank" + std::to_string(worker)));
  }
}

}  // namespace
}  // namespace mega::data
