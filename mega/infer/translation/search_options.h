// How translations are searched for, declared once. The defaults are the released search with the published
// settings (beam 5, length penalty 0.5), except that the longest translation depends on the source, and that
// the search does not end while a better one is open.
#pragma once

#include <cstdint>

#include "mega/base/options/options.h"
#include "mega/infer/generation/sampler.h"

namespace mega::infer {

// What the sum of log-probabilities of a hypothesis of `length` tokens, </s> included, is divided by:
// length^alpha as released, or ((5 + length) / 6)^alpha (Wu et al. 2016).
enum class LengthForm { released, gnmt };

// When a search ends: when no unfinished hypothesis can become one of the best any more; or, as released, as
// soon as as many hypotheses are finished as the beam has places. Where a vocabulary is small or a model has
// learnt little, these are often unlikely ones that are short.
enum class StopRule { released, exact };

}  // namespace mega::infer

template <>
struct mega::EnumNames<mega::infer::LengthForm> {
  using Form = mega::infer::LengthForm;
  static constexpr auto names = enum_table<Form>({{Form::released, "released"}, {Form::gnmt, "gnmt"}});
};
template <>
struct mega::EnumNames<mega::infer::StopRule> {
  using Rule = mega::infer::StopRule;
  static constexpr auto names = enum_table<Rule>({{Rule::released, "released"}, {Rule::exact, "exact"}});
};

namespace mega::infer {

struct SearchOptions {
  int64_t beam = 5;
  int64_t nbest = 1;
  double length_penalty = 0.5;
  LengthForm length_form = LengthForm::released;
  StopRule stop = StopRule::exact;
  int64_t min_length = 1;
  double max_length_factor = 1.5;
  int64_t max_length_extra = 20;
  int64_t max_length = 0;
  int64_t no_repeat = 0;
  double unknown_penalty = 0.0;
  int64_t groups = 1;
  double diversity = 0.5;
  bool sample = false;
  SamplerOptions sampler;

  template <class Self, class Visitor>
  static void visit(Self& self, Visitor& v) {
    v.field("beam", self.beam, "number of hypotheses kept per sentence; 1 is greedy", Range{1, 4096});
    v.field("nbest", self.nbest, "number of translations per sentence, at most the beam", Range{1, 4096});
    v.field("length_penalty", self.length_penalty,
            "alpha: scores are divided by length^alpha; 0: off, larger favours long translations",
            Range{-10, 10});
    v.field("length_form", self.length_form, "released: length^alpha; gnmt: ((5 + length) / 6)^alpha");
    v.field("stop", self.stop,
            "exact: when no open hypothesis can be better; released: when `beam` are finished");
    v.field("min_length", self.min_length, "min number of tokens before </s>", Range{0, 1e9});
    v.field("max_length_factor", self.max_length_factor,
            "max number of tokens before </s>: this times the source's, plus max_length_extra",
            Range{0, 1e6});
    v.field("max_length_extra", self.max_length_extra, "see max_length_factor", Range{0, 1e9});
    v.field("max_length", self.max_length, "max number of tokens before </s> of any translation; 0: no limit",
            Range{0, 1e9});
    v.field("no_repeat", self.no_repeat, "no n-gram of this many tokens occurs twice; 0: off", Range{0, 1e9});
    v.field("unknown_penalty", self.unknown_penalty, "subtracted from the log-probability of <unk>",
            Range{0, 1e6});
    v.field("groups", self.groups, "diverse beams: groups of equal size that avoid each other's tokens",
            Range{1, 4096});
    v.field("diversity", self.diversity, "penalty of a token for each time an earlier group has chosen it",
            Range{0, 1e6});
    v.field("sample", self.sample, "sample `beam` translations instead of searching for the best");
    v.nested("sampler", self.sampler, "sampling of a token, with `sample`");
  }
};

// Error if a value is out of range, or options do not fit each other.
void check_search(const SearchOptions& options);

// What a sum of log-probabilities is divided by; `length` counts </s>.
double length_divisor(const SearchOptions& options, int64_t length);

// No continuation of a hypothesis with this sum and `length` tokens so far, all without </s>, has a higher
// score, if translations have at most `max_length` tokens before </s>: log-probabilities are never above 0.
double best_attainable(const SearchOptions& options, double sum, int64_t length, int64_t max_length);

}  // namespace mega::infer
