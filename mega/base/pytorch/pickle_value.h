// What a pickle holds: a tree of plain values. No value can do anything, whatever the file says.
//
// Values are handles of 16 bytes; what they refer to belongs to the Pickle that made them, which frees it
// without recursion. Every access is checked: `where` names the value in the Error.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace mega {

class TorchTensor;
struct TorchStorage;
struct PickleEntry;
struct PickleSequence;
struct PickleTable;

class PickleValue {
 public:
  enum class Kind : uint8_t {
    none,
    boolean,
    integer,
    long_integer,  // of more than 64 bits
    real,
    text,
    bytes,
    list,
    tuple,
    dict,
    fields,  // those of an object: argparse.Namespace
    tensor,
    // What other values are made from.
    name,     // of a class or a function, one of those that a file may mention
    storage,  // the array behind a tensor
    dtype,    // numpy's type of a number
  };

  PickleValue() = default;  // none

  Kind kind() const { return kind_; }
  const char* kind_name() const;  // "a list"
  bool is_none() const { return kind_ == Kind::none; }
  bool is_text() const { return kind_ == Kind::text; }
  bool is_tensor() const { return kind_ == Kind::tensor; }
  bool is_table() const { return kind_ == Kind::dict || kind_ == Kind::fields; }

  bool boolean(std::string_view where) const;
  int64_t integer(std::string_view where) const;
  double number(std::string_view where) const;  // an integer or a real number
  std::string_view text(std::string_view where) const;
  std::string_view bytes(std::string_view where) const;
  std::span<const PickleValue> items(std::string_view where) const;    // of a list or a tuple
  std::span<const PickleEntry> entries(std::string_view where) const;  // of a dict or an object, in order
  const TorchTensor& tensor(std::string_view where) const;

  // The value of a text key of a dict or an object; null where there is none, or this is no such thing.
  const PickleValue* find(std::string_view key) const;
  const PickleValue& at(std::string_view key, std::string_view where) const;

 private:
  friend class PickleMachine;
  friend class PickleChecker;

  [[noreturn]] void wrong_kind(const char* expected, std::string_view where) const;

  Kind kind_ = Kind::none;
  uint32_t size_ = 0;  // of text and bytes
  union {
    int64_t integer_ = 0;
    bool boolean_;
    double real_;
    const char* data_;  // of text and bytes
    PickleSequence* sequence_;
    PickleTable* table_;
    const TorchTensor* tensor_;
    const TorchStorage* storage_;
  };
};

struct PickleEntry {
  PickleValue key, value;
};

struct PickleSequence {
  std::vector<PickleValue> items;
  int depth = 0;  // of what is inside; 0: not known yet
};

struct PickleTable {
  std::vector<PickleEntry> entries;
  std::vector<uint32_t> order;  // of the entries with text keys, by key
  int depth = 0;
};

}  // namespace mega
