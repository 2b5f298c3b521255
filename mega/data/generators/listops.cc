#include "mega/data/generators/listops.h"

#include <algorithm>
#include <array>
#include <memory>
#include <unordered_set>
#include <vector>

#include "mega/base/error.h"
#include "mega/base/files/file.h"
#include "mega/base/hash.h"
#include "mega/base/random.h"
#include "mega/base/strings.h"
#include "mega/data/generators/output_files.h"

namespace mega::data {
namespace {

constexpr double kOperatorShare = 0.25;
constexpr std::array<std::string_view, 4> kOperators = {"[MIN", "[MAX", "[MED", "[SM"};

// Enough for any options of which one expression in a hundred thousand has a wanted length.
constexpr int64_t kMostAttempts = 1'000'000;
constexpr int64_t kMostTokens = 1'000'000'000;

// Arguments are digits, so how often each occurs is all an operator needs to know.
using Digits = std::array<int, 10>;

// The argument at `rank`, counted from 0 in ascending order.
int ranked(const Digits& digits, int64_t rank) {
  int digit = 0;
  for (int64_t seen = digits[0]; seen <= rank; seen += digits[static_cast<size_t>(digit)]) ++digit;
  return digit;
}

int apply(std::string_view name, const Digits& digits, int64_t arguments) {
  if (name == "[MIN") return ranked(digits, 0);
  if (name == "[MAX") return ranked(digits, arguments - 1);
  if (name == "[MED") return (ranked(digits, (arguments - 1) / 2) + ranked(digits, arguments / 2)) / 2;
  int sum = 0;
  for (int digit = 0; digit < 10; ++digit) sum += digit * digits[static_cast<size_t>(digit)];
  return sum % 10;
}

// Calls `each` with every token that is not a round bracket.
template <class Each>
void for_each_token(std::string_view expression, Each each) {
  constexpr std::string_view kBetween = " \t\r\n()";
  size_t begin = expression.find_first_not_of(kBetween);
  while (begin != std::string_view::npos) {
    const size_t end = std::min(expression.find_first_of(kBetween, begin), expression.size());
    each(expression.substr(begin, end - begin));
    begin = expression.find_first_not_of(kBetween, end);
  }
}

bool is_digit(std::string_view token) { return token.size() == 1 && token[0] >= '0' && token[0] <= '9'; }

}  // namespace

ListOpsGenerator::ListOpsGenerator(const ListOpsOptions& options, uint64_t seed)
    : options_(options), draws_(stream_seed(seed, "listops")) {
  check_ranges(options, "listops");
  require(options.min_length + 1 < options.max_length,
          "listops: no length is more than min_length = ", options.min_length,
          " and less than max_length = ", options.max_length);
}

// Appends an expression of at most `levels` levels and gives its value; nothing when the whole has grown to
// max_length, whatever may still follow.
std::optional<int> ListOpsGenerator::draw(int64_t levels) {
  if (example_.length >= options_.max_length) return std::nullopt;
  const bool leaf = levels == 1 || draws_.unit() > kOperatorShare;
  if (leaf) {
    ++example_.length;
    const auto digit = static_cast<int>(draws_.below(10));
    example_.source += static_cast<char>('0' + digit);
    return digit;
  }

  const int64_t arguments = draws_.between(2, options_.arguments);
  const std::string_view name = kOperators[static_cast<size_t>(draws_.below(kOperators.size()))];
  example_.length += 2;  // the operator and its "]"
  for (int64_t i = 0; i <= arguments; ++i) example_.source += "( ";
  example_.source += name;
  Digits digits{};
  for (int64_t i = 0; i < arguments; ++i) {
    example_.source += ' ';
    const std::optional<int> digit = draw(levels - 1);
    if (!digit) return std::nullopt;
    ++digits[static_cast<size_t>(*digit)];
    example_.source += " )";
  }
  example_.source += " ] )";
  return apply(name, digits, arguments);
}

ListOpsExample ListOpsGenerator::next() {
  int64_t tokens = 0;
  for (int64_t attempt = 0; attempt < kMostAttempts && tokens < kMostTokens; ++attempt) {
    example_.source.clear();
    example_.length = 0;
    const std::optional<int> value = draw(options_.depth);
    tokens += example_.length;
    if (value && example_.length > options_.min_length && example_.length < options_.max_length) {
      example_.value = *value;
      return example_;
    }
  }
  fail("listops: no expression of more than ", options_.min_length, " and less than ", options_.max_length,
       " tokens with depth ", options_.depth, " and up to ", options_.arguments,
       " arguments could be found; allow other lengths, or change depth and arguments");
}

void write_listops(const std::filesystem::path& folder, const ListOpsOptions& options, int64_t train,
                   int64_t valid, int64_t test, uint64_t seed,
                   const std::function<void(int64_t done)>& progress) {
  constexpr int64_t kMostRepeats = 100'000;
  for (const int64_t count : {train, valid, test}) require_possible(count, "expressions");
  ListOpsGenerator generator(options, seed);
  create_folder(folder);

  // Hashes stand for the expressions: two that share one would only cost an example, never repeat one.
  std::unordered_set<uint64_t> seen;
  const auto next_new = [&] {
    for (int64_t repeats = 0; repeats < kMostRepeats; ++repeats) {
      ListOpsExample example = generator.next();
      if (seen.insert(hash_text(example.source)).second) return example;
    }
    fail("listops: there seem to be no more than ", with_thousands(static_cast<int64_t>(seen.size())),
         " different expressions with these options; ask for fewer, or allow longer ones");
  };

  const std::array<std::pair<const char*, int64_t>, 3> parts = {
      {{"basic_train.tsv", train}, {"basic_val.tsv", valid}, {"basic_test.tsv", test}}};
  std::vector<std::unique_ptr<AtomicFile>> files;
  int64_t done = 0;
  for (const auto& [name, count] : parts) {
    AtomicFile& file = *files.emplace_back(std::make_unique<AtomicFile>(folder / name));
    file.write("Source\tTarget\r\n");
    for (int64_t i = 0; i < count; ++i) {
      const ListOpsExample example = next_new();
      file.write(example.source + '\t' + std::to_string(example.value) + "\r\n");
      ++done;
      if (progress) progress(done);
    }
  }
  for (const auto& file : files) file->commit();
}

std::optional<std::string> listops_error(std::string_view expression) {
  std::optional<std::string> error;
  std::vector<int64_t> arguments = {0};  // of every operator that is open; the first counts whole expressions
  const auto check = [&](std::string_view token) {
    if (error) return;
    if (std::find(kOperators.begin(), kOperators.end(), token) != kOperators.end()) {
      arguments.push_back(0);
    } else if (token == "]") {
      if (arguments.size() == 1) {
        error = "a \"]\" that closes nothing";
      } else if (arguments.back() == 0) {
        error = "an operator without arguments";
      } else {
        arguments.pop_back();
        ++arguments.back();
      }
    } else if (is_digit(token)) {
      ++arguments.back();
    } else {
      error = "unknown token " + in_quotes(token) + "; expected a digit, [MIN, [MAX, [MED, [SM or ]";
    }
  };
  for_each_token(expression, check);
  if (error) return error;
  if (arguments.size() > 1)
    return std::to_string(arguments.size() - 1) + " operators are not closed by \"]\"";
  if (arguments[0] == 0) return "no expression";
  if (arguments[0] > 1) return "more than one expression";
  return std::nullopt;
}

std::string listops_tokens(std::string_view expression) {
  std::string tokens;
  for_each_token(expression, [&](std::string_view token) {
    if (!tokens.empty()) tokens += ' ';
    tokens += token;
  });
  return tokens;
}

}  // namespace mega::data
