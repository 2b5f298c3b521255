// The options that a training program was called with, as its checkpoint keeps them (argparse.Namespace).
// Values are data: what the program evaluated as Python is read as numbers, or refused.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "mega/base/pytorch/pickle_value.h"

namespace mega {

class SavedArguments {
 public:
  // No options at all.
  explicit SavedArguments(std::string where) : where_(std::move(where)) {}
  // Error where it is no set of options; `where` begins error messages. The file outlives the object.
  SavedArguments(const PickleValue& arguments, std::string where);

  // Whether it is there; None is there, too.
  bool has(std::string_view name) const { return arguments_ != nullptr && arguments_->find(name) != nullptr; }

  bool is_text(std::string_view name) const;

  // The value of an option; none where it is missing or None. Error where it is something else.
  std::optional<std::string> text(std::string_view name) const;
  std::optional<int64_t> integer(std::string_view name) const;
  std::optional<double> number(std::string_view name) const;
  std::optional<bool> flag(std::string_view name) const;
  // "20000,60000", or a list of integers.
  std::optional<std::vector<int64_t>> integers(std::string_view name) const;
  std::optional<std::vector<double>> numbers(std::string_view name) const;  // a list

  // "FILE: args.NAME".
  std::string where(std::string_view name) const;

 private:
  const PickleValue* find(std::string_view name) const;  // null: missing or None

  const PickleValue* arguments_ = nullptr;
  std::string where_;
};

}  // namespace mega
