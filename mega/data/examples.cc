#include "mega/data/examples.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstring>
#include <limits>
#include <new>
#include <span>
#include <utility>

#include "mega/base/error.h"
#include "mega/base/hash.h"
#include "mega/base/strings.h"
#include "mega/base/system/memory_limit.h"
#include "mega/data/corpus/cache_folder.h"

namespace mega::data {
namespace {

// A content as bytes: this head, then the text, the second text, the picture's samples and the values.
struct Head {
  uint32_t bytes = 0, second = 0, values = 0;
  uint32_t height = 0, width = 0, channels = 0;

  size_t samples() const { return size_t{height} * width * channels; }
  size_t body() const { return size_t{bytes} + second + samples() + size_t{values} * sizeof(float); }
};

uint32_t narrow(size_t size, const std::string& where) {
  require(size <= std::numeric_limits<uint32_t>::max(), where, ": an example of ", size,
          " bytes is larger than what is read");
  return static_cast<uint32_t>(size);
}

Head head_of(const Record& record) {
  const auto size = [&](size_t number) { return narrow(number, record.where); };
  return {size(record.bytes.size()),
          size(record.second.size()),
          size(record.values.size()),
          size(static_cast<size_t>(record.picture.height)),
          size(static_cast<size_t>(record.picture.width)),
          size(static_cast<size_t>(record.picture.channels))};
}

// Writes head and body, one field after the other.
void write_content(const Head& head, const Record& record, char* to) {
  const auto put = [&](const void* from, size_t size) {
    if (size > 0) std::memcpy(to, from, size);
    to += size;
  };
  put(&head, sizeof head);
  put(record.bytes.data(), record.bytes.size());
  put(record.second.data(), record.second.size());
  put(record.picture.samples.data(), record.picture.samples.size());
  put(record.values.data(), record.values.size() * sizeof(float));
}

Record read_body(const Head& head, const char* from) {
  Record record;
  const auto take = [&](void* to, size_t size) {
    if (size > 0) std::memcpy(to, from, size);
    from += size;
  };
  record.bytes.resize(head.bytes);
  record.second.resize(head.second);
  record.values.resize(head.values);
  record.picture.height = head.height;
  record.picture.width = head.width;
  record.picture.channels = head.channels;
  record.picture.samples.resize(head.samples());
  take(record.bytes.data(), head.bytes);
  take(record.second.data(), head.second);
  take(record.picture.samples.data(), head.samples());
  take(record.values.data(), size_t{head.values} * sizeof(float));
  return record;
}

Head read_head(const char* from) {
  Head head;
  std::memcpy(&head, from, sizeof head);
  return head;
}

// What an allocation costs beside its bytes.
constexpr size_t kAllocation = 16;

size_t cost_of(const Head& head) { return sizeof(Head) + head.body() + kAllocation; }

int64_t cost_of(const std::string& text) {
  return static_cast<int64_t>(sizeof(std::string) + text.capacity() + kAllocation);
}

}  // namespace

Examples::Examples(int64_t memory) : Examples(memory, std::max(memory, memory_limit() / 4)) {}

template <class Fill>
void Examples::add_entry(const Record& record, const Fill& fill) {
  try {
    Entry entry;
    entry.split = record.split;
    entry.label = number_of_label(record.label);
    set_where(entry, record.where);
    check_index(record.where);
    fill(entry);
    entries_.push_back(std::move(entry));
  } catch (const std::bad_alloc&) {
    fail(record.where, ": not enough memory for more than ", with_thousands(size()),
         " examples; lower data.memory, or use fewer");
  }
}

void Examples::add(Record&& record, const std::shared_ptr<const ExampleFiles>& files) {
  add_entry(record, [&](Entry& entry) {
    entry.hash = data::content_hash(record);
    keep_content(entry, record, files);
  });
}

void Examples::add_unread(Record&& record, const std::shared_ptr<const ExampleFiles>& files) {
  add_entry(record, [&](Entry& entry) {
    entry.hash = hash_text(record.where);
    entry.unread = true;
    entry.place = place_of(files);
  });
  unread_ = true;
}

// A few compressed bytes can unpack to any number of lines.
void Examples::check_index(const std::string& where) const {
  // A vector that grows has its old elements beside the new ones.
  const int64_t bytes = 2 * size() * static_cast<int64_t>(sizeof(Entry)) + name_bytes_ + label_bytes_;
  require(bytes <= index_memory_, where, ": the index of more than ", with_thousands(size()),
          " examples takes more than ", human_bytes(static_cast<uint64_t>(index_memory_)),
          ", the limit; raise data.memory, or use fewer");
}

// The lines of a file share its name: "train.tsv:17" is kept as the last name and the number 17.
void Examples::set_where(Entry& entry, const std::string& where) {
  std::string name = where;
  const size_t colon = where.rfind(':');
  if (colon != std::string::npos && colon + 1 < where.size() && where[colon + 1] != '0' &&
      where[colon + 1] != '-') {
    int64_t line = 0;
    const char* end = where.data() + where.size();
    const auto [stop, error] = std::from_chars(where.data() + colon + 1, end, line);
    if (error == std::errc() && stop == end) {
      entry.line = line;
      name.resize(colon);
    }
  }
  if (names_.empty() || names_.back() != name) {
    name.shrink_to_fit();
    names_.push_back(std::move(name));
    name_bytes_ += cost_of(names_.back());
  }
  entry.name = narrow(names_.size() - 1, where);
}

uint32_t Examples::number_of_label(const std::string& label) {
  constexpr size_t kMostClasses =
      1 << 16;  // labels that differ more are numbers to predict, of which few repeat
  if (const auto found = label_numbers_.find(label); found != label_numbers_.end()) return found->second;
  const uint32_t number = narrow(labels_.size(), label);
  if (label_numbers_.size() < kMostClasses) label_numbers_.emplace(label, number);
  labels_.push_back(label);
  label_bytes_ += cost_of(labels_.back());
  return number;
}

void Examples::keep_content(Entry& entry, const Record& record,
                            const std::shared_ptr<const ExampleFiles>& files) {
  const Head head = head_of(record);
  const auto cost = static_cast<int64_t>(cost_of(head));
  if (cost <= memory_ - held_) {
    held_ += cost;
    entry.content = std::make_unique_for_overwrite<char[]>(sizeof head + head.body());
    write_content(head, record, entry.content.get());
    return;
  }
  if (files) {
    entry.place = place_of(files);
    return;
  }
  if (!spool_) {
    const std::filesystem::path folder = cache_folder("examples");
    spool_ = std::make_unique<Spool>(folder);
  }
  std::string bytes(sizeof head + head.body(), '\0');
  write_content(head, record, bytes.data());
  entry.place = spool_->append(bytes);
}

int64_t Examples::place_of(const std::shared_ptr<const ExampleFiles>& files) {
  if (files_.empty() || files_.back() != files) files_.push_back(files);
  return kInFile - (std::ssize(files_) - 1);
}

void Examples::drop(int64_t number) {
  Entry& entry = entries_[static_cast<size_t>(number)];
  if (!entry.content) return;
  held_ -= static_cast<int64_t>(cost_of(read_head(entry.content.get())));
  entry.content.reset();
}

std::string Examples::where(int64_t number) const {
  const Entry& entry = this->entry(number);
  return entry.line < 0 ? names_[entry.name] : names_[entry.name] + ":" + std::to_string(entry.line);
}

Record Examples::read_again(const ExampleFiles& files, const std::string& where, uint64_t hash) const {
  Record record;
  try {
    record = files.read(files.folder / where);
  } catch (const Error& error) {
    fail(where, ": could be read when the data set was loaded, and now it cannot: ", error.what());
  }
  require(data::content_hash(record) == hash, (files.folder / where).string(),
          ": has changed since the data set was loaded; load it again");
  return record;
}

Record Examples::get(int64_t number) const {
  require(number >= 0 && number < size(), "example ", number, " of ", size());
  const Entry& entry = this->entry(number);
  const std::string where = this->where(number);
  Record record;
  if (entry.place == kHeld) {
    require(entry.content != nullptr, where, ": its content was dropped");
    record = read_body(read_head(entry.content.get()), entry.content.get() + sizeof(Head));
  } else if (entry.place <= kInFile) {
    const ExampleFiles& files = *files_[static_cast<size_t>(kInFile - entry.place)];
    record = entry.unread ? files.read(files.folder / where) : read_again(files, where, entry.hash);
  } else {
    std::array<char, sizeof(Head)> bytes;
    spool_->read(entry.place, bytes);
    const Head head = read_head(bytes.data());
    std::string body(head.body(), '\0');
    spool_->read(entry.place + static_cast<int64_t>(sizeof(Head)), body);
    record = read_body(head, body.data());
  }
  record.label = label(number);
  record.split = entry.split;
  record.where = where;
  return record;
}

}  // namespace mega::data
