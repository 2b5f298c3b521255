// Reads the pickles that PyTorch's files consist of, and executes nothing.
//
// A pickle is a program for a machine with a stack. Python's machine may call any function that the program
// names; this one knows the few names that saved models contain, and what they stand for: tensors, ordered
// dicts, the fields of a namespace, numpy's numbers. Anything else is refused by its name.
#pragma once

#include <cstddef>
#include <deque>
#include <span>
#include <string>

#include "mega/base/pytorch/pickle_value.h"
#include "mega/base/pytorch/torch_tensor.h"

namespace mega {

// The most that a pickle may take. Those of real models stay far below.
struct PickleLimits {
  static constexpr size_t kBytes = 32 << 20;
  static constexpr size_t kStack = 1 << 20;    // values
  static constexpr size_t kMemo = 1 << 20;     // values
  static constexpr size_t kObjects = 1 << 19;  // lists, tuples, dicts, tensors
  static constexpr size_t kItems = 1 << 21;    // in all lists, tuples and dicts together
  static constexpr int kDepth = 64;
};

// One pickle and all that its values refer to.
class Pickle {
 public:
  // Reads the first pickle of the bytes, which must outlive the result: texts stay where they are. An Error
  // says where it happened. No value contains itself, and depth is limited.
  Pickle(std::span<const std::byte> bytes, const std::string& where);
  Pickle(const Pickle&) = delete;
  Pickle& operator=(const Pickle&) = delete;

  const PickleValue& root() const { return root_; }
  size_t size() const { return size_; }  // bytes of the pickle

  // The arrays that tensors lie in. Their `data` is empty: whoever knows the file fills it in.
  std::deque<TorchStorage>& storages() { return storages_; }

 private:
  friend class PickleMachine;
  friend class PickleChecker;

  PickleValue root_;
  size_t size_ = 0;
  // Flat, so that freeing needs no recursion; and deques, because values point into them.
  std::deque<PickleSequence> sequences_;
  std::deque<PickleTable> tables_;
  std::deque<TorchTensor> tensors_;
  std::deque<TorchStorage> storages_;
  std::deque<std::string> bytes_;
};

}  // namespace mega
