// What cameras and drawing programs write besides plain pictures.
#include <gtest/gtest.h>

#include <cmath>

#include "mega/base/random.h"
#include "mega/data/formats/exif.h"
#include "mega/data/formats/image_file.h"
#include "mega/data/formats/resample.h"
#include "tests/base/helpers.h"
#include "tests/data/formats/picture_files.h"

namespace mega::data {
namespace {

using namespace ::mega::testing;
using Samples = std::vector<uint8_t>;

// Smooth enough for JPEG to keep it.
Picture smooth(int64_t height, int64_t width, int64_t channels) {
  Picture picture(height, width, channels);
  for (int64_t y = 0; y < height; ++y)
    for (int64_t x = 0; x < width; ++x)
      for (int64_t c = 0; c < channels; ++c)
        picture.row(y)[x * channels + c] = static_cast<uint8_t>(
            128 + 100 * std::sin(0.02 * static_cast<double>((c + 1) * x + (3 - c) * y + 40 * c)));
  return picture;
}

double mean_difference(const Picture& a, const Picture& b) {
  EXPECT_EQ(a.height, b.height);
  EXPECT_EQ(a.samples.size(), b.samples.size());
  double sum = 0;
  for (size_t i = 0; i < a.samples.size(); ++i) sum += std::abs(a.samples[i] - b.samples[i]);
  return sum / static_cast<double>(a.samples.size());
}

TEST(WebP, KeepsColoursAndTransparency) {
  for (const int64_t channels : {3, 4}) {
    const Picture picture = smooth(17, 23, channels);
    const Picture back = decode_image(webp_of(picture), "a.webp");
    EXPECT_EQ(back.height, 17);
    EXPECT_EQ(back.width, 23);
    EXPECT_EQ(back.channels, channels);
    EXPECT_EQ(back.samples, picture.samples);
  }
}

TEST(WebP, OfAFilmTheFirstPictureIsRead) {
  const Picture first = smooth(4, 6, 3), second = smooth(6, 4, 3);
  const auto frame = [](const Picture& picture) {
    const std::string still = webp_of(picture).substr(12);  // without RIFF, size, WEBP
    return riff_chunk("ANMF", little_endian(0, 3) + little_endian(0, 3) +
                                  little_endian(static_cast<uint64_t>(picture.width - 1), 3) +
                                  little_endian(static_cast<uint64_t>(picture.height - 1), 3) +
                                  little_endian(100, 3) + '\x02' + still);
  };
  const std::string film = extended_webp(
      6, 6, 2,
      riff_chunk("ANIM", little_endian(0xFFFFFFFF, 4) + little_endian(0, 2)) + frame(first) + frame(second));
  const Picture picture = decode_image(film, "film.webp");
  ASSERT_EQ(picture.height, 6);
  ASSERT_EQ(picture.width, 6);
  ASSERT_EQ(picture.channels, 4);
  for (int64_t y = 0; y < 4; ++y)
    for (int64_t x = 0; x < 6; ++x)
      for (int64_t c = 0; c < 3; ++c) EXPECT_EQ(picture.row(y)[x * 4 + c], first.row(y)[x * 3 + c]);
  EXPECT_EQ(picture.row(5)[3], 0) << "what no picture covers is transparent";
}

TEST(WebP, WhatIsDamagedIsAnError) {
  const std::string good = webp_of(smooth(9, 9, 3));
  for (size_t length = 12; length < good.size() - 1; ++length)
    EXPECT_PRED2(contains, error_of([&] { decode_image(good.substr(0, length), "a.webp"); }),
                 "a.webp: a damaged WebP file");
  for (size_t i = 0; i < good.size(); ++i) {
    std::string bytes = good;
    bytes[i] = static_cast<char>(~bytes[i]);
    try {
      decode_image(bytes, "x");
    } catch (const Error&) {
    }
  }
}

TEST(Exif, SaysWhichWayIsUp) {
  for (int orientation = 1; orientation <= 8; ++orientation)
    for (const bool big : {false, true}) {
      EXPECT_EQ(exif_orientation(exif_of(orientation, big)), orientation);
      EXPECT_EQ(exif_orientation(std::string("Exif\0\0", 6) + exif_of(orientation, big)), orientation);
    }
  EXPECT_EQ(exif_orientation(exif_of(0)), 1);
  EXPECT_EQ(exif_orientation(exif_of(9)), 1);
  EXPECT_EQ(exif_orientation(""), 1);
  // Cut off or with any byte changed, it says something, or nothing.
  const std::string good = exif_of(6);
  for (size_t length = 0; length < good.size(); ++length) {
    const int said = exif_orientation(std::string_view(good).substr(0, length));
    EXPECT_TRUE(said == 1 || said == 6) << length;
  }
  for (size_t i = 0; i < good.size(); ++i)
    for (int value = 0; value < 256; ++value) {
      std::string bytes = good;
      bytes[i] = static_cast<char>(value);
      const int said = exif_orientation(bytes);
      EXPECT_TRUE(said >= 1 && said <= 8);
    }
}

TEST(Exif, TurnsPicturesUpright) {
  Picture stored(2, 3, 1);
  stored.samples = {1, 2, 3, 4, 5, 6};
  const auto seen = [&](int orientation) { return upright(stored, orientation); };
  EXPECT_EQ(seen(1).samples, (Samples{1, 2, 3, 4, 5, 6}));
  EXPECT_EQ(seen(2).samples, (Samples{3, 2, 1, 6, 5, 4}));  // mirrored
  EXPECT_EQ(seen(3).samples, (Samples{6, 5, 4, 3, 2, 1}));  // upside down
  EXPECT_EQ(seen(4).samples, (Samples{4, 5, 6, 1, 2, 3}));
  EXPECT_EQ(seen(5).samples, (Samples{1, 4, 2, 5, 3, 6}));  // rows are columns
  EXPECT_EQ(seen(6).samples, (Samples{4, 1, 5, 2, 6, 3}));  // turned to the right
  EXPECT_EQ(seen(7).samples, (Samples{6, 3, 5, 2, 4, 1}));
  EXPECT_EQ(seen(8).samples, (Samples{3, 6, 2, 5, 1, 4}));  // to the left
  EXPECT_EQ(seen(6).height, 3);
  EXPECT_EQ(seen(6).width, 2);
}

TEST(Exif, IsObeyedInEveryFormat) {
  const Picture picture = smooth(8, 16, 3);
  const Picture turned = upright(picture, 6);
  const std::string jpeg = encode_jpeg(picture);
  EXPECT_EQ(decode_image(jpeg_with_exif(jpeg, exif_of(6)), "x").samples,
            upright(decode_image(jpeg, "x"), 6).samples);
  const std::string webp =
      extended_webp(8, 16, 8, webp_of(picture).substr(12) + riff_chunk("EXIF", exif_of(6)));
  EXPECT_EQ(decode_image(webp, "x").samples, turned.samples);
  GreyImage grey(1, 2);
  grey.pixels = {10, 20};
  const std::string png = encode_png(grey);
  const Picture seen = decode_image(png_with_chunk(png, png_chunk("eXIf", exif_of(6))), "x");
  EXPECT_EQ(seen.height, 2);
  EXPECT_EQ(seen.samples, (Samples{10, 20}));
  EXPECT_EQ(decode_image(png_with_chunk(png, png_chunk("eXIf", exif_of(2))), "x").samples, (Samples{20, 10}));
}

TEST(Jpeg, InksBecomeColours) {
  Picture inks(8, 8, 4);
  for (size_t i = 0; i < inks.samples.size();
       i += 4) {  // inverted: no cyan, all magenta, no yellow, no black
    inks.samples[i] = 255;
    inks.samples[i + 1] = 0;
    inks.samples[i + 2] = 255;
    inks.samples[i + 3] = 255;
  }
  const Picture picture = decode_image(encode_jpeg(inks), "x");
  ASSERT_EQ(picture.channels, 3);
  EXPECT_NEAR(picture.samples[0], 255, 2);
  EXPECT_NEAR(picture.samples[1], 0, 2);
  EXPECT_NEAR(picture.samples[2], 255, 2);
  for (size_t i = 3; i < inks.samples.size(); i += 4) inks.samples[i] = 0;  // all black
  for (const uint8_t sample : decode_image(encode_jpeg(inks), "x").samples) EXPECT_LE(sample, 2);
}

TEST(Jpeg, GreyAndProgressive) {
  EXPECT_EQ(decode_image(encode_jpeg(smooth(9, 9, 1)), "x").channels, 1);
  const Picture picture = smooth(40, 30, 3);
  EXPECT_LT(
      mean_difference(decode_image(encode_jpeg(picture, {.quality = 95, .progressive = true}), "x"), picture),
      2.5);
}

// Scaled while it is decoded, no more than asked for; then scaled on, it is near what the whole file gives.
TEST(Jpeg, ScaledWhileItIsDecoded) {
  const Picture picture = smooth(512, 640, 3);
  const std::string jpeg = encode_jpeg(picture);
  const auto decoded = [&](int64_t side) { return decode_image(jpeg, "x", {side}); };
  EXPECT_EQ(decoded(0).height, 512);
  EXPECT_EQ(decoded(257).height, 512);
  EXPECT_EQ(decoded(256).height, 256);
  EXPECT_EQ(decoded(256).width, 320);
  EXPECT_EQ(decoded(100).height, 128);
  EXPECT_EQ(decoded(1).height, 64);
  const auto reduced = [](const Picture& one) { return resampled(one, 64, 64, Filter::bicubic); };
  EXPECT_LT(mean_difference(reduced(decoded(256)), reduced(decoded(0))), 1.0);
  EXPECT_LT(mean_difference(reduced(decoded(128)), reduced(decoded(0))), 1.0);
}

TEST(Png, OfAFilmTheFirstPictureIsRead) {
  GreyImage image(2, 2);
  image.pixels = {1, 2, 3, 4};
  const std::string control = big_endian(0, 4) + big_endian(2, 4) + big_endian(2, 4) + std::string(8, '\0') +
                              big_endian(1, 2) + big_endian(10, 2) + std::string(2, '\0');
  std::string film = png_with_chunk(
      encode_png(image), png_chunk("acTL", big_endian(2, 4) + big_endian(0, 4)) + png_chunk("fcTL", control));
  film.insert(film.size() - 12, png_chunk("fdAT", big_endian(2, 4) + "not looked at"));
  EXPECT_EQ(decode_image(film, "x").samples, image.pixels);
}

TEST(Pictures, HaveALimit) {
  EXPECT_PRED2(contains, error_of([] { check_size(10001, 10000, "big.jpg"); }),
               "big.jpg: a picture of 10001 by 10000 pixels is larger than the 100000000");
  EXPECT_PRED2(contains, error_of([] { check_size(1, 1000001, "long.png"); }), "long.png");
  check_size(10000, 10000, "x");
  check_size(1, 5000, "x");
}

TEST(Pictures, ChangeTheirChannels) {
  Picture grey(1, 2, 1);
  grey.samples = {10, 200};
  EXPECT_EQ(with_channels(grey, 3).samples, (Samples{10, 10, 10, 200, 200, 200}));
  Picture half(1, 1, 4);
  half.samples = {0, 100, 255, 128};
  EXPECT_EQ(with_channels(half, 3).samples, (Samples{127, 177, 255}));  // on white
  EXPECT_EQ(with_channels(half, 1).samples, to_grey(half).pixels);
}

}  // namespace
}  // namespace mega::data
