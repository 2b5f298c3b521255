// Beam search, diverse beam search or sampling for one sentence, without the model: it says which hypotheses
// are to be continued, and is told the distribution of the next token of each.
//
// As released, each step takes the 2 * beam best continuations of all hypotheses: those that end with </s>
// among the first `beam` are finished, and the best `beam` of the others go on. Padding is never chosen, nor
// is <s>, which no target has. Diverse beams (Vijayakumar et al. 2016) are several such searches, side by
// side, of which each avoids the tokens of those before it.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "mega/infer/generation/sampler.h"
#include "mega/infer/translation/candidates.h"
#include "mega/infer/translation/hypothesis.h"
#include "mega/infer/translation/search_options.h"
#include "mega/infer/translation/step_rows.h"

namespace mega::infer {

class SentenceSearch {
 public:
  // Options and sentence have been checked, and must stay. The prefix fits into max_length, the number of
  // tokens before </s>.
  SentenceSearch(const SearchOptions& options, const SearchSentence& sentence, int64_t max_length);

  // What the next step has to append: a token to a row of the step before, both counted from the sentence's
  // first row. Empty if the search is over.
  struct Row {
    int64_t parent;
    Token token;
  };
  const std::vector<Row>& rows() const { return rows_; }

  // Error if a log-probability is NaN or above 0.
  void advance(const StepRows& step);

  // The best finished hypotheses, distinct.
  NBest result() &&;

 private:
  struct Live {
    Hypothesis hypothesis;
    double rank = 0.0;   // the sum, with penalties that only steer the search
    int64_t row = 0;     // in the last step
    size_t sampler = 0;  // the number of its random stream
  };
  struct Group {
    size_t size;
    std::vector<Live> live;
    std::vector<Hypothesis> finished;
  };
  using Counts = std::map<Token, int64_t>;

  int64_t length() const { return steps_; }
  std::vector<Candidate> best(const Group& group, const StepRows& step, const Counts& chosen) const;
  void offer_all(const Group& group, int64_t index, const StepRows& step, const Counts& chosen,
                 Candidates& candidates) const;
  std::vector<Candidate> sampled(const Group& group, const StepRows& step);
  Candidate forced(const Live& live, int64_t index, Token token, const StepRows& step) const;
  bool is_banned(const Live& live, const std::vector<Token>& repeated, Token token) const;

  void extend(Group& group, const std::vector<Candidate>& candidates, const StepRows& step, Counts& chosen);
  Hypothesis continued(const Live& live, Token token, float log_probability, const StepRows& step) const;
  void finish(Group& group, Hypothesis hypothesis) const;
  bool is_over(const Group& group) const;

  const SearchOptions& options_;
  const SearchSentence& sentence_;
  int64_t max_length_;
  int64_t steps_ = 0;
  std::vector<Group> groups_;
  std::vector<Sampler> samplers_;
  std::vector<Row> rows_;
};

}  // namespace mega::infer
