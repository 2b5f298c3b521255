// What a model will see of pictures in training, beside the pictures as their files have them.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "mega/data/batches.h"
#include "mega/report/contact_sheet.h"

namespace mega::data {

// The first batch of an epoch, as training would make it: each picture as it is, then as the model reads it;
// its place, its class, and the classes that it is mixed with.
std::vector<SheetCell> picture_sheet(const Part& part, const Encoder& encoder, const BatchOptions& options,
                                     uint64_t seed, int64_t epoch);

// Numbers that a model reads as a picture again.
Thumbnail decoded_picture(std::span<const float> values, const ImageInput& input);

}  // namespace mega::data
