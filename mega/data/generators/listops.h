// ListOps (Nangia and Bowman, 2018) as Long Range Arena makes it: nested lists of digits with an operator
// each, to be worked out to one digit. "[MAX 2 9 [MIN 4 7 ] ]" is 9.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "mega/base/options/options.h"
#include "mega/base/random.h"

namespace mega::data {

// The defaults are those of Long Range Arena.
struct ListOpsOptions {
  int64_t depth = 10;
  int64_t arguments = 10;
  int64_t min_length = 500;
  int64_t max_length = 2000;

  template <class Self, class Visitor>
  static void visit(Self& self, Visitor& v) {
    v.field("depth", self.depth, "levels of an expression; a single digit is one", Range{1, 100});
    v.field("arguments", self.arguments, "most arguments of an operator; two are the fewest", Range{2, 1000});
    v.field("min_length", self.min_length, "every expression has more tokens than this", Range{0, 1e6});
    v.field("max_length", self.max_length, "every expression has fewer tokens than this", Range{2, 1e6});
  }
};

struct ListOpsExample {
  std::string source;  // as published, branching in twos: "( ( ( [MAX 2 ) 9 ) ] )"
  int value = 0;
  int64_t length = 0;  // in tokens; round brackets are none
};

// Random expressions until one has a length within the bounds. Depends on options and seed alone.
class ListOpsGenerator {
 public:
  ListOpsGenerator(const ListOpsOptions& options, uint64_t seed);

  // An Error when the options give no expression of such a length within reasonable effort.
  ListOpsExample next();

 private:
  std::optional<int> draw(int64_t depth);

  ListOpsOptions options_;
  Random draws_;
  ListOpsExample example_;  // the one being drawn
};

// Writes basic_train.tsv, basic_val.tsv and basic_test.tsv in the published format: no expression twice in
// all of them. `progress`, where given, hears how many examples are written.
void write_listops(const std::filesystem::path& folder, const ListOpsOptions& options, int64_t train,
                   int64_t valid, int64_t test, uint64_t seed,
                   const std::function<void(int64_t done)>& progress = nullptr);

// What is wrong with an expression, with or without round brackets; nothing when it is well formed.
std::optional<std::string> listops_error(std::string_view expression);

// The tokens of an expression with one space between them and no round brackets: "[MAX 2 9 ]".
std::string listops_tokens(std::string_view expression);

}  // namespace mega::data
