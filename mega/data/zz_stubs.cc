#include "mega/data/readers.h"
#include "mega/base/error.h"
namespace mega::data {
#define S(name, in) Records name(const std::filesystem::path&, const DataOptions&, const in&, Problems&) { fail("stub"); }
S(read_cifar, ImageInput) S(read_idx, ImageInput) S(read_pathfinder, ImageInput) S(read_audio, AudioInput) S(read_images, ImageInput)
Record read_image(const std::filesystem::path&, const ImageInput&) { fail("stub"); }
Record read_sound(const std::filesystem::path&, const AudioInput&) { fail("stub"); }
}
