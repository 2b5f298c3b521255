#include "mega/infer/models/score_text.h"

#include <algorithm>
#include <vector>

#include "mega/base/error.h"
#include "mega/infer/longest_first.h"
#include "mega/text/tokens.h"

namespace mega::infer {

ScoreResult score_text(Session& session, const data::TokenView& text, const Scored& scored) {
  require(!text.empty(), "no text to score");
  require(session.position() == 0, "scoring needs a new session, but this one is at token ",
          session.position());
  constexpr int64_t kPiece = 2048;  // tokens per call of `scored`
  TextScore score;
  std::vector<float> log_probabilities;
  std::vector<int32_t> tokens = {kEnd};  // the token before a piece, then the piece
  for (int64_t begin = 0; begin < text.size(); begin += kPiece) {
    const auto size = static_cast<size_t>(std::min(kPiece, text.size() - begin));
    tokens.resize(1 + size);
    text.file->copy(text.begin + begin, std::ssize(tokens) - 1, tokens.data() + 1);
    log_probabilities.resize(size);
    session.score(std::span(tokens).first(size), std::span(tokens).subspan(1), log_probabilities);
    score.add(log_probabilities, {});
    scored(begin, log_probabilities);
    tokens.front() = tokens.back();
  }
  score.add({}, text.counts);
  return score.result();
}

std::vector<std::vector<float>> score_texts(const std::shared_ptr<const LanguageModel>& model,
                                            const std::shared_ptr<ThreadPool>& pool,
                                            std::span<const data::TokenView> texts) {
  std::vector<std::vector<float>> all(texts.size());
  std::vector<int64_t> sizes;
  for (const data::TokenView& text : texts) sizes.push_back(text.size());
  longest_first(*pool, sizes, [&](size_t i, size_t) {
    Session session(model, pool);
    score_text(session, texts[i], [&](int64_t, std::span<const float> some) {
      all[i].insert(all[i].end(), some.begin(), some.end());
    });
  });
  return all;
}

}  // namespace mega::infer
