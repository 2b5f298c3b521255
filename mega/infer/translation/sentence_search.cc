#include "mega/infer/translation/sentence_search.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "mega/base/error.h"
#include "mega/infer/translation/repeats.h"
#include "mega/kernels/log_softmax.h"

namespace mega::infer {
namespace {

constexpr float kLowest = -std::numeric_limits<float>::infinity();
// A log-probability computed in float may be slightly above 0.
constexpr float kRounding = 1e-3f;

void check_log_probability(float x, Token token) {
  require(x <= kRounding, "the log-probability of token ", token, " is ", x,
          ": the model's weights are damaged, or training diverged");
}

bool contains(const std::vector<Token>& tokens, Token token) {
  return std::find(tokens.begin(), tokens.end(), token) != tokens.end();
}

bool scores_higher(const Hypothesis& a, const Hypothesis& b) { return a.score > b.score; }

}  // namespace

SentenceSearch::SentenceSearch(const SearchOptions& options, const SearchSentence& sentence,
                               int64_t max_length)
    : options_(options), sentence_(sentence), max_length_(max_length) {
  // All begin with </s>, in the same row.
  rows_.push_back({0, kEnd});
  const auto beam = static_cast<size_t>(options.beam), groups = static_cast<size_t>(options.groups);
  for (size_t g = 0; g < groups; ++g) groups_.push_back({beam / groups, {Live()}, {}});
  if (!options.sample) return;
  groups_[0].live.resize(beam);
  for (size_t i = 0; i < beam; ++i) {
    groups_[0].live[i].sampler = i;
    SamplerOptions own = options.sampler;
    const uint64_t seed =
        stream_seed(static_cast<uint64_t>(options.sampler.seed), "translation", sentence.number);
    own.seed = static_cast<int64_t>(stream_seed(seed, "hypothesis", i) % uint64_t{1'000'000'000'000'000});
    samplers_.emplace_back(own);
  }
}

void SentenceSearch::advance(const StepRows& step) {
  Counts chosen;
  for (Group& group : groups_)
    if (!group.live.empty())
      extend(group, options_.sample ? sampled(group, step) : best(group, step, chosen), step, chosen);
  ++steps_;
  rows_.clear();
  for (Group& group : groups_)
    for (Live& live : group.live) {
      rows_.push_back({live.row, live.hypothesis.tokens.back()});
      live.row = std::ssize(rows_) - 1;
    }
}

std::vector<Candidate> SentenceSearch::best(const Group& group, const StepRows& step,
                                            const Counts& chosen) const {
  Candidates candidates(2 * group.size);
  const bool in_prefix = length() < std::ssize(sentence_.prefix);
  for (int64_t i = 0; i < std::ssize(group.live); ++i) {
    const Live& live = group.live[static_cast<size_t>(i)];
    if (in_prefix) {
      candidates.offer(forced(live, i, sentence_.prefix[static_cast<size_t>(length())], step));
    } else if (length() >= max_length_) {
      candidates.offer(forced(live, i, kEnd, step));
    } else {
      offer_all(group, i, step, chosen, candidates);
    }
  }
  return candidates.take();
}

// Only tokens that are at least as likely as the worst candidate so far are looked at. Penalties only lower.
void SentenceSearch::offer_all(const Group& group, int64_t index, const StepRows& step, const Counts& chosen,
                               Candidates& candidates) const {
  const Live& live = group.live[static_cast<size_t>(index)];
  const std::vector<Token> repeated = repeats(live.hypothesis.tokens, options_.no_repeat);
  const float* row = step.row(live.row);
  const auto next = [&](int64_t begin) {
    return kernels::find_not_below(row, begin, step.columns, candidates.threshold(live.rank));
  };
  for (int64_t column = next(0); column < step.columns; column = next(column + 1)) {
    const Token token = step.token(column);
    float value = row[column];
    check_log_probability(value, token);
    if (value == kLowest || is_banned(live, repeated, token)) continue;
    if (token == kUnknown) value -= static_cast<float>(options_.unknown_penalty);
    double rank = live.rank + static_cast<double>(value);
    if (const auto found = chosen.find(token); found != chosen.end())
      rank -= options_.diversity * static_cast<double>(found->second);
    candidates.offer({rank, value, index, token});
  }
}

Candidate SentenceSearch::forced(const Live& live, int64_t index, Token token, const StepRows& step) const {
  const int64_t column = step.column(token);
  float value = column < 0 ? kLowest : step.row(live.row)[column];
  check_log_probability(value, token);
  if (token == kUnknown) value -= static_cast<float>(options_.unknown_penalty);
  return {live.rank + static_cast<double>(value), value, index, token};
}

bool SentenceSearch::is_banned(const Live& live, const std::vector<Token>& repeated, Token token) const {
  const bool too_short = std::ssize(live.hypothesis.tokens) < std::min(options_.min_length, max_length_);
  return token == kStart || token == kPad || (token == kEnd && too_short) || contains(repeated, token);
}

// One continuation of each hypothesis.
std::vector<Candidate> SentenceSearch::sampled(const Group& group, const StepRows& step) {
  std::vector<Candidate> drawn;
  std::vector<float> logits;
  for (int64_t i = 0; i < std::ssize(group.live); ++i) {
    const Live& live = group.live[static_cast<size_t>(i)];
    if (length() < std::ssize(sentence_.prefix)) {
      drawn.push_back(forced(live, i, sentence_.prefix[static_cast<size_t>(length())], step));
      continue;
    }
    if (length() >= max_length_) {
      drawn.push_back(forced(live, i, kEnd, step));
      continue;
    }
    const std::vector<Token> repeated = repeats(live.hypothesis.tokens, options_.no_repeat);
    const float* row = step.row(live.row);
    logits.assign(static_cast<size_t>(step.token(step.columns - 1)) + 1, kLowest);
    bool any = false;
    for (int64_t column = 0; column < step.columns; ++column) {
      const Token token = step.token(column);
      check_log_probability(row[column], token);
      if (row[column] == kLowest || is_banned(live, repeated, token)) continue;
      const bool unknown = token == kUnknown;
      logits[static_cast<size_t>(token)] =
          row[column] - (unknown ? static_cast<float>(options_.unknown_penalty) : 0.0f);
      any = any || token > kUnknown || token == kEnd || (unknown && options_.sampler.allow_unknown);
    }
    // A dead end, where everything is banned, ends the sentence.
    const Token token = any ? samplers_[live.sampler].draw(logits, live.hypothesis.tokens) : Token{kEnd};
    drawn.push_back(forced(live, i, token, step));
  }
  return drawn;
}

void SentenceSearch::extend(Group& group, const std::vector<Candidate>& candidates, const StepRows& step,
                            Counts& chosen) {
  std::vector<Live> next;
  for (size_t i = 0; i < candidates.size(); ++i) {
    const Candidate& candidate = candidates[i];
    const Live& live = group.live[static_cast<size_t>(candidate.hypothesis)];
    const bool ends = candidate.token == kEnd;
    if (ends ? i >= group.size : next.size() == group.size) continue;
    Hypothesis longer = continued(live, candidate.token, candidate.log_probability, step);
    if (ends) {
      finish(group, std::move(longer));
    } else {
      ++chosen[candidate.token];
      next.push_back({std::move(longer), candidate.rank, live.row, live.sampler});
    }
  }
  // A dead end, where everything is banned: what there is, is the translation.
  if (next.empty() && group.finished.empty())
    for (int64_t i = 0; i < std::ssize(group.live); ++i) {
      const Live& live = group.live[static_cast<size_t>(i)];
      finish(group, continued(live, kEnd, forced(live, i, kEnd, step).log_probability, step));
    }
  group.live = std::move(next);
  if (is_over(group)) group.live.clear();
}

Hypothesis SentenceSearch::continued(const Live& live, Token token, float log_probability,
                                     const StepRows& step) const {
  Hypothesis longer = live.hypothesis;
  longer.tokens.push_back(token);
  longer.log_probabilities.push_back(log_probability);
  longer.sum += static_cast<double>(log_probability);
  longer.score = longer.sum / length_divisor(options_, std::ssize(longer.tokens));
  if (const int64_t position = step.aligned[static_cast<size_t>(live.row)]; position >= 0)
    longer.aligned.push_back(position);
  return longer;
}

// As released, the first ones count; with the exact rule the best ones.
void SentenceSearch::finish(Group& group, Hypothesis hypothesis) const {
  if (options_.stop == StopRule::released) {
    if (group.finished.size() < group.size) group.finished.push_back(std::move(hypothesis));
    return;
  }
  const auto place =
      std::upper_bound(group.finished.begin(), group.finished.end(), hypothesis, scores_higher);
  group.finished.insert(place, std::move(hypothesis));
  if (group.finished.size() > group.size) group.finished.pop_back();
}

bool SentenceSearch::is_over(const Group& group) const {
  if (options_.sample) return false;  // each ends by itself
  if (options_.stop == StopRule::released) return group.finished.size() >= group.size;
  const size_t wanted = std::min(group.size, static_cast<size_t>(options_.nbest));
  if (group.finished.size() < wanted) return false;
  const double worst = group.finished[wanted - 1].score;
  return std::all_of(group.live.begin(), group.live.end(), [&](const Live& live) {
    const Hypothesis& open = live.hypothesis;
    return best_attainable(options_, open.sum, std::ssize(open.tokens), max_length_) <= worst;
  });
}

NBest SentenceSearch::result() && {
  NBest all;
  for (Group& group : groups_)
    for (Hypothesis& hypothesis : group.finished) all.push_back(std::move(hypothesis));
  std::stable_sort(all.begin(), all.end(), scores_higher);
  NBest distinct;
  for (Hypothesis& hypothesis : all) {
    const bool known = std::any_of(distinct.begin(), distinct.end(), [&](const Hypothesis& other) {
      return other.tokens == hypothesis.tokens;
    });
    if (!known && std::ssize(distinct) < options_.nbest) distinct.push_back(std::move(hypothesis));
  }
  return distinct;
}

}  // namespace mega::infer
