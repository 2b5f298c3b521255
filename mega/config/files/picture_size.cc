#include "mega/config/files/picture_size.h"

#include "mega/base/error.h"

namespace mega {

void set_picture_size(ModelOptions& options, InputOptions& input, PictureSize size) {
  ImageOptions* model = image_options(options);
  auto* pictures = std::get_if<ImageInput>(&input.input);
  require(model != nullptr && pictures != nullptr, "only a model of pictures can read another size of them");
  model->image = pictures->height = size.height;
  pictures->width = size.width;
  model->image_width = size.width == size.height ? 0 : size.width;
}

}  // namespace mega
