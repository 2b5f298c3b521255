#include "mega/base/pytorch/pickle.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <map>
#include <string_view>
#include <utility>
#include <vector>

#include "mega/base/error.h"
#include "mega/base/pytorch/byte_cursor.h"
#include "mega/base/strings.h"
#include "mega/base/utf8.h"

namespace mega {
namespace {

using Kind = PickleValue::Kind;
using Limits = PickleLimits;

// The operations of Python's pickletools that saved models consist of.
enum class Op : unsigned char {
  proto = 0x80,
  stop = '.',
  frame = 0x95,
  mark = '(',
  none = 'N',
  new_true = 0x88,
  new_false = 0x89,
  binint = 'J',
  binint1 = 'K',
  binint2 = 'M',
  long1 = 0x8A,
  binfloat = 'G',
  binunicode = 'X',
  short_binunicode = 0x8C,
  binunicode8 = 0x8D,
  binbytes = 'B',
  short_binbytes = 'C',
  empty_tuple = ')',
  tuple = 't',
  tuple1 = 0x85,
  tuple2 = 0x86,
  tuple3 = 0x87,
  empty_list = ']',
  append = 'a',
  appends = 'e',
  empty_dict = '}',
  setitem = 's',
  setitems = 'u',
  global = 'c',
  stack_global = 0x93,
  newobj = 0x81,
  reduce = 'R',
  build = 'b',
  binpersid = 'Q',
  binput = 'q',
  long_binput = 'r',
  memoize = 0x94,
  binget = 'h',
  long_binget = 'j',
};

constexpr uint64_t kNewestProtocol = 5;

// What a name stands for.
enum class Meaning { fields, ordered_dict, tensor, parameter, storage, numpy_scalar, numpy_dtype, encode };

struct Known {
  std::string_view module, name;
  Meaning meaning;
  DType dtype = DType::F32;  // of a storage
};

constexpr auto kKnown = std::to_array<Known>({
    {"argparse", "Namespace", Meaning::fields},
    {"collections", "OrderedDict", Meaning::ordered_dict},
    {"torch._utils", "_rebuild_tensor_v2", Meaning::tensor},
    {"torch._utils", "_rebuild_parameter", Meaning::parameter},
    {"torch", "DoubleStorage", Meaning::storage, DType::F64},
    {"torch", "FloatStorage", Meaning::storage, DType::F32},
    {"torch", "HalfStorage", Meaning::storage, DType::F16},
    {"torch", "BFloat16Storage", Meaning::storage, DType::BF16},
    {"torch", "LongStorage", Meaning::storage, DType::I64},
    {"torch", "IntStorage", Meaning::storage, DType::I32},
    {"torch", "ShortStorage", Meaning::storage, DType::I16},
    {"torch", "CharStorage", Meaning::storage, DType::I8},
    {"torch", "ByteStorage", Meaning::storage, DType::U8},
    {"torch", "BoolStorage", Meaning::storage, DType::BOOL},
    {"numpy.core.multiarray", "scalar", Meaning::numpy_scalar},
    {"numpy._core.multiarray", "scalar", Meaning::numpy_scalar},  // numpy 2
    {"numpy", "dtype", Meaning::numpy_dtype},
    {"_codecs", "encode", Meaning::encode},
});

struct NumpyType {
  std::string_view code;
  DType dtype;
};

constexpr auto kNumpyTypes = std::to_array<NumpyType>({{"f8", DType::F64},
                                                       {"f4", DType::F32},
                                                       {"i8", DType::I64},
                                                       {"i4", DType::I32},
                                                       {"i2", DType::I16},
                                                       {"i1", DType::I8},
                                                       {"u1", DType::U8},
                                                       {"b1", DType::BOOL}});

// The bytes of a numpy number are all that `encode` is for.
constexpr size_t kLongestEncoded = 16;

template <class Value>
Value value_of_bytes(std::string_view bytes) {
  Value value;
  std::memcpy(&value, bytes.data(), sizeof value);
  return value;
}

std::vector<int64_t> integers(const PickleValue& value, const char* what) {
  std::vector<int64_t> numbers;
  for (const PickleValue& item : value.items(what)) numbers.push_back(item.integer(what));
  return numbers;
}

}  // namespace

// The machine: runs the operations of one pickle.
class PickleMachine {
 public:
  PickleMachine(std::span<const std::byte> bytes, Pickle& into) : input_(bytes, "the pickle"), into_(into) {}

  void run(const std::string& where) {
    size_t position = 0;
    try {
      while (!stopped_) {
        position = input_.position();
        require(position < Limits::kBytes, "has more than ", Limits::kBytes, " bytes");
        execute(static_cast<unsigned char>(input_.number(1)));
      }
    } catch (const Error& error) {
      fail(where, ": at byte ", position, ": ", error.what());
    }
  }

 private:
  void execute(unsigned char code) {
    switch (static_cast<Op>(code)) {
      case Op::proto: {
        const uint64_t version = input_.number(1);
        return require(version <= kNewestProtocol, "pickle protocol ", version, ", the newest known is ",
                       kNewestProtocol);
      }
      case Op::stop:
        return stop();
      case Op::frame: {
        const uint64_t size = input_.number(8);
        return require(size <= input_.left(), "a frame of ", size, " bytes, ", input_.left(), " are left");
      }
      case Op::mark:
        require(marks_.size() < Limits::kStack, "more than ", Limits::kStack, " marks");
        return marks_.push_back(stack_.size());
      case Op::none:
        return push(PickleValue());
      case Op::new_true:
        return push(boolean(true));
      case Op::new_false:
        return push(boolean(false));
      case Op::binint:
        return push(integer(static_cast<int32_t>(input_.number(4))));
      case Op::binint1:
        return push(integer(static_cast<int64_t>(input_.number(1))));
      case Op::binint2:
        return push(integer(static_cast<int64_t>(input_.number(2))));
      case Op::long1:
        return push(long_integer(input_.take(input_.number(1))));
      case Op::binfloat:
        return push(big_endian_real(input_.take(8)));
      case Op::binunicode:
        return push(view(Kind::text, input_.take(input_.number(4))));
      case Op::short_binunicode:
        return push(view(Kind::text, input_.take(input_.number(1))));
      case Op::binunicode8:
        return push(view(Kind::text, input_.take(input_.number(8))));
      case Op::binbytes:
        return push(view(Kind::bytes, input_.take(input_.number(4))));
      case Op::short_binbytes:
        return push(view(Kind::bytes, input_.take(input_.number(1))));
      case Op::empty_tuple:
        return push(sequence(Kind::tuple, {}));
      case Op::tuple:
        return push(sequence(Kind::tuple, take_marked()));
      case Op::tuple1:
        return push(sequence(Kind::tuple, take_top(1)));
      case Op::tuple2:
        return push(sequence(Kind::tuple, take_top(2)));
      case Op::tuple3:
        return push(sequence(Kind::tuple, take_top(3)));
      case Op::empty_list:
        return push(sequence(Kind::list, {}));
      case Op::append:
        return append(take_top(1));
      case Op::appends:
        return append(take_marked());
      case Op::empty_dict:
        return push(table(Kind::dict));
      case Op::setitem:
        return set_items(take_top(2));
      case Op::setitems:
        return set_items(take_marked());
      case Op::global: {
        const std::string_view module = input_.line();
        return push(name(module, input_.line()));
      }
      case Op::stack_global: {
        const PickleValue name_text = pop(), module = pop();
        return push(name(module.text("the module of a name"), name_text.text("a name")));
      }
      case Op::newobj:
        return make_object();
      case Op::reduce:
        return call();
      case Op::build:
        return build();
      case Op::binpersid:
        return push(storage(pop()));
      case Op::binput:
        return memorize(input_.number(1));
      case Op::long_binput:
        return memorize(input_.number(4));
      case Op::memoize:
        return memorize(remembered_);
      case Op::binget:
        return push(recall(input_.number(1)));
      case Op::long_binget:
        return push(recall(input_.number(4)));
    }
    fail("operation ", static_cast<int>(code), code > ' ' && code < 0x7F ? " (" : "",
         code > ' ' && code < 0x7F ? std::string(1, static_cast<char>(code)) + ")" : "",
         ", which saved models do not contain; it is not executed");
  }

  void stop() {
    into_.root_ = pop();
    require(stack_.empty() && marks_.empty(), "ends with values left on the stack");
    into_.size_ = input_.position();
    stopped_ = true;
  }

  // The stack. Nothing reaches below the last mark.

  void push(const PickleValue& value) {
    require(stack_.size() < Limits::kStack, "a stack of more than ", Limits::kStack, " values");
    stack_.push_back(value);
  }

  size_t bottom() const { return marks_.empty() ? 0 : marks_.back(); }

  PickleValue pop() {
    require(stack_.size() > bottom(), "takes a value from an empty stack");
    const PickleValue value = stack_.back();
    stack_.pop_back();
    return value;
  }

  const PickleValue& top() const {
    require(stack_.size() > bottom(), "takes a value from an empty stack");
    return stack_.back();
  }

  std::vector<PickleValue> take_top(size_t count) {
    require(stack_.size() - bottom() >= count, "takes ", count, " values from a stack of ",
            stack_.size() - bottom());
    const auto begin = stack_.end() - static_cast<std::ptrdiff_t>(count);
    std::vector<PickleValue> values(begin, stack_.end());
    stack_.erase(begin, stack_.end());
    return values;
  }

  std::vector<PickleValue> take_marked() {
    require(!marks_.empty(), "takes values up to a mark, and there is none");
    std::vector<PickleValue> values = take_top(stack_.size() - marks_.back());
    marks_.pop_back();
    return values;
  }

  // The memo: values that are used again.

  void memorize(uint64_t index) {
    require(index < Limits::kMemo, "memo entry ", index, ", the maximum is ", Limits::kMemo - 1);
    const PickleValue value = top();
    if (index >= memo_.size()) {
      memo_.resize(index + 1);
      is_set_.resize(index + 1);
    }
    if (!is_set_[index]) ++remembered_;
    is_set_[index] = true;
    memo_[index] = value;
  }

  PickleValue recall(uint64_t index) const {
    require(index < memo_.size() && is_set_[index], "reads memo entry ", index, ", which was never written");
    return memo_[index];
  }

  // Values.

  static PickleValue boolean(bool b) {
    PickleValue value;
    value.kind_ = Kind::boolean;
    value.boolean_ = b;
    return value;
  }

  static PickleValue integer(int64_t number) {
    PickleValue value;
    value.kind_ = Kind::integer;
    value.integer_ = number;
    return value;
  }

  static PickleValue real(double number) {
    PickleValue value;
    value.kind_ = Kind::real;
    value.real_ = number;
    return value;
  }

  static PickleValue view(Kind kind, std::string_view data) {
    PickleValue value;
    value.kind_ = kind;
    value.data_ = data.data();
    value.size_ = static_cast<uint32_t>(data.size());  // at most Limits::kBytes, see Pickle
    return value;
  }

  // Two's complement, lowest byte first.
  static PickleValue long_integer(std::string_view bytes) {
    if (bytes.size() > sizeof(int64_t)) return view(Kind::long_integer, bytes);
    const bool negative = !bytes.empty() && (static_cast<unsigned char>(bytes.back()) & 0x80) != 0;
    uint64_t number = negative ? ~uint64_t{0} : 0;
    for (size_t i = bytes.size(); i-- > 0;) number = number << 8 | static_cast<unsigned char>(bytes[i]);
    return integer(static_cast<int64_t>(number));
  }

  static PickleValue big_endian_real(std::string_view bytes) {
    uint64_t bits = 0;
    for (const char byte : bytes) bits = bits << 8 | static_cast<unsigned char>(byte);
    return real(std::bit_cast<double>(bits));
  }

  void count_object() {
    require(++objects_ <= Limits::kObjects, "more than ", Limits::kObjects, " lists, dicts and tensors");
  }

  void count_items(size_t count) {
    items_ += count;  // of both at most the size of the stack
    require(items_ <= Limits::kItems, "more than ", Limits::kItems, " items of lists and dicts");
  }

  PickleValue sequence(Kind kind, std::vector<PickleValue> items) {
    count_object();
    count_items(items.size());
    PickleValue value;
    value.kind_ = kind;
    value.sequence_ = &into_.sequences_.emplace_back();
    value.sequence_->items = std::move(items);
    return value;
  }

  PickleValue table(Kind kind) {
    count_object();
    PickleValue value;
    value.kind_ = kind;
    value.table_ = &into_.tables_.emplace_back();
    return value;
  }

  void append(const std::vector<PickleValue>& items) {
    require(top().kind() == Kind::list, "appends to ", top().kind_name());
    count_items(items.size());
    std::vector<PickleValue>& list = top().sequence_->items;
    list.insert(list.end(), items.begin(), items.end());
  }

  void set_items(const std::vector<PickleValue>& items) {
    require(top().kind() == Kind::dict, "sets items of ", top().kind_name());
    require(items.size() % 2 == 0, "sets items of a dict with a key that has no value");
    for (size_t i = 0; i < items.size(); i += 2) set_item(*top().table_, items[i], items[i + 1]);
  }

  void set_item(PickleTable& into, const PickleValue& key, const PickleValue& value) {
    require(key.kind() == Kind::text || key.kind() == Kind::integer, "a dict with ", key.kind_name(),
            " as a key, expected text or an integer");
    count_items(2);
    into.entries.push_back({key, value});
  }

  PickleValue name(std::string_view module, std::string_view wanted) {
    const auto* found = std::find_if(kKnown.begin(), kKnown.end(), [&](const Known& known) {
      return known.module == module && known.name == wanted;
    });
    require(found != kKnown.end(), "names ", in_quotes(std::string(module) + "." + std::string(wanted)),
            ", which saved models do not contain; it is not executed");
    PickleValue value;
    value.kind_ = Kind::name;
    value.integer_ = found - kKnown.begin();
    return value;
  }

  static const Known& known(const PickleValue& value, const char* what) {
    require(value.kind() == Kind::name, what, " ", value.kind_name(), ", expected the name of one");
    return kKnown[static_cast<size_t>(value.integer_)];
  }

  // What names stand for.

  void make_object() {
    const PickleValue arguments = pop(), type = pop();
    const Known& which = known(type, "makes an object of");
    require(which.meaning == Meaning::fields && arguments.items("arguments").empty(), "makes an object of ",
            which.name, ", expected an empty Namespace");
    push(table(Kind::fields));
  }

  void call() {
    const PickleValue arguments = pop(), function = pop();
    const Known& which = known(function, "calls");
    require(arguments.kind() == Kind::tuple, "calls ", which.name, " with ", arguments.kind_name());
    const std::span<const PickleValue> given = arguments.sequence_->items;
    const auto expect = [&](size_t least, size_t most) {
      require(given.size() >= least && given.size() <= most, which.name, " with ", given.size(),
              " arguments");
    };
    switch (which.meaning) {
      case Meaning::ordered_dict:
        expect(0, 1);
        return push(ordered_dict(given));
      case Meaning::tensor:  // storage, offset, size, stride, requires_grad, hooks, metadata
        expect(6, 7);
        return push(tensor(given));
      case Meaning::parameter:  // tensor, requires_grad, hooks
        expect(3, 3);
        given[0].tensor("a parameter");
        return push(given[0]);
      case Meaning::numpy_scalar:
        expect(2, 2);
        return push(numpy_scalar(given[0], given[1].bytes("a numpy number")));
      case Meaning::numpy_dtype:  // code, align, copy
        expect(1, 3);
        return push(numpy_dtype(given[0].text("a numpy type")));
      case Meaning::encode:
        expect(2, 2);
        return push(encode(given[0].text("encoded text"), given[1].text("an encoding")));
      case Meaning::fields:
      case Meaning::storage:
        break;
    }
    fail("calls ", which.name, ", which is no function");
  }

  PickleValue ordered_dict(std::span<const PickleValue> arguments) {
    const PickleValue dict = table(Kind::dict);
    if (arguments.empty()) return dict;
    for (const PickleValue& item : arguments[0].items("the items of an OrderedDict")) {
      const auto pair = item.items("an item of an OrderedDict");
      require(pair.size() == 2, "an item of an OrderedDict that is no pair");
      set_item(*dict.table_, pair[0], pair[1]);
    }
    return dict;
  }

  PickleValue tensor(std::span<const PickleValue> arguments) {
    require(arguments[0].kind() == Kind::storage, "a tensor made of ", arguments[0].kind_name(),
            ", expected a storage");
    count_object();
    PickleValue value;
    value.kind_ = Kind::tensor;
    value.tensor_ = &into_.tensors_.emplace_back(
        *arguments[0].storage_, arguments[1].integer("a tensor's offset"),
        integers(arguments[2], "a tensor's size"), integers(arguments[3], "a tensor's stride"));
    return value;
  }

  // ("storage", class, key, location, number of elements), and in the legacy format a view of another.
  PickleValue storage(const PickleValue& id) {
    const auto fields = id.items("a storage's description");
    require(
        (fields.size() == 5 || fields.size() == 6) && fields[0].text("a storage's description") == "storage",
        "a description of something else than a storage");
    const Known& type = known(fields[1], "a storage of type");
    require(type.meaning == Meaning::storage, "a storage of type ", type.name);
    TorchStorage wanted;
    wanted.dtype = type.dtype;
    wanted.key = fields[2].text("a storage's key");
    wanted.elements = fields[4].integer("a storage's number of elements");
    require(wanted.elements >= 0, "a storage of ", wanted.elements, " elements");
    require(fields.size() == 5 || fields[5].is_none(), "storage ", in_quotes(wanted.key),
            " is a view of another, which PyTorch no longer writes; load and save it again with PyTorch");

    auto [place, is_new] = storages_.try_emplace(wanted.key, nullptr);
    if (is_new) {
      count_object();
      place->second = &into_.storages_.emplace_back(wanted);
    }
    const TorchStorage& storage = *place->second;
    require(storage.dtype == wanted.dtype && storage.elements == wanted.elements, "storage ",
            in_quotes(wanted.key), " is ", storage.elements, " elements of ", to_string(storage.dtype),
            " in one place and ", wanted.elements, " of ", to_string(wanted.dtype), " in another");
    PickleValue value;
    value.kind_ = Kind::storage;
    value.storage_ = &storage;
    return value;
  }

  static PickleValue numpy_dtype(std::string_view code) {
    const auto* found = std::find_if(kNumpyTypes.begin(), kNumpyTypes.end(),
                                     [&](const NumpyType& type) { return type.code == code; });
    require(found != kNumpyTypes.end(), "a numpy number of type ", in_quotes(code));
    PickleValue value;
    value.kind_ = Kind::dtype;
    value.integer_ = found - kNumpyTypes.begin();
    return value;
  }

  static PickleValue numpy_scalar(const PickleValue& type, std::string_view bytes) {
    require(type.kind() == Kind::dtype, "a numpy number whose type is ", type.kind_name());
    const DType dtype = kNumpyTypes[static_cast<size_t>(type.integer_)].dtype;
    require(static_cast<int64_t>(bytes.size()) == element_size(dtype), "a numpy number of ", bytes.size(),
            " bytes, expected ", element_size(dtype));
    switch (dtype) {
      case DType::F64:
        return real(value_of_bytes<double>(bytes));
      case DType::F32:
        return real(value_of_bytes<float>(bytes));
      case DType::BOOL:
        return boolean(bytes[0] != 0);
      case DType::U8:
        return integer(value_of_bytes<uint8_t>(bytes));
      default:
        return long_integer(bytes);
    }
  }

  // Protocol 2 has no bytes: it writes text of one character per byte.
  PickleValue encode(std::string_view text, std::string_view encoding) {
    require(encoding == "latin1" && text.size() <= 2 * kLongestEncoded, "text encoded as ",
            in_quotes(encoding), " of ", text.size(), " bytes, expected a short one in latin1");
    count_object();
    std::string& bytes = into_.bytes_.emplace_back();
    while (!text.empty()) {
      const Character character = first_character(text);
      require(character.valid && character.point < 0x100, "text that is not latin1");
      bytes += static_cast<char>(character.point);
      text.remove_prefix(character.length);
    }
    return view(Kind::bytes, bytes);
  }

  void build() {
    const PickleValue state = pop();
    const PickleValue& object = top();
    if (object.kind() == Kind::fields) {
      const auto fields = state.entries("the fields of a Namespace");
      require(object.table_->entries.empty(), "sets the fields of a Namespace twice");
      count_items(2 * fields.size());
      object.table_->entries.assign(fields.begin(), fields.end());
    } else if (object.kind() == Kind::dtype) {  // version, byte order, ...
      const auto fields = state.items("the state of a numpy type");
      require(fields.size() >= 2, "a numpy type without byte order");
      const std::string_view order = fields[1].text("a byte order");
      require(order == "<" || order == "|", "a numpy number of byte order ", in_quotes(order));
    } else {
      // The attributes of an OrderedDict: versions of modules (_metadata).
      require(object.kind() == Kind::dict, "sets attributes of ", object.kind_name());
    }
  }

  ByteCursor input_;
  Pickle& into_;
  std::vector<PickleValue> stack_;
  std::vector<size_t> marks_;
  std::vector<PickleValue> memo_;
  std::vector<bool> is_set_;
  uint64_t remembered_ = 0;
  std::map<std::string_view, TorchStorage*> storages_;
  size_t objects_ = 0, items_ = 0;
  bool stopped_ = false;
};

// What can only be checked when all is there: that nothing contains itself, how deep it goes, and that the
// keys of a dict differ.
class PickleChecker {
 public:
  static void run(Pickle& pickle, const std::string& where) {
    for (PickleTable& table : pickle.tables_) sort_keys(table, where);
    check_depth(pickle.root_, where);
  }

 private:
  static constexpr int kOpen = -1;

  struct Step {
    const PickleValue* value;
    size_t next = 0;  // child to look at
    int depth = 0;    // of the children so far
  };

  static void sort_keys(PickleTable& table, const std::string& where) {
    const auto key = [&](uint32_t i) {
      const PickleValue& value = table.entries[i].key;
      return std::string_view(value.data_, value.size_);
    };
    for (uint32_t i = 0; i < table.entries.size(); ++i)
      if (table.entries[i].key.is_text()) table.order.push_back(i);
    std::sort(table.order.begin(), table.order.end(),
              [&](uint32_t a, uint32_t b) { return key(a) < key(b); });
    const auto twice = std::adjacent_find(table.order.begin(), table.order.end(),
                                          [&](uint32_t a, uint32_t b) { return key(a) == key(b); });
    require(twice == table.order.end(), where, ": a dict has the key ",
            twice == table.order.end() ? "" : in_quotes(key(*twice)), " twice");
  }

  // Null for what has no children.
  static int* depth_of(const PickleValue& value) {
    if (value.is_table()) return &value.table_->depth;
    const bool has_items = value.kind() == Kind::list || value.kind() == Kind::tuple;
    return has_items ? &value.sequence_->depth : nullptr;
  }

  static const PickleValue* child(const PickleValue& value, size_t index) {
    if (value.is_table()) {
      const auto& entries = value.table_->entries;
      return index < entries.size() ? &entries[index].value : nullptr;  // keys have no children
    }
    const auto& items = value.sequence_->items;
    return index < items.size() ? &items[index] : nullptr;
  }

  // Each list and dict is looked at once, however often it is used.
  static void check_depth(const PickleValue& root, const std::string& where) {
    if (depth_of(root) == nullptr) return;
    std::vector<Step> path;
    const auto enter = [&](const PickleValue& value) {
      path.push_back({&value});
      *depth_of(value) = kOpen;
    };
    enter(root);
    while (!path.empty()) {
      Step& step = path.back();
      const PickleValue* next = child(*step.value, step.next++);
      if (next == nullptr) {
        const int depth = step.depth + 1;
        *depth_of(*step.value) = depth;
        path.pop_back();
        if (!path.empty()) path.back().depth = std::max(path.back().depth, depth);
        continue;
      }
      const int* depth = depth_of(*next);
      if (depth == nullptr) continue;
      require(*depth != kOpen, where, ": ", next->kind_name(), " contains itself");
      require(std::ssize(path) + std::max(*depth, 1) <= Limits::kDepth, where, ": nested deeper than ",
              Limits::kDepth, " levels");
      if (*depth == 0)
        enter(*next);
      else
        step.depth = std::max(step.depth, *depth);
    }
  }
};

Pickle::Pickle(std::span<const std::byte> bytes, const std::string& where) {
  // A longer one ends in an Error where it crosses the limit; sizes of texts fit 32 bits.
  bytes = bytes.first(std::min(bytes.size(), Limits::kBytes + 1));
  PickleMachine(bytes, *this).run(where);
  PickleChecker::run(*this, where);
}

}  // namespace mega
