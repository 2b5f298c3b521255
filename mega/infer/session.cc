#include "mega/infer/session.h"

#include <algorithm>

#include "mega/base/error.h"
#include "mega/infer/session_file.h"

namespace mega::infer {
namespace {

// Tokens per piece, which bounds the memory. Each piece packs the weights anew, and gathers the keys and
// values of an open chunk.
constexpr size_t kPiece = 2048;
// What is fed may be longer than this, but then its memory is not kept: most sessions go on token by token.
constexpr size_t kKept = 512;

}  // namespace

Session::Session(std::shared_ptr<const LanguageModel> model, std::shared_ptr<ThreadPool> pool,
                 CacheType cache)
    : model_(std::move(model)),
      pool_(std::move(pool)),
      work_(std::make_unique<Workspace>()),
      state_(model_->initial_state(weight_type(cache))) {
  require(pool_ != nullptr, "a session needs a thread pool");
}

Session::Session(const Session& other)
    : model_(other.model_),
      pool_(other.pool_),
      work_(std::make_unique<Workspace>()),
      state_(other.state_),
      features_(other.features_),
      logits_(other.logits_) {}

void Session::feed(std::span<const int32_t> tokens) {
  Session* const self = this;
  feed_together({&self, 1}, {&tokens, 1});
}

void feed_together(std::span<Session* const> sessions, std::span<const std::span<const int32_t>> tokens) {
  require(sessions.size() == tokens.size(), sessions.size(), " sessions, but tokens for ", tokens.size());
  for (size_t i = 0; i < sessions.size(); ++i) {
    require(sessions[i]->model_ == sessions[0]->model_,
            "sessions of different models cannot be in one batch");
    for (size_t other = 0; other < i; ++other)
      require(sessions[other] != sessions[i], "a session cannot be in a batch twice: fork it");
    sessions[i]->model_->check_tokens(tokens[i]);
    sessions[i]->check_room(std::ssize(tokens[i]));
  }
  std::vector<size_t> done(sessions.size(), 0);
  size_t longest = 0;  // of the pieces
  while (true) {
    // A share of the rest of each text, so that together they make one piece.
    size_t unfinished = 0;
    for (size_t i = 0; i < sessions.size(); ++i) unfinished += done[i] < tokens[i].size() ? 1 : 0;
    if (unfinished == 0) break;
    const size_t share = std::max<size_t>(1, kPiece / unfinished);
    std::vector<int32_t> piece;
    std::vector<Segment> segments;
    std::vector<Session*> reading;
    for (size_t i = 0; i < sessions.size(); ++i) {
      const auto part = tokens[i].subspan(done[i], std::min(share, tokens[i].size() - done[i]));
      if (part.empty()) continue;
      segments.push_back({&sessions[i]->state_, std::ssize(piece), std::ssize(part)});
      reading.push_back(sessions[i]);
      piece.insert(piece.end(), part.begin(), part.end());
      done[i] += part.size();
    }
    const Run run{*sessions[0]->pool_, *sessions[0]->work_};
    const kernels::Rows features = sessions[0]->model_->read(piece, segments, run);
    for (size_t i = 0; i < reading.size(); ++i)
      reading[i]->keep_features(features[segments[i].begin + segments[i].length - 1]);
    longest = std::max(longest, piece.size());
  }
  if (longest > kKept) *sessions[0]->work_ = Workspace();
}

void Session::check_room(int64_t tokens) const { model_->check_length(state_.position + tokens); }

void Session::keep_features(const float* row) {
  features_.assign(row, row + model_->options().block.width);
  logits_.clear();
}

std::span<const float> Session::logits() {
  Session* const self = this;
  predict_together({&self, 1});
  return logits_;
}

void predict_together(std::span<Session* const> sessions) {
  std::vector<Session*> waiting;
  std::vector<float> features;
  for (Session* session : sessions) {
    require(session->model_ == sessions[0]->model_, "sessions of different models cannot be in one batch");
    require(!session->features_.empty(), "no logits before the first token: feed </s> first");
    if (!session->logits_.empty()) continue;
    waiting.push_back(session);
    features.insert(features.end(), session->features_.begin(), session->features_.end());
  }
  if (waiting.empty()) return;
  const TokenOutput& output = sessions[0]->model_->output();
  const int64_t rows = std::ssize(waiting), width = std::ssize(waiting[0]->features_);
  const Run run{*waiting[0]->pool_, *waiting[0]->work_};
  if (rows == 1) {  // write the result in place
    std::vector<float>& own = waiting[0]->logits_;
    own.resize(static_cast<size_t>(output.vocabulary()));
    output.logits({features.data(), width}, {own.data(), output.vocabulary()}, 1, run);
    return;
  }
  const kernels::Rows logits{run.work.floats(Workspace::kLogits, rows * output.vocabulary()),
                             output.vocabulary()};
  output.logits({features.data(), width}, logits, rows, run);
  for (int64_t i = 0; i < rows; ++i)
    waiting[static_cast<size_t>(i)]->logits_.assign(logits[i], logits[i] + output.vocabulary());
}

void Session::score(std::span<const int32_t> tokens, std::span<const int32_t> next, std::span<float> out) {
  require(next.size() == tokens.size() && out.size() == tokens.size(), tokens.size(), " tokens, ",
          next.size(), " next tokens, and space for ", out.size(),
          " log-probabilities: expected equal sizes");
  model_->check_tokens(tokens);
  model_->check_tokens(next);
  check_room(std::ssize(tokens));
  const Run run{*pool_, *work_};
  for (size_t first = 0; first < tokens.size(); first += kPiece) {
    const size_t count = std::min(kPiece, tokens.size() - first);
    const Segment segment{&state_, 0, static_cast<int64_t>(count)};
    const kernels::Rows features = model_->read(tokens.subspan(first, count), {&segment, 1}, run);
    model_->output().log_probabilities({features.data, features.stride}, next.subspan(first, count),
                                       out.subspan(first, count), run);
    keep_features(features[static_cast<int64_t>(count) - 1]);
  }
}

void Session::save(const std::filesystem::path& path) const {
  write_session(path, *model_, state_, features_);
}

Session Session::load(const std::filesystem::path& path, std::shared_ptr<const LanguageModel> model,
                      std::shared_ptr<ThreadPool> pool) {
  Session session(std::move(model), std::move(pool));
  SavedSession saved = read_session(path, *session.model_);
  session.state_ = std::move(saved.state);
  session.features_ = std::move(saved.features);
  return session;
}

}  // namespace mega::infer
