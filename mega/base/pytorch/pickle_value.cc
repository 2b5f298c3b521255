#include "mega/base/pytorch/pickle_value.h"

#include <algorithm>

#include "mega/base/error.h"
#include "mega/base/strings.h"

namespace mega {

const char* PickleValue::kind_name() const {
  switch (kind_) {
    case Kind::none:
      return "None";
    case Kind::boolean:
      return "True or False";
    case Kind::integer:
      return "an integer";
    case Kind::long_integer:
      return "an integer of more than 64 bits";
    case Kind::real:
      return "a real number";
    case Kind::text:
      return "text";
    case Kind::bytes:
      return "bytes";
    case Kind::list:
      return "a list";
    case Kind::tuple:
      return "a tuple";
    case Kind::dict:
      return "a dict";
    case Kind::fields:
      return "an object with fields";
    case Kind::tensor:
      return "a tensor";
    case Kind::name:
      return "the name of a class or function";
    case Kind::storage:
      return "a storage without a tensor";
    case Kind::dtype:
      return "a numpy type";
  }
  return "an unknown value";
}

void PickleValue::wrong_kind(const char* expected, std::string_view where) const {
  fail(where, ": expected ", expected, ", got ", kind_name());
}

bool PickleValue::boolean(std::string_view where) const {
  if (kind_ != Kind::boolean) wrong_kind("True or False", where);
  return boolean_;
}

int64_t PickleValue::integer(std::string_view where) const {
  if (kind_ != Kind::integer) wrong_kind("an integer", where);
  return integer_;
}

double PickleValue::number(std::string_view where) const {
  if (kind_ == Kind::integer) return static_cast<double>(integer_);
  if (kind_ != Kind::real) wrong_kind("a number", where);
  return real_;
}

std::string_view PickleValue::text(std::string_view where) const {
  if (kind_ != Kind::text) wrong_kind("text", where);
  return {data_, size_};
}

std::string_view PickleValue::bytes(std::string_view where) const {
  if (kind_ != Kind::bytes && kind_ != Kind::long_integer) wrong_kind("bytes", where);
  return {data_, size_};
}

std::span<const PickleValue> PickleValue::items(std::string_view where) const {
  if (kind_ != Kind::list && kind_ != Kind::tuple) wrong_kind("a list", where);
  return sequence_->items;
}

std::span<const PickleEntry> PickleValue::entries(std::string_view where) const {
  if (!is_table()) wrong_kind("a dict", where);
  return table_->entries;
}

const TorchTensor& PickleValue::tensor(std::string_view where) const {
  if (kind_ != Kind::tensor) wrong_kind("a tensor", where);
  return *tensor_;
}

const PickleValue* PickleValue::find(std::string_view key) const {
  if (!is_table()) return nullptr;
  const auto key_at = [this](uint32_t index) { return table_->entries[index].key.text("key"); };
  const auto found =
      std::lower_bound(table_->order.begin(), table_->order.end(), key,
                       [&](uint32_t index, std::string_view wanted) { return key_at(index) < wanted; });
  if (found == table_->order.end() || key_at(*found) != key) return nullptr;
  return &table_->entries[*found].value;
}

const PickleValue& PickleValue::at(std::string_view key, std::string_view where) const {
  if (!is_table()) wrong_kind("a dict", where);
  const PickleValue* value = find(key);
  require(value != nullptr, where, ": has no ", in_quotes(key));
  return *value;
}

}  // namespace mega
