#include "mega/text/metrics/ter.h"

#include <algorithm>
#include <optional>
#include <tuple>
#include <unordered_map>

#include "mega/base/error.h"
#include "mega/base/version.h"
#include "mega/text/metrics/edit_distance.h"
#include "mega/text/metrics/words.h"
#include "mega/text/unicode/lower_case.h"

namespace mega {
namespace {

using Words = std::vector<int32_t>;

// Limits of tercom, and one of sacreBLEU: after so many shifts were tried, no further one is made.
constexpr int64_t kLongestShift = 10;
constexpr int64_t kFarthestShift = 50;
constexpr int64_t kMostTrials = 1000;

// Numbers for words, so that comparing them is cheap.
class WordNumbers {
 public:
  Words operator()(std::string_view line) {
    const std::string text = lower_case(line);
    Words result;
    for (const std::string_view word : split_words(text))
      result.push_back(
          numbers_.try_emplace(std::string(word), static_cast<int32_t>(numbers_.size())).first->second);
    return result;
  }

 private:
  std::unordered_map<std::string, int32_t> numbers_;
};

// Which word of the hypothesis each of the reference belongs to, and which words are wrong.
struct Alignment {
  explicit Alignment(std::span<const Edit> edits) {
    int64_t position = -1;  // in the hypothesis
    for (const Edit edit : edits) {
      const bool wrong = edit != Edit::keep;
      if (edit != Edit::add) {
        ++position;
        hypothesis_wrong.push_back(wrong);
      }
      if (edit != Edit::leave_out) {
        hypothesis_position.push_back(position);
        reference_wrong.push_back(wrong);
      }
    }
  }

  std::vector<int64_t>
      hypothesis_position;  // of a word that is to be added: that of the word before it, or -1
  std::vector<bool> hypothesis_wrong, reference_wrong;
};

bool any_of(const std::vector<bool>& flags, int64_t first, int64_t length) {
  return std::find(flags.begin() + first, flags.begin() + first + length, true) !=
         flags.begin() + first + length;
}

// `length` words from `start` on, moved to before the word that is now at `target`. A target within or right
// behind them counts from their end.
Words shifted(Words words, int64_t start, int64_t length, int64_t target) {
  const auto at = [&](int64_t i) { return words.begin() + std::min(i, std::ssize(words)); };
  if (target < start)
    std::rotate(at(target), at(start), at(start + length));
  else
    std::rotate(at(start), at(start + length), at(target > start + length ? target : target + length));
  return words;
}

// The edits that make `reference` of `hypothesis`. Shifts are chosen greedily: each time the one that saves
// most edits.
class ShiftSearch {
 public:
  ShiftSearch(Words hypothesis, const Words& reference)
      : words_(std::move(hypothesis)), reference_(reference), distance_(reference_, words_.size()) {}

  int64_t edits() {
    int64_t shifts = 0;
    while (true) {
      const std::optional<Shift> best = best_shift();
      if (trials_ >= kMostTrials || !best || best->saved <= 0) break;
      words_ = shifted(std::move(words_), best->start, best->length, best->target);
      ++shifts;
    }
    return shifts + distance_.distance(words_);
  }

 private:
  struct Shift {
    int64_t saved, length, start, target;

    // Saves more; then is longer; then starts and ends further left.
    bool better_than(const Shift& other) const {
      return std::tuple(saved, length, -start, -target) >
             std::tuple(other.saved, other.length, -other.start, -other.target);
    }
  };

  std::optional<Shift> best_shift() {
    const int64_t before = distance_.distance(words_);
    const Alignment alignment(distance_.edits());
    std::optional<Shift> best;
    const int64_t guessed = std::ssize(words_), expected = std::ssize(reference_);
    for (int64_t start = 0; start < guessed; ++start) {
      const int64_t last = std::min(expected - 1, start + kFarthestShift);
      for (int64_t goal = std::max<int64_t>(0, start - kFarthestShift); goal <= last; ++goal) {
        const int64_t longest = std::min({kLongestShift, guessed - start, expected - goal});
        for (int64_t length = 1; length <= longest; ++length) {
          if (words_[index(start + length - 1)] != reference_[index(goal + length - 1)]) break;
          try_shift(start, goal, length, before, alignment, best);
          if (trials_ >= kMostTrials) return best;
        }
      }
    }
    return best;
  }

  // Words from `start` on are those of the reference from `goal` on: moves them to each place that is aligned
  // with one of these, unless they are right where they are, or the reference's are matched already.
  void try_shift(int64_t start, int64_t goal, int64_t length, int64_t before, const Alignment& alignment,
                 std::optional<Shift>& best) {
    if (!any_of(alignment.hypothesis_wrong, start, length) ||
        !any_of(alignment.reference_wrong, goal, length))
      return;
    const int64_t there = alignment.hypothesis_position[index(goal)];
    if (start <= there && there < start + length) return;
    int64_t previous = -1;
    for (int64_t i = goal - 1; i < goal + length; ++i) {
      const int64_t target = i < 0 ? 0 : alignment.hypothesis_position[index(i)] + 1;
      if (target == previous) continue;
      previous = target;
      const int64_t after = distance_.distance(shifted(words_, start, length, target));
      const Shift shift{before - after, length, start, target};
      if (!best || shift.better_than(*best)) best = shift;
      ++trials_;
    }
  }

  static size_t index(int64_t i) { return static_cast<size_t>(i); }

  Words words_;
  const Words& reference_;
  BeamEditDistance distance_;
  int64_t trials_ = 0;
};

}  // namespace

std::string Ter::signature(const std::string& corpus, bool) const {
  return corpus + "|case:lc|tok:tercom|norm:no|punct:yes|asian:no|version:mega-" + version();
}

Statistics Ter::statistics(std::string_view hypothesis, std::span<const std::string> references) const {
  require(!references.empty(), "TER needs a reference");
  WordNumbers numbers;
  const Words guess = numbers(hypothesis);
  std::optional<int64_t> fewest;
  double length = 0;
  for (const std::string& line : references) {
    const Words reference = numbers(line);
    // Of an empty reference all words are left out.
    const int64_t edits = reference.empty() ? std::ssize(guess) : ShiftSearch(guess, reference).edits();
    fewest = std::min(fewest.value_or(edits), edits);
    length += static_cast<double>(reference.size());
  }
  return {static_cast<double>(*fewest), length / static_cast<double>(references.size())};
}

double Ter::score(const Statistics& sum) const {
  if (sum.empty()) return 0;
  require(sum.size() == 2, "TER needs 2 numbers, not ", sum.size());
  if (sum[1] > 0) return 100 * sum[0] / sum[1];
  return sum[0] > 0 ? 100 : 0;
}

}  // namespace mega
