#include "mega/data/parallel/pair_suspicions.h"

#include <algorithm>
#include <span>
#include <unordered_map>

#include "mega/base/hash.h"
#include "mega/base/strings.h"

namespace mega::data {
namespace {

constexpr double kMany = 0.1;          // a share of the pairs that is no accident
constexpr double kManyUnknown = 0.05;  // of the tokens
constexpr double kManyShared = 0.01;   // of the pairs to test on

std::string percent(int64_t part, int64_t whole) {
  return std::to_string(
             static_cast<int64_t>(100.0 * static_cast<double>(part) / static_cast<double>(whole))) +
         " %";
}

bool many(int64_t part, int64_t whole, double share = kMany) {
  return whole > 0 && static_cast<double>(part) > share * static_cast<double>(whole);
}

// Looks at one corpus and collects what it finds.
class Inspection {
 public:
  explicit Inspection(const ParallelCorpus& corpus) : corpus_(corpus) {}

  std::vector<std::string> run() {
    for (const PairPart* part : corpus_.parts()) look_at(*part);
    look_at_splits();
    look_for_leaks();
    if (corpus_.problems > 0)
      say(with_thousands(corpus_.problems), " files or rows were left out because they are broken");
    return std::move(found_);
  }

 private:
  template <class... Words>
  void say(const Words&... words) {
    found_.push_back((std::string() + ... + words));
  }

  void look_at(const PairPart& part) {
    const PairCounts& counts = part.counts;
    const int64_t read = counts.read();
    if (read == 0) return;
    if (many(counts.identical, read))
      say(part.name(), ": in ", percent(counts.identical, read),
          " of the pairs source and target are the same: are both files in one language?");
    const auto look_for_empty = [&](int64_t empty, const char* side) {
      if (many(empty, read)) say(part.name(), ": ", percent(empty, read), " of the ", side, "s are empty");
    };
    look_for_empty(counts.empty_sources, "source");
    look_for_empty(counts.empty_targets, "target");
    if (many(counts.too_long, read))
      say(part.name(), ": ", percent(counts.too_long, read),
          " of the pairs are left out because they are longer than input.max_length");
    if (many(counts.unbalanced, read))
      say(part.name(), ": ", percent(counts.unbalanced, read),
          " of the pairs are left out because one side is more than data.max_ratio times as long: are the "
          "files aligned line by line?");
    if (counts.cut > 0)
      say(part.name(), ": ", with_thousands(counts.cut), counts.cut == 1 ? " pair is" : " pairs are",
          " longer than input.max_length, and cut");
    if (part.empty()) return;

    const TokenView &source = part.source.text(), &target = part.target.text();
    const auto [less, more] = std::minmax(source.counts.characters, target.counts.characters);
    if (less > 0 && more > 2 * less)
      say(part.name(), ": the ", source.counts.characters > target.counts.characters ? "sources" : "targets",
          " have ", std::to_string(more / less), " times the characters of the other side");
    for (const TokenView* side : {&source, &target})
      if (many(side->counts.unknown, side->size(), kManyUnknown))
        say(part.name(), ": ", percent(side->counts.unknown, side->size()), " of the ",
            side == &source ? "source" : "target",
            "'s tokens are unknown to the vocabulary: use smaller units");
  }

  void look_at_splits() {
    if (corpus_.train.empty()) return;
    if (corpus_.valid.empty())
      say("there are no pairs to choose by: name some with data.valid, or set data.valid_share");
    const auto& tests = corpus_.tests;
    if (std::all_of(tests.begin(), tests.end(), [](const PairPart& test) { return test.empty(); }))
      say("there are no pairs to test on: name some with data.test");
  }

  // By a hash of the tokens. The training text, which may be large, is read once and in its order.
  void look_for_leaks() {
    std::unordered_map<uint64_t, bool> trained;  // pairs to choose by and to test on
    std::vector<const PairPart*> evaluated = corpus_.parts();
    evaluated.erase(evaluated.begin());
    for (const PairPart* part : evaluated)
      for_each_hash(*part, [&](uint64_t hash) { trained[hash] = false; });
    for_each_hash(corpus_.train, [&](uint64_t hash) {
      if (const auto found = trained.find(hash); found != trained.end()) found->second = true;
    });
    for (const PairPart* part : evaluated) {
      int64_t shared = 0;
      for_each_hash(*part, [&](uint64_t hash) { shared += trained[hash] ? 1 : 0; });
      if (many(shared, part->size(), kManyShared))
        say(part->name(), ": ", percent(shared, part->size()), " of its pairs are trained on");
    }
  }

  template <class Action>
  static void for_each_hash(const PairPart& part, const Action& action) {
    std::vector<int32_t> tokens;
    Block source = part.source.before_first(), target = part.target.before_first();
    for (int64_t i = 0; i < part.size(); ++i) {
      uint64_t hash = 0;
      const auto add = [&](const TokenLines& side, Block& line) {
        line = side.after(line);
        tokens.resize(static_cast<size_t>(line.size()));
        side.text().file->copy(line.begin, line.size(), tokens.data());
        hash = hash_bytes(std::as_bytes(std::span(tokens)), hash);
      };
      add(part.source, source);
      add(part.target, target);
      action(hash);
    }
  }

  const ParallelCorpus& corpus_;
  std::vector<std::string> found_;
};

}  // namespace

std::vector<std::string> find_suspicions(const ParallelCorpus& corpus) { return Inspection(corpus).run(); }

}  // namespace mega::data
