#include "mega/train/evaluation/text_evaluation.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <type_traits>
#include <utility>
#include <vector>

#include "mega/base/error.h"
#include "mega/models/token_tensor.h"
#include "mega/text/tokens.h"

namespace mega::train {
namespace {

using torch::Tensor;

// Tokens [begin, end) of the text.
Tensor tokens_of(const data::TokenView& text, int64_t begin, int64_t end) {
  std::vector<int32_t> tokens(static_cast<size_t>(end - begin));
  text.file->copy(text.begin + begin, end - begin, tokens.data());
  return models::token_tensor(tokens, {end - begin});
}

// Parts of the text of equal length, each with its own score: the rows of a batch.
class Rows {
 public:
  Rows(const data::TokenView& text, std::vector<int64_t> begins, const TextReading& reading)
      : text_(text), begins_(std::move(begins)), reading_(reading), scores_(begins_.size()) {}

  int64_t count() const { return std::ssize(begins_); }

  // Tokens [offset, offset + length) of each row, (rows, length).
  Tensor tokens(int64_t offset, int64_t length) const {
    std::vector<Tensor> rows;
    for (const int64_t begin : begins_)
      rows.push_back(tokens_of(text_, begin + offset, begin + offset + length));
    return torch::stack(rows);
  }

  // The token before each of them: </s> at the start of the text and, if `fresh`, of each row.
  Tensor before(int64_t offset, int64_t length, bool fresh) const {
    std::vector<Tensor> rows;
    for (const int64_t begin : begins_) {
      const int64_t first = begin + offset;
      if (first == 0 || (fresh && offset == 0)) {
        const Tensor end = torch::full({1}, static_cast<int64_t>(kEnd), torch::kInt64);
        rows.push_back(torch::cat({end, tokens_of(text_, first, first + length - 1)}));
      } else {
        rows.push_back(tokens_of(text_, first - 1, first + length - 1));
      }
    }
    return torch::stack(rows);
  }

  // Scores tokens [offset, offset + length) with the last `length` features of (rows, at least length, D).
  void score(models::TokenModel& model, const Tensor& features, int64_t offset, int64_t length) {
    const Tensor last = features.slice(1, features.size(1) - length);
    const Tensor targets = tokens(offset, length).reshape(-1).to(reading_.device);
    const Tensor losses = model.losses(last.reshape({-1, last.size(2)}), targets);
    const Tensor log_probabilities = losses.neg().to(torch::kCPU, torch::kFloat32).contiguous();
    const std::span all(log_probabilities.data_ptr<float>(), static_cast<size_t>(losses.numel()));
    const auto count = static_cast<size_t>(length);
    for (size_t i = 0; i < scores_.size(); ++i) {
      const auto row = all.subspan(i * count, count);
      scores_[i].add(row, {});
      if (reading_.scored) reading_.scored(begins_[i] + offset, row);
    }
  }

  void merge_into(infer::TextScore& score) const {
    for (const infer::TextScore& row : scores_) score.merge(row);
  }

 private:
  const data::TokenView& text_;
  std::vector<int64_t> begins_;
  const TextReading& reading_;
  std::vector<infer::TextScore> scores_;
};

struct Reader {
  models::TokenModel& model;
  const data::TokenView& text;
  const TextReading& reading;
  infer::TextScore score;
  int64_t done = 0;
  int64_t turn = 0;

  // Whether the next piece of work is this process's.
  bool own_turn() {
    return reading.world == nullptr || turn++ % reading.world->size() == reading.world->rank();
  }
  // So many rows make a batch, and fewer where each process is to have some.
  int64_t side_of(int64_t rows, int64_t most) const {
    const int64_t processes = reading.world == nullptr ? 1 : reading.world->size();
    return std::max<int64_t>(1, std::min(most, (rows + processes - 1) / processes));
  }
  void share() {
    static_assert(std::is_trivially_copyable_v<infer::TextScore>);
    const std::string_view own(reinterpret_cast<const char*>(&score), sizeof score);
    const std::vector<std::string> all = reading.world->common().all_gather(own);
    score = {};
    for (const std::string& one : all) {
      infer::TextScore other;
      std::memcpy(&other, one.data(), sizeof other);
      score.merge(other);
    }
  }

  void advance(int64_t tokens) {
    done += tokens;
    if (reading.progress) reading.progress(done);
  }

  // Reads segments of equal length as one batch, in pieces of whole chunks.
  void read_segments(std::vector<int64_t> begins, int64_t length, int64_t chunk) {
    if (!own_turn()) return;
    Rows rows(text, std::move(begins), reading);
    const int64_t unit = chunk > 0 ? chunk : 1024;
    const int64_t piece = unit * std::max<int64_t>(1, reading.positions / (unit * rows.count()));
    nn::State state;
    for (int64_t offset = 0; offset < length; offset += piece) {
      const int64_t count = std::min(piece, length - offset);
      const Tensor features =
          model.features(rows.before(offset, count, /*fresh=*/true).to(reading.device), {}, &state);
      rows.score(model, features, offset, count);
      advance(count * rows.count());
    }
    rows.merge_into(score);
  }

  void read_in_chunks(int64_t chunk) {
    const int64_t total = text.size();
    const int64_t length = reading.context > 0
                               ? std::min(reading.context, total)
                               : std::max<int64_t>(1, (total + reading.segments - 1) / reading.segments);
    // Segments per batch, so that one chunk of each fills a batch.
    const int64_t whole = total / length, rest = total % length;
    const int64_t side = side_of(whole, reading.positions / std::min(length, chunk > 0 ? chunk : length));
    for (int64_t first = 0; first < whole; first += side) {
      std::vector<int64_t> begins;
      for (int64_t i = first; i < std::min(whole, first + side); ++i) begins.push_back(i * length);
      read_segments(std::move(begins), length, chunk);
    }
    if (rest > 0) read_segments({whole * length}, rest, chunk);  // the last segment is shorter
  }

  // The first window, then windows whose last `stride` tokens are new.
  void read_windows(int64_t window, int64_t stride) {
    const int64_t total = text.size();
    const auto read = [&](std::vector<int64_t> begins, int64_t length, int64_t scored) {
      if (!own_turn()) return;
      Rows rows(text, std::move(begins), reading);
      const Tensor features = model.features(rows.before(0, length, /*fresh=*/false).to(reading.device));
      rows.score(model, features, length - scored, scored);
      rows.merge_into(score);
      advance(scored * rows.count());
    };
    const int64_t first = std::min(window, total);
    read({0}, first, first);
    const int64_t side = std::max<int64_t>(1, reading.positions / window);
    std::vector<int64_t> begins;
    int64_t scored = first;
    for (; scored + stride <= total; scored += stride) {
      begins.push_back(scored + stride - window);
      if (std::ssize(begins) == side) read(std::exchange(begins, {}), window, stride);
    }
    if (!begins.empty()) read(std::exchange(begins, {}), window, stride);
    if (scored < total) read({total - window}, window, total - scored);
  }
};

}  // namespace

TextEvaluation evaluate_text(models::TokenModel& model, const ReadingPlan& plan, const data::TokenView& text,
                             const TextReading& reading) {
  require(!text.empty(), "there is no text to evaluate on");
  const torch::NoGradGuard guard;
  model.eval();
  const auto start = std::chrono::steady_clock::now();
  Reader reader{model, text, reading, {}, 0};
  if (plan.has_window()) {
    const int64_t window = reading.context > 0 ? reading.context : plan.window;
    reader.read_windows(window, std::min(plan.stride, window));
  } else {
    reader.read_in_chunks(plan.chunk);
  }
  if (reading.world != nullptr) reader.share();
  reader.score.add({}, text.counts);
  TextEvaluation evaluation;
  evaluation.score = reader.score.result();
  evaluation.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return evaluation;
}

}  // namespace mega::train
