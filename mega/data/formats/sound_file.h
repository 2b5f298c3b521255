// Files of sound.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "mega/config/recipe/input_options.h"

namespace mega::data {

// The samples of a file in any format of libsndfile, between -1 and 1, as `input` wants them: channels
// averaged, resampled, cut or filled with silence. `whole`: a longer clip is not cut. `name` is for messages;
// `cut`, where given, tells whether a longer clip was cut.
// A file without samples, with fewer than its header says or with some that are no numbers is an Error.
std::vector<float> decode_sound(std::string_view bytes, const AudioInput& input, const std::string& name,
                                bool whole = false, bool* cut = nullptr);

}  // namespace mega::data
