#include "mega/data/formats/image_file.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "mega/base/random.h"
#include "mega/data/formats/resample.h"
#include "tests/base/helpers.h"

namespace mega::data {
namespace {

using ::mega::testing::contains;
using ::mega::testing::error_of;

std::string from_hex(std::string_view hex) {
  std::string bytes;
  for (size_t i = 0; i < hex.size(); i += 2) {
    bytes += static_cast<char>(std::stoi(std::string(hex.substr(i, 2)), nullptr, 16));
  }
  return bytes;
}

using Pixels = std::vector<uint8_t>;
Pixels pixels_of(const std::string& bytes) { return to_grey(decode_image(bytes, "x")).pixels; }

// 16 by 8 pixels: the left half black, the right half 200.
const std::string kGreyJpeg = from_hex(
    "ffd8ffdb0043000101010101010101010101010101010101010101010101010101010101010101010101010101010101"
    "0101010101010101010101010101010101010101010101ffc0000b080008001001011100ffc400140001000000000000"
    "0000000000000000000bffc40014100100000000000000000000000000000000ffda0008010100003f003ff3203fffd9");
// The left half red, the right half blue.
const std::string kColourJpeg = from_hex(
    "ffd8ffdb0043000101010101010101010101010101010101010101010101010101010101010101010101010101010101"
    "0101010101010101010101010101010101010101010101ffdb0043010101010101010101010101010101010101010101"
    "0101010101010101010101010101010101010101010101010101010101010101010101010101010101010101ffc00011"
    "080008001003011100021101031101ffc40014000100000000000000000000000000000009ffc4001410010000000000"
    "0000000000000000000000ffc4001601010101000000000000000000000000000b090affc40014110100000000000000"
    "000000000000000000ffda000c03010002110311003f0017d29dbf810e5501afbfffd9");

TEST(ImageFile, LumaIsPillows) {
  EXPECT_EQ(luma(255, 0, 0), 76);
  EXPECT_EQ(luma(0, 255, 0), 150);
  EXPECT_EQ(luma(0, 0, 255), 29);
  EXPECT_EQ(luma(255, 255, 255), 255);
  EXPECT_EQ(luma(17, 17, 17), 17);
}

TEST(ImageFile, PngOfEveryKind) {
  const std::string rgb = from_hex(
      "89504e470d0a1a0a0000000d4948445200000003000000010802000000948283e30000000e4944415478da63f8cfc0c000c6"
      "000efb02fe147458420000000049454e44ae426082");
  EXPECT_EQ(pixels_of(rgb), (Pixels{76, 150, 29}));
  const std::string black_opaque_transparent_half = from_hex(
      "89504e470d0a1a0a0000000d49484452000000030000000108060000001be014b4000000104944415478da63606060f8cf00"
      "010d00098401809607b31e0000000049454e44ae426082");
  EXPECT_EQ(pixels_of(black_opaque_transparent_half), (Pixels{0, 255, 127}));
  const std::string grey_of_16_bits = from_hex(
      "89504e470d0a1a0a0000000d494844520000000200000001100000000081d9fc150000000d4944415478da63f8ffbfa10100"
      "087e02ff36d0234f0000000049454e44ae426082");
  EXPECT_EQ(pixels_of(grey_of_16_bits), (Pixels{255, 128}));
  const std::string palette_of_1_bit = from_hex(
      "89504e470d0a1a0a0000000d4948445200000002000000010103000000ceecedc900000006504c54450a0a0ac8c8c828d1b2"
      "500000000a4944415478da637000000042004184bf8e620000000049454e44ae426082");
  EXPECT_EQ(pixels_of(palette_of_1_bit), (Pixels{10, 200}));
}

TEST(ImageFile, PngGoesRound) {
  GreyImage image(5, 7);
  for (size_t i = 0; i < image.pixels.size(); ++i) image.pixels[i] = static_cast<uint8_t>(i * 37);
  const GreyImage back = to_grey(decode_image(encode_png(image), "x"));
  EXPECT_EQ(back.height, 5);
  EXPECT_EQ(back.width, 7);
  EXPECT_EQ(back.pixels, image.pixels);
}

TEST(ImageFile, Jpeg) {
  const GreyImage grey = to_grey(decode_image(kGreyJpeg, "x"));
  EXPECT_EQ(grey.height, 8);
  EXPECT_EQ(grey.width, 16);
  EXPECT_NEAR(grey.at(3, 2), 0, 2);
  EXPECT_NEAR(grey.at(3, 12), 200, 2);
  const GreyImage colour = to_grey(decode_image(kColourJpeg, "x"));
  EXPECT_NEAR(colour.at(3, 2), 76, 2);
  EXPECT_NEAR(colour.at(3, 12), 29, 2);
}

TEST(ImageFile, JpegGoesRound) {
  for (const int64_t channels : {1, 3}) {
    for (const bool progressive : {false, true}) {
      Picture picture(200, 150, channels);  // more bytes than fit into one buffer
      Random draws(1);
      for (uint8_t& sample : picture.samples) sample = static_cast<uint8_t>(100 + draws.below(20));
      const std::string bytes = encode_jpeg(picture, {.quality = 100, .progressive = progressive});
      EXPECT_GT(bytes.size(), 10'000u);
      const Picture back = decode_image(bytes, "x");
      ASSERT_EQ(back.samples.size(), picture.samples.size());
      double sum = 0;
      for (size_t i = 0; i < back.samples.size(); ++i) sum += std::abs(back.samples[i] - picture.samples[i]);
      EXPECT_LT(sum / static_cast<double>(back.samples.size()), channels == 1 ? 1 : 6)
          << "colours are coarser";
    }
  }
  EXPECT_PRED2(contains, error_of([] { encode_jpeg(Picture(2, 2, 2)); }), "1, 3 or 4 channels");
  EXPECT_PRED2(contains, error_of([] { encode_jpeg(Picture(1, 70'000, 1)); }), "cannot be written as JPEG");
  EXPECT_PRED2(contains, error_of([] { encode_jpeg(Picture(0, 5, 1)); }), "cannot be written as JPEG");
}

TEST(ImageFile, PortableMaps) {
  EXPECT_EQ(pixels_of("P2\n# a comment\n3 1 # another\n10\n0 5 10\n"), (Pixels{0, 128, 255}));
  EXPECT_EQ(pixels_of("P3 1 2 255 255 0 0  0 0 255"), (Pixels{76, 29}));
  EXPECT_EQ(pixels_of(std::string("P5 2 1 255\n\x07\xff", 13)), (Pixels{7, 255}));
  EXPECT_EQ(pixels_of(std::string("P5 1 1 65535\n\x80\x80", 15)), (Pixels{128}));
  EXPECT_EQ(pixels_of(std::string("P6 1 1 255\n\x00\xff\x00", 14)), (Pixels{150}));
}

TEST(ImageFile, WhatIsDamagedIsAnError) {
  const auto error = [](const std::string& bytes) { return error_of([&] { decode_image(bytes, "a.png"); }); };
  EXPECT_PRED2(contains, error(""), "a.png: the file is empty");
  EXPECT_PRED2(contains, error("GIF89a"), "not a PNG");
  EXPECT_PRED2(contains, error("P5 3 3 255\nxx"), "ends too early");
  EXPECT_PRED2(contains, error("P5 3"), "ends too early");
  EXPECT_PRED2(contains, error("P2 1 1 0 5"), "largest value");
  EXPECT_PRED2(contains, error("P2 1 1 9 x"), "expected a number");
  EXPECT_PRED2(contains, error("P2 1 1 9 10"), "where the largest is 9");
  EXPECT_PRED2(contains, error("P5 0 7 9 "), "7 by 0");
  EXPECT_PRED2(contains, error("P5 999999999999 1 9 "), "too large");
  EXPECT_PRED2(contains, error("P2 1 1 9 #"), "ends too early");

  const std::string png = encode_png(GreyImage(8, 8));
  for (size_t length = 8; length < png.size() - 12; ++length) {
    EXPECT_PRED2(contains, error(png.substr(0, length)), "damaged PNG");
  }
  for (size_t length = 2; length + 2 < kColourJpeg.size(); ++length) {
    EXPECT_PRED2(contains, error(kColourJpeg.substr(0, length)), "JPEG");
  }
}

// Whatever one byte is changed to, the result is a picture or an Error.
TEST(ImageFile, ChangedBytesDoNoHarm) {
  for (const std::string& good : {encode_png(GreyImage(4, 4)), kGreyJpeg, kColourJpeg}) {
    for (size_t i = 0; i < good.size(); ++i) {
      for (const unsigned char value : {0x00, 0x01, 0x7f, 0xff}) {
        std::string bytes = good;
        bytes[i] = static_cast<char>(value);
        try {
          const GreyImage image = to_grey(decode_image(bytes, "x"));
          EXPECT_EQ(image.pixels.size(), static_cast<size_t>(image.height * image.width));
        } catch (const Error&) {
        }
      }
    }
  }
}

TEST(ImageFile, BombsAreRefused) {
  const std::string png_of_2_to_40_pixels = from_hex(
      "89504e470d0a1a0a0000000d49484452001000000010000008000000006e43ff19000000094944415478da63000000010001"
      "b10db6930000000049454e44ae426082");
  EXPECT_NE(error_of([&] { decode_image(png_of_2_to_40_pixels, "x"); }), "");
  std::string jpeg_of_2_to_30_pixels = kGreyJpeg;
  const size_t size = jpeg_of_2_to_30_pixels.find("\xff\xc0") + 5;
  jpeg_of_2_to_30_pixels.replace(size, 4, "\x7f\xf0\x7f\xf0");
  EXPECT_PRED2(contains, error_of([&] { decode_image(jpeg_of_2_to_30_pixels, "x"); }), "larger than");
  EXPECT_PRED2(contains, error_of([&] { decode_image("P2 60000 60000 9 1", "x"); }), "ends too early");
}

TEST(Resample, AveragesAndInterpolates) {
  GreyImage image(2, 2);
  image.pixels = {0, 100, 200, 100};
  EXPECT_EQ(resampled(image, 1, 1, Filter::bilinear).pixels, (Pixels{100}));
  EXPECT_EQ(resampled(image, 2, 2, Filter::lanczos).pixels, image.pixels);
  const GreyImage wide = resampled(image, 2, 4, Filter::bilinear);
  EXPECT_EQ(wide.pixels, (Pixels{0, 25, 75, 100, 200, 175, 125, 100}));

  GreyImage flat(37, 23);
  std::fill(flat.pixels.begin(), flat.pixels.end(), uint8_t{93});
  for (const Filter filter : {Filter::bilinear, Filter::lanczos}) {
    for (const int64_t size : {1, 5, 23, 90}) {
      EXPECT_EQ(resampled(flat, size, size + 1, filter).pixels,
                Pixels(static_cast<size_t>(size * (size + 1)), 93));
    }
  }
}

}  // namespace
}  // namespace mega::data
