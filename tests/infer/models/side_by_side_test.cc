#include "mega/infer/models/side_by_side.h"

#include <gtest/gtest.h>

#include "mega/base/error.h"
#include "mega/infer/models/answer.h"
#include "mega/infer/models/open_model.h"
#include "tests/base/helpers.h"
#include "tests/infer/tiny_model.h"

namespace mega::infer {
namespace {

using testing::contains;
using testing::error_of;
using testing::ScratchFolder;

class SideBySideTest : public ::testing::Test {
 protected:
  SideBySideTest() {
    Signature signature;
    signature.classes = {"a", "b", "c"};
    testing::write_random_model(folder_ / "model", {testing::tiny_classifier()}, 1, &signature);
    model_ = open_model(folder_ / "model");
  }

  // Texts of very different lengths.
  static std::vector<data::Record> texts(size_t count) {
    std::vector<data::Record> records(count);
    for (size_t i = 0; i < count; ++i) {
      records[i].where = "text " + std::to_string(i);
      records[i].bytes = std::string(1 + i * 37 % 101, static_cast<char>('a' + i % 26));
    }
    return records;
  }

  const ScratchFolder folder_;
  std::shared_ptr<const SequenceModel> model_;
};

TEST_F(SideBySideTest, AnswersAreThoseOfOneByOne) {
  for (const int threads : {1, 2, 3}) {
    ThreadPool pool(threads);
    SideBySide many(*model_, pool);
    Workspace work;
    for (const size_t count : {0u, 1u, 2u, 3u, 7u, 20u}) {
      const std::vector<data::Record> records = texts(count);
      const auto outputs = many.outputs(records);
      ASSERT_EQ(outputs.size(), count);
      for (size_t i = 0; i < count; ++i)
        EXPECT_EQ(outputs[i], outputs_of(*model_, model_->encoder(), records[i], {pool, work}))
            << i << " of " << count << ", " << threads << " threads";
    }
  }
}

TEST_F(SideBySideTest, ABatchIsReadWithoutItsPadding) {
  const ImageClassifierOptions options = testing::tiny_image_classifier();
  const Signature signature = testing::picture_signature(options);
  testing::write_random_model(folder_ / "pictures", {options}, 1, &signature);
  ThreadPool pool(2);
  for (const bool pictures : {false, true}) {
    const auto model = pictures ? open_model(folder_ / "pictures") : model_;
    std::vector<data::Record> records = texts(7);
    for (size_t i = 0; pictures && i < records.size(); ++i)
      records[i].bytes.assign(9 * 14, static_cast<char>('a' + i));
    std::vector<int64_t> examples = {6, 0, 3, 2};
    data::Part part(records);
    part.labels.assign(records.size(), 0);
    const data::Batch batch = data::make_batch(part, model->encoder(), examples, 1);
    SideBySide many(*model, pool);
    const auto expected = many.outputs(records), outputs = many.outputs(batch);
    ASSERT_EQ(outputs.size(), examples.size());
    for (size_t i = 0; i < examples.size(); ++i)
      EXPECT_EQ(outputs[i], expected[static_cast<size_t>(examples[i])]) << (pictures ? "picture" : "text");
  }
}

TEST_F(SideBySideTest, TheFirstErrorIsThrown) {
  // Weights that make the outputs of long texts infinite are hard to come by: pixels that are too few are
  // not.
  const ImageClassifierOptions options = testing::tiny_image_classifier();
  const Signature signature = testing::picture_signature(options);
  testing::write_random_model(folder_ / "pictures", {options}, 1, &signature);
  const auto model = open_model(folder_ / "pictures");
  ThreadPool pool(2);
  SideBySide many(*model, pool);
  std::vector<data::Record> records = texts(9);
  for (data::Record& record : records) record.bytes.assign(9 * 14, 'x');
  records[3].bytes = "x";
  records[6].bytes = "longer";
  EXPECT_PRED2(contains, error_of([&] { many.outputs(records); }), "text 3: 1 pixels");
  records[3].bytes = records[6].bytes = records[0].bytes;
  EXPECT_EQ(many.outputs(records).size(), 9u);  // it can be used again
}

}  // namespace
}  // namespace mega::infer
