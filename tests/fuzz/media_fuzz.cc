// Any bytes as a picture, as sound and as an array: of the size that was asked for, or there is an Error.
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>

#include "mega/base/error.h"
#include "mega/data/encoder.h"
#include "mega/data/formats/npy.h"
#include "mega/data/readers/readers.h"
#include "tests/fuzz/scratch_file.h"

namespace {

using namespace mega;

void check(bool ok) {
  if (!ok) std::abort();
}

template <class Action>
void unless_error(const Action& action) {
  try {
    action();
  } catch (const Error&) {
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t size) {
  static const testing::ScratchFile file("");
  const auto& path = file.write({bytes, size});
  unless_error([&] {
    const data::Record picture = data::read_image(path);
    Signature signature;
    signature.input.input = ImageInput{4, 5, 0.5, 0.5};
    check(data::Encoder(signature).encode(picture).values.size() == 20);
    // In colours, changed in every way.
    ImageInput colours{4, 5};
    colours.channels = 3;
    colours.crop = 0.8;
    signature.input.input = colours;
    AugmentOptions augment;
    augment.image.crop = true;
    augment.image.flip = augment.image.jitter = augment.image.erase = 0.5;
    augment.image.operations = 3;
    check(data::Encoder(signature).encode(picture, 0, {augment, size}).values.size() == 60);
    check(data::Encoder(signature).encode(picture).values.size() == 60);
  });
  unless_error([&] {
    const data::Record sound = data::read_sound(path, AudioInput{8000, 64, Standardize::none});
    check(sound.values.size() == 64);
    for (const float sample : sound.values) check(std::isfinite(sample));
  });
  unless_error([&] {
    data::NpyFile array(path);
    std::vector<double> values;
    array.read(array.size(), values);  // every element is inside the file
  });
  return 0;
}
