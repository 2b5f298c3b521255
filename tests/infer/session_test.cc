#include "mega/infer/session.h"

#include <gtest/gtest.h>

#include <vector>

#include "tests/base/helpers.h"
#include "tests/infer/tiny_model.h"

namespace mega::infer {
namespace {

// Longer than what a session reads at once: feed and score in one call and in short ones.
TEST(Session, LongTextsAreReadInPieces) {
  const testing::ScratchFolder folder;
  testing::write_random_model(folder / "model", {testing::tiny_language_model()});
  const auto model = LanguageModel::open(folder / "model");
  const auto pool = std::make_shared<ThreadPool>(2);
  constexpr size_t kLength = 4500, kShort = 100;
  std::vector<int32_t> tokens, next;
  for (size_t i = 0; i < kLength; ++i) tokens.push_back(static_cast<int32_t>(4 + i * 17 % 250));
  next.assign(tokens.begin() + 1, tokens.end());
  next.push_back(5);
  const std::span<const int32_t> text(tokens), following(next);

  Session whole(model, pool), parts(model, pool), scored(model, pool), scored_parts(model, pool);
  std::vector<float> scores(kLength), scores_of_parts(kLength);
  whole.feed(text);
  scored.score(text, following, scores);
  for (size_t i = 0; i < kLength; i += kShort) {
    parts.feed(text.subspan(i, kShort));
    scored_parts.score(text.subspan(i, kShort), following.subspan(i, kShort),
                       std::span(scores_of_parts).subspan(i, kShort));
  }
  for (size_t i = 0; i < kLength; ++i) ASSERT_NEAR(scores[i], scores_of_parts[i], 1e-4) << "token " << i;
  for (Session* session : {&parts, &scored, &scored_parts}) {
    const auto expected = whole.logits(), found = session->logits();
    ASSERT_EQ(expected.size(), found.size());
    for (size_t i = 0; i < expected.size(); ++i) ASSERT_NEAR(expected[i], found[i], 1e-4) << "logit " << i;
  }
}

}  // namespace
}  // namespace mega::infer
