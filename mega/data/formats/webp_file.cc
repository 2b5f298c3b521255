#include <webp/decode.h>
#include <webp/demux.h>

#include <memory>

#include "mega/base/error.h"
#include "mega/data/formats/exif.h"
#include "mega/data/formats/picture_decoders.h"

namespace mega::data {
namespace {

const uint8_t* begin_of(std::string_view bytes) { return reinterpret_cast<const uint8_t*>(bytes.data()); }

template <auto kDelete>
struct Deleter {
  void operator()(auto* object) const { kDelete(object); }
};

// The first picture of a film, on its canvas.
bool decode_first_frame(std::string_view bytes, Picture& picture) {
  WebPAnimDecoderOptions options;
  if (!WebPAnimDecoderOptionsInit(&options)) return false;
  options.color_mode = MODE_RGBA;
  const WebPData data = {begin_of(bytes), bytes.size()};
  const std::unique_ptr<WebPAnimDecoder, Deleter<WebPAnimDecoderDelete>> decoder(
      WebPAnimDecoderNew(&data, &options));
  uint8_t* canvas = nullptr;
  int time = 0;
  if (!decoder || !WebPAnimDecoderGetNext(decoder.get(), &canvas, &time)) return false;
  WebPAnimInfo info;
  if (!WebPAnimDecoderGetInfo(decoder.get(), &info) || info.canvas_width != picture.width ||
      info.canvas_height != picture.height)
    return false;
  picture.samples.assign(canvas, canvas + picture.samples.size());
  return true;
}

bool decode_still(std::string_view bytes, Picture& picture) {
  const auto decode = picture.channels == 4 ? WebPDecodeRGBAInto : WebPDecodeRGBInto;
  return decode(begin_of(bytes), bytes.size(), picture.samples.data(), picture.samples.size(),
                static_cast<int>(picture.width * picture.channels)) != nullptr;
}

int orientation_of(std::string_view bytes) {
  const WebPData data = {begin_of(bytes), bytes.size()};
  const std::unique_ptr<WebPDemuxer, Deleter<WebPDemuxDelete>> demuxer(WebPDemux(&data));
  WebPChunkIterator chunk;
  if (!demuxer || !WebPDemuxGetChunk(demuxer.get(), "EXIF", 1, &chunk)) return 1;
  const int orientation =
      exif_orientation({reinterpret_cast<const char*>(chunk.chunk.bytes), chunk.chunk.size});
  WebPDemuxReleaseChunkIterator(&chunk);
  return orientation;
}

}  // namespace

Picture decode_webp(std::string_view bytes, const std::string& name) {
  WebPBitstreamFeatures features;
  require(WebPGetFeatures(begin_of(bytes), bytes.size(), &features) == VP8_STATUS_OK, name,
          ": a damaged WebP file: its header cannot be read");
  Picture picture;
  const bool film = features.has_animation != 0;
  set_size(picture, features.height, features.width, film || features.has_alpha ? 4 : 3, name);
  require(film ? decode_first_frame(bytes, picture) : decode_still(bytes, picture), name,
          ": a damaged WebP file: its pixels cannot be read");
  return upright(std::move(picture), orientation_of(bytes));
}

}  // namespace mega::data
