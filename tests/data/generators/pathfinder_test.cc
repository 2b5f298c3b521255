#include "mega/data/generators/pathfinder.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <queue>

#include "mega/base/files/file.h"
#include "mega/base/random.h"
#include "mega/data/readers/readers.h"
#include "tests/base/helpers.h"
#include "tests/data/records.h"

namespace mega::data {
namespace {

using ::mega::testing::contains;
using ::mega::testing::error_of;
using ::mega::testing::ScratchFolder;

double distance(Point a, Point b) {
  return std::hypot(static_cast<double>(a.y - b.y), static_cast<double>(a.x - b.x));
}

// The brightest pixel of the nine around a point.
int brightness(const GreyImage& image, Point p) {
  int most = 0;
  for (int64_t y = p.y - 1; y <= p.y + 1; ++y) {
    for (int64_t x = p.x - 1; x <= p.x + 1; ++x) {
      if (image.contains(y, x)) most = std::max<int>(most, image.at(y, x));
    }
  }
  return most;
}

// Follows the contour that begins under the first disc, from dash to lit dash: does it end under the second?
int traced_label(const PathfinderExample& example) {
  for (const auto& contour : example.contours) {
    if (!(contour.front().tail == example.discs[0])) continue;
    Point last = contour.front().tail;
    for (const auto& segment : contour) {
      EXPECT_LE(distance(last, segment.tail), 2 * static_cast<double>(example.margin) + 3.5);
      const Point middle{(segment.tail.y + segment.head.y) / 2, (segment.tail.x + segment.head.x) / 2};
      EXPECT_GE(brightness(example.image, middle), 40);
      last = segment.head;
    }
    return last == example.discs[1];
  }
  ADD_FAILURE() << "no contour begins under the first disc";
  return -1;
}

TEST(Pathfinder, LabelsAreWhatTracingFinds) {
  for (const int64_t size : {32, 64, 128, 256}) {
    PathfinderGenerator generator(pathfinder_options(size), 1);
    const int count = size == 32 ? 300 : 12;
    std::map<int, int> labels;
    for (int i = 0; i < count; ++i) {
      const PathfinderExample example = generator.next();
      ASSERT_EQ(example.image.height, size);
      ASSERT_EQ(example.image.width, size);
      EXPECT_EQ(example.label, traced_label(example)) << size << " " << i;
      EXPECT_EQ(example.contours[0].size(), 14U);
      for (const Point& disc : example.discs) EXPECT_GE(brightness(example.image, disc), 160);
      ++labels[example.label];
    }
    EXPECT_GE(labels[0], count / 6);
    EXPECT_GE(labels[1], count / 6);
  }
}

// By the picture alone: everything lit that can be reached from one disc in steps over the gaps.
bool connected(const PathfinderExample& example) {
  const GreyImage& image = example.image;
  const int64_t step = 2 * example.margin + 1;
  GreyImage seen(image.height, image.width);
  std::queue<Point> open;
  open.push(example.discs[0]);
  while (!open.empty()) {
    const Point p = open.front();
    open.pop();
    if (p == example.discs[1]) return true;
    for (int64_t y = p.y - step; y <= p.y + step; ++y) {
      for (int64_t x = p.x - step; x <= p.x + step; ++x) {
        if (!image.contains(y, x) || image.at(y, x) < 60 || seen.at(y, x)) continue;
        seen.at(y, x) = 1;
        open.push({y, x});
      }
    }
  }
  return false;
}

// Contours may pass so close to each other that this cannot tell them apart, but most do not.
TEST(Pathfinder, PicturesShowTheirLabel) {
  PathfinderOptions options = pathfinder_options(128);
  options.distractors = 0;
  PathfinderGenerator generator(options, 3);
  std::array<int, 2> count{}, joined{};
  for (int i = 0; i < 30; ++i) {
    const PathfinderExample example = generator.next();
    ++count[static_cast<size_t>(example.label)];
    joined[static_cast<size_t>(example.label)] += connected(example);
  }
  EXPECT_EQ(joined[1], count[1]);
  EXPECT_GT(count[0], 5);
  EXPECT_LT(2 * joined[0], count[0]);
}

// Pictures of the published program have a mean of 20.1, with a deviation of 2.0 between pictures, and two
// thirds of their pixels are black; at 128 pixels the mean is 7.9.
TEST(Pathfinder, LooksAsPublished) {
  const auto mean_of = [](const GreyImage& image) {
    double sum = 0;
    for (const uint8_t pixel : image.pixels) sum += pixel;
    return sum / static_cast<double>(image.pixels.size());
  };
  constexpr int kCount = 500;
  PathfinderGenerator small(pathfinder_options(32), 5);
  double sum = 0, squares = 0, black = 0;
  for (int i = 0; i < kCount; ++i) {
    const GreyImage image = small.next().image;
    const double mean = mean_of(image);
    sum += mean / kCount;
    squares += mean * mean / kCount;
    black += static_cast<double>(std::count(image.pixels.begin(), image.pixels.end(), 0)) / (1024.0 * kCount);
    EXPECT_EQ(*std::max_element(image.pixels.begin(), image.pixels.end()), 255);
  }
  EXPECT_NEAR(sum, 20.1, 0.5);
  EXPECT_NEAR(std::sqrt(squares - sum * sum), 2.0, 0.3);
  EXPECT_NEAR(black, 0.66, 0.01);

  PathfinderGenerator large(pathfinder_options(128), 5);
  double mean = 0;
  for (int i = 0; i < 20; ++i) mean += mean_of(large.next().image) / 20;
  EXPECT_NEAR(mean, 7.9, 0.4);
}

// A picture of a seed is a promise: data made elsewhere must be the same.
TEST(Pathfinder, APictureDependsOnSeedAndNumberAlone) {
  PathfinderGenerator one(pathfinder_options(32), 7), two(pathfinder_options(32), 7);
  const GreyImage third = two.example(3).image;
  for (int i = 0; i < 3; ++i) one.next();
  EXPECT_EQ(one.next().image.pixels, third.pixels);
  EXPECT_NE(two.example(4).image.pixels, third.pixels);
  EXPECT_NE(PathfinderGenerator(pathfinder_options(32), 8).example(3).image.pixels, third.pixels);
  std::string bytes;
  for (int i = 0; i < 8; ++i) {
    const GreyImage image = two.example(i).image;
    bytes.append(image.pixels.begin(), image.pixels.end());
  }
  EXPECT_EQ(stream_seed(0, bytes), 4809970059072185790U);
}

TEST(Pathfinder, MarkersAreTheBrightestWithoutDistractors) {
  PathfinderOptions options = pathfinder_options(32);
  options.distractors = 0;
  PathfinderGenerator without(options, 1);
  for (int i = 0; i < 20; ++i) {
    const PathfinderExample example = without.next();
    EXPECT_GE(brightness(example.image, example.discs[0]), 254);
  }
}

TEST(Pathfinder, EasierLevels) {
  const PathfinderOptions baseline = pathfinder_options(32, 6);
  EXPECT_EQ(baseline.distractor_length, 2);
  EXPECT_EQ(baseline.distractors, 10);
  EXPECT_EQ(PathfinderGenerator(baseline, 1).next().contours[1].size(), 6U);
}

TEST(Pathfinder, ImpossibleOptionsAreErrors) {
  EXPECT_PRED2(contains, error_of([] { pathfinder_options(48); }), "32, 64, 128 and 256");
  PathfinderOptions options;
  options.seed_distance = 8;
  EXPECT_PRED2(contains, error_of([&] { PathfinderGenerator(options, 1); }), "seed_distance");
  options = {};
  options.margins.clear();
  EXPECT_PRED2(contains, error_of([&] { PathfinderGenerator(options, 1); }), "margins");
  options = {};
  options.dash_thickness = 0.75;
  EXPECT_PRED2(contains, error_of([&] { PathfinderGenerator(options, 1); }), "multiple of 0.5");
  options = {};
  options.contour_length = 500;
  EXPECT_PRED2(contains, error_of([&] { PathfinderGenerator(options, 1).next(); }), "no room");
}

TEST(Pathfinder, WritesWhatIsReadBackWhateverTheThreads) {
  ScratchFolder scratch;
  int64_t heard = 0;
  write_pathfinder(scratch / "one", pathfinder_options(32), 1010, 9, [&](int64_t done) { heard = done; });
  EXPECT_EQ(heard, 1010);
  write_pathfinder(scratch / "three", pathfinder_options(32), 1010, 9, nullptr, 3);
  for (const char* name :
       {"metadata/0.npy", "metadata/1.npy", "imgs/0/sample_999.png", "imgs/1/sample_9.png"}) {
    EXPECT_EQ(read_file(scratch / "one" / name), read_file(scratch / "three" / name)) << name;
  }
  const std::string metadata = read_file(scratch / "one/metadata/1.npy");
  EXPECT_EQ(metadata.substr(0, 25), "imgs/1 sample_0.png 0 " + metadata.substr(22, 1) + " 1");
  EXPECT_PRED2(contains, metadata, " 1.0 14 4 2 0.5 1 1\n");

  Problems problems(false);
  const testing::Records records =
      testing::in_grey(testing::collect(read_pathfinder, scratch / "one", {}, problems), ImageInput{});
  ASSERT_EQ(records.size(), 1010U);
  PathfinderGenerator generator(pathfinder_options(32), 9);
  for (const size_t i : {size_t{0}, size_t{2}, size_t{999}, size_t{1009}}) {
    const PathfinderExample example = generator.example(static_cast<int64_t>(i));
    EXPECT_EQ(records[i].bytes, std::string(example.image.pixels.begin(), example.image.pixels.end()));
    EXPECT_EQ(records[i].label, std::to_string(example.label));
  }
  EXPECT_EQ(records[1009].where, "imgs/1/sample_9.png");
  // Also from a folder above.
  EXPECT_EQ(testing::collect(read_pathfinder, scratch.path(), {}, problems).size(), 2020U);
}

TEST(ReadPathfinder, SaysWhatIsWrongWhere) {
  ScratchFolder scratch;
  write_pathfinder(scratch / "data", pathfinder_options(32), 5, 1);
  write_file(scratch / "data/imgs/0/sample_1.png", "");
  const std::string whole = read_file(scratch / "data/imgs/0/sample_2.png");
  write_file(scratch / "data/imgs/0/sample_2.png", whole.substr(0, whole.size() / 2));
  write_file(scratch / "secret.png", whole);
  write_file(scratch / "data/metadata/1.npy",
             "imgs/9 sample_0.png 0 1 1.0\nimgs/0 sample_3.png 3 2\n../ secret.png 0 1\nnothing\n");
  Problems problems(true);
  const testing::Records records =
      testing::in_grey(testing::collect(read_pathfinder, scratch / "data", {}, problems), ImageInput{});
  EXPECT_EQ(records.size(), 3U);
  ASSERT_EQ(problems.count(), 6);
  EXPECT_EQ(problems.first()[0].where, "metadata/0.npy:2");
  EXPECT_PRED2(contains, problems.first()[0].what, "empty");
  EXPECT_PRED2(contains, problems.first()[1].what, "damaged PNG");
  EXPECT_PRED2(contains, problems.first()[2].what, "sample_0.png");
  EXPECT_PRED2(contains, problems.first()[3].what, "label of 0 or 1");
  EXPECT_PRED2(contains, problems.first()[4].what, "outside the data");
  EXPECT_PRED2(contains, problems.first()[5].what, "\"nothing\"");

  std::filesystem::create_directory(scratch / "empty");
  EXPECT_PRED2(contains,
               error_of([&] { testing::collect(read_pathfinder, scratch / "empty", {}, problems); }),
               "no metadata");
  EXPECT_PRED2(contains,
               error_of([&] { testing::collect(read_pathfinder, scratch / "absent", {}, problems); }),
               "absent");
}

}  // namespace
}  // namespace mega::data
