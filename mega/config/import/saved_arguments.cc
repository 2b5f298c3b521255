#include "mega/config/import/saved_arguments.h"

#include <charconv>
#include <utility>

#include "mega/base/error.h"
#include "mega/base/strings.h"

namespace mega {

SavedArguments::SavedArguments(const PickleValue& arguments, std::string where)
    : arguments_(&arguments), where_(std::move(where)) {
  require(arguments.is_table(), where_, ": args: expected the options of the training program, got ",
          arguments.kind_name());
}

std::string SavedArguments::where(std::string_view name) const {
  return where_ + ": args." + std::string(name);
}

const PickleValue* SavedArguments::find(std::string_view name) const {
  const PickleValue* value = arguments_ == nullptr ? nullptr : arguments_->find(name);
  return value != nullptr && !value->is_none() ? value : nullptr;
}

bool SavedArguments::is_text(std::string_view name) const {
  const PickleValue* value = find(name);
  return value != nullptr && value->is_text();
}

std::optional<std::string> SavedArguments::text(std::string_view name) const {
  const PickleValue* value = find(name);
  if (value == nullptr) return std::nullopt;
  return std::string(value->text(where(name)));
}

std::optional<int64_t> SavedArguments::integer(std::string_view name) const {
  const PickleValue* value = find(name);
  if (value == nullptr) return std::nullopt;
  return value->integer(where(name));
}

std::optional<double> SavedArguments::number(std::string_view name) const {
  const PickleValue* value = find(name);
  if (value == nullptr) return std::nullopt;
  return value->number(where(name));
}

std::optional<bool> SavedArguments::flag(std::string_view name) const {
  const PickleValue* value = find(name);
  if (value == nullptr) return std::nullopt;
  return value->boolean(where(name));
}

std::optional<std::vector<int64_t>> SavedArguments::integers(std::string_view name) const {
  const PickleValue* value = find(name);
  if (value == nullptr) return std::nullopt;
  std::vector<int64_t> numbers;
  if (!value->is_text()) {
    for (const PickleValue& item : value->items(where(name))) numbers.push_back(item.integer(where(name)));
    return numbers;
  }
  const std::string_view text = value->text(where(name));
  for (const std::string& part : split(text, ',')) {
    const std::string_view digits = trim(part);
    int64_t number = 0;
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
    require(error == std::errc() && end == digits.data() + digits.size(), where(name),
            ": expected integers with commas between them, got ", in_quotes(text));
    numbers.push_back(number);
  }
  return numbers;
}

std::optional<std::vector<double>> SavedArguments::numbers(std::string_view name) const {
  const PickleValue* value = find(name);
  if (value == nullptr) return std::nullopt;
  std::vector<double> numbers;
  for (const PickleValue& item : value->items(where(name))) numbers.push_back(item.number(where(name)));
  return numbers;
}

}  // namespace mega
