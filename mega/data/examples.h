// Examples as readers found them: what is known of each at hand, its content in memory or on disk.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "mega/data/record.h"
#include "mega/data/record_sink.h"
#include "mega/data/spool.h"

namespace mega::data {

// Contents are kept in memory up to a limit, the first ones first. Beyond it, examples that are a file each
// are read again from their file, all others from a temporary file. An index of some 50 bytes an example
// always stays in memory; one that would not fit is an Error.
class Examples : public RecordSink {
 public:
  // `memory`: bytes of contents to keep. The index may have as many, or a quarter of what the machine has if
  // that is more.
  explicit Examples(int64_t memory);
  Examples(int64_t memory, int64_t index_memory) : memory_(memory), index_memory_(index_memory) {}

  using RecordSink::add;
  void add(Record&& record, const std::shared_ptr<const ExampleFiles>& files) override;
  bool takes_unread() const override { return true; }
  // Its hash is that of its place, and it is read when it is asked for, each time.
  void add_unread(Record&& record, const std::shared_ptr<const ExampleFiles>& files) override;
  int64_t size() const override { return static_cast<int64_t>(entries_.size()); }

  // The whole record; by any number of threads, but not while something is added. A file that has changed
  // since it was added, or is gone, is an Error that names it.
  Record get(int64_t number) const;

  // What is known without its content.
  std::string where(int64_t number) const;
  const std::string& label(int64_t number) const { return labels_[entry(number).label]; }
  Split split(int64_t number) const { return entry(number).split; }
  uint64_t content_hash(int64_t number) const { return entry(number).hash; }

  void set_split(int64_t number, Split split) { entries_[static_cast<size_t>(number)].split = split; }
  // Frees the content of an example that nobody will ask for.
  void drop(int64_t number);

  int64_t bytes_in_memory() const { return held_; }
  int64_t bytes_in_file() const { return spool_ ? spool_->size() : 0; }
  // Whether get() never has to wait for a disk.
  bool in_memory() const { return !spool_ && files_.empty(); }
  // Whether some were never read.
  bool has_unread() const { return unread_; }

 private:
  // Where the content is: kHeld, a file of examples (kInFile and below), or from 0 on a place in the spool.
  static constexpr int64_t kHeld = -1, kInFile = -2;
  struct Entry {
    uint64_t hash = 0;
    int64_t line = -1;  // -1: `where` has none
    uint32_t name = 0;  // of the file, in names_
    uint32_t label = 0;
    int64_t place = kHeld;
    std::unique_ptr<char[]> content;
    Split split = Split::unknown;
    bool unread = false;  // its hash is not of its content
  };

  const Entry& entry(int64_t number) const { return entries_[static_cast<size_t>(number)]; }
  void set_where(Entry& entry, const std::string& where);
  uint32_t number_of_label(const std::string& label);
  void check_index(const std::string& where) const;
  // Adds an entry that `fill` completes with where its content is.
  template <class Fill>
  void add_entry(const Record& record, const Fill& fill);
  int64_t place_of(const std::shared_ptr<const ExampleFiles>& files);
  void keep_content(Entry& entry, const Record& record, const std::shared_ptr<const ExampleFiles>& files);
  Record read_again(const ExampleFiles& files, const std::string& where, uint64_t hash) const;

  int64_t memory_, index_memory_;
  int64_t held_ = 0;
  bool unread_ = false;
  int64_t name_bytes_ = 0, label_bytes_ = 0;  // of the index
  std::vector<Entry> entries_;
  std::vector<std::string> names_;
  std::vector<std::string> labels_;
  std::unordered_map<std::string, uint32_t> label_numbers_;
  std::vector<std::shared_ptr<const ExampleFiles>> files_;
  std::unique_ptr<Spool> spool_;
};

}  // namespace mega::data
