#include "mega/base/pytorch/torch_file.h"

#include <algorithm>
#include <deque>
#include <map>
#include <set>
#include <string_view>
#include <utility>

#include "mega/base/error.h"
#include "mega/base/files/file.h"
#include "mega/base/pytorch/byte_cursor.h"
#include "mega/base/pytorch/pickle.h"
#include "mega/base/pytorch/zip_archive.h"
#include "mega/base/strings.h"

namespace mega {
namespace {

using Bytes = std::span<const std::byte>;

constexpr std::string_view kPickleName = "data.pkl";

std::string_view as_text(Bytes bytes) { return {reinterpret_cast<const char*>(bytes.data()), bytes.size()}; }

// "ROOT/data.pkl" -> "ROOT/"; the folder is named as the file was when it was written.
std::string root_of(const std::string& name) { return name.substr(0, name.size() - kPickleName.size()); }

bool is_pickle_entry(const ZipEntry& entry) {
  return entry.name == kPickleName || entry.name.ends_with("/" + std::string(kPickleName));
}

bool may_be_model(const ZipEntry& entry) {
  const std::string_view name = entry.name;
  return (name.ends_with(".pt") || name.ends_with(".pth") || name.ends_with(".bin")) &&
         !name.starts_with("__MACOSX/");
}

bool is_checkpoint(const ZipArchive& archive) {
  return std::any_of(archive.entries().begin(), archive.entries().end(), is_pickle_entry);
}

std::vector<std::string> models_in(const ZipArchive& archive) {
  std::vector<std::string> names;
  for (const ZipEntry& entry : archive.entries())
    if (may_be_model(entry)) names.push_back(entry.name);
  return names;
}

std::string quoted_list(std::vector<std::string> names) {
  for (std::string& name : names) name = in_quotes(name);
  return join(names, ", ");
}

const ZipEntry& choose(const ZipArchive& archive, const std::string& member, const std::string& where) {
  const std::vector<std::string> names = models_in(archive);
  require(!names.empty(), where,
          ": a zip archive without data.pkl and without *.pt, *.pth or *.bin: no model of PyTorch");
  std::vector<std::string> chosen;
  for (const std::string& name : names) {
    if (name == member) return *archive.find(name);
    if (name.find(member) != name.npos) chosen.push_back(name);
  }
  require(!chosen.empty(), where, ": no model ", in_quotes(member), " in the archive, which has ",
          quoted_list(names));
  require(chosen.size() == 1, where,
          ": an archive of several models; choose one with --member: ", quoted_list(chosen));
  return *archive.find(chosen[0]);
}

// What a file that is no checkpoint probably is instead.
std::string looks_like(std::string_view bytes) {
  if (bytes.empty()) return "the file is empty";
  if (trim(bytes.substr(0, 256)).starts_with("<"))
    return "this is a web page or an error message in XML: did the download fail?";
  return "it begins with " + in_quotes(bytes.substr(0, 8));
}

int64_t storage_bytes(const TorchStorage& storage, const std::string& where) {
  int64_t bytes = 0;
  require(!__builtin_mul_overflow(storage.elements, element_size(storage.dtype), &bytes), where, ": storage ",
          in_quotes(storage.key), " of ", storage.elements, " elements");
  return bytes;
}

}  // namespace

struct TorchFile::Contents {
  std::string where;
  std::shared_ptr<const void> file;                   // the mapped file
  std::vector<std::shared_ptr<const void>> unpacked;  // what was compressed in it
  std::deque<Pickle> pickles;                         // the last holds the object

  // `member` as in TorchFile::open.
  void read(Bytes bytes, const std::string& member) {
    if (!ZipArchive::recognizes(bytes)) return read_legacy(bytes);
    ZipArchive archive(bytes, where);
    if (is_checkpoint(archive)) {
      require(member.empty(), where, ": is one checkpoint, no archive that could hold ", in_quotes(member));
      return read_zip(archive);
    }
    const ZipEntry& entry = choose(archive, member, where);
    where += ": " + entry.name;
    const Bytes inner = keep(archive.read(entry));
    if (!ZipArchive::recognizes(inner)) return read_legacy(inner);
    ZipArchive inner_archive(inner, where, archive.may_unpack());
    read_zip(inner_archive);
  }

  Bytes keep(const ZipContents& contents) {
    if (contents.owner) unpacked.push_back(contents.owner);
    return contents.bytes;
  }

  // ROOT/data.pkl, and each storage as ROOT/data/KEY.
  void read_zip(ZipArchive& archive) {
    std::vector<const ZipEntry*> roots;
    for (const ZipEntry& entry : archive.entries())
      if (is_pickle_entry(entry)) roots.push_back(&entry);
    require(!roots.empty(), where, ": a zip archive without data.pkl: no checkpoint of PyTorch");
    require(roots.size() == 1, where, ": two checkpoints in one file: ", in_quotes(roots.front()->name),
            " and ", in_quotes(roots.back()->name));
    const std::string root = root_of(roots[0]->name);
    require(archive.find(root + "constants.pkl") == nullptr, where,
            ": a TorchScript program, expected a checkpoint (torch.save of a state dict)");
    if (const ZipEntry* order = archive.find(root + "byteorder")) {
      const std::string_view text = as_text(keep(archive.read(*order, 64)));
      require(trim(text) == "little", where, ": its byte order is ", in_quotes(text),
              ", expected \"little\": save it on a little-endian machine");
    }

    const Bytes bytes = keep(archive.read(*roots[0], PickleLimits::kBytes));
    Pickle& pickle = pickles.emplace_back(bytes, where + ": " + std::string(kPickleName));
    require(pickle.size() == bytes.size(), where, ": data.pkl goes on behind its end");
    for (TorchStorage& storage : pickle.storages()) {
      const ZipEntry* entry = archive.find(root + "data/" + std::string(storage.key));
      require(entry != nullptr, where, ": storage ", in_quotes(storage.key), " is not in the file");
      const auto size = static_cast<uint64_t>(storage_bytes(storage, where));
      require(entry->size == size, where, ": storage ", in_quotes(storage.key), " has ", entry->size,
              " bytes, expected ", size, ": ", storage.elements, " of ", to_string(storage.dtype));
      storage.data = keep(archive.read(*entry));
    }
  }

  // Five pickles: a magic number, a version, the machine that wrote it, the object, the keys of its storages;
  // then the storages in the order of the keys, each after its number of elements.
  void read_legacy(Bytes bytes) {
    constexpr std::string_view kMagic = "\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19";
    constexpr int64_t kVersion = 1001;
    require(as_text(bytes).starts_with('\x80'), where,
            ": no checkpoint of PyTorch: ", looks_like(as_text(bytes)));
    const auto next = [&](const char* what) -> const PickleValue& {
      const Pickle& pickle = pickles.emplace_back(bytes, where + ": " + what);
      bytes = bytes.subspan(pickle.size());
      return pickle.root();
    };
    const PickleValue& magic = next("magic number");
    require(magic.kind() == PickleValue::Kind::long_integer && magic.bytes(where) == kMagic, where,
            ": a pickle, but no checkpoint: it does not begin with PyTorch's magic number");
    const int64_t version = next("version").integer(where + ": version");
    require(version == kVersion, where, ": legacy format ", version, ", expected ", kVersion);
    const std::string machine = where + ": description of the machine";
    require(next("machine").at("little_endian", machine).boolean(machine + ": little_endian"), where,
            ": written on a big-endian machine; save it on a little-endian one");
    next("object");
    std::deque<TorchStorage>& storages = pickles.back().storages();
    const PickleValue& keys = next("storage keys");
    read_legacy_storages(bytes, keys, storages);
    pickles.pop_back();  // the keys: the object is the last again
  }

  void read_legacy_storages(Bytes bytes, const PickleValue& keys, std::deque<TorchStorage>& storages) const {
    std::map<std::string_view, TorchStorage*> missing;
    for (TorchStorage& storage : storages) missing[storage.key] = &storage;
    ByteCursor cursor(bytes, where);
    for (const PickleValue& item : keys.items(where + ": storage keys")) {
      const std::string_view key = item.text(where + ": storage key");
      const auto found = missing.find(key);
      require(found != missing.end(), where, ": storage ", in_quotes(key), " is listed twice, or never used");
      TorchStorage& storage = *found->second;
      const auto count = static_cast<int64_t>(cursor.number(8));
      require(count == storage.elements, where, ": storage ", in_quotes(key), " has ", count,
              " elements, expected ", storage.elements);
      storage.data =
          std::as_bytes(std::span(cursor.take(static_cast<uint64_t>(storage_bytes(storage, where)))));
      missing.erase(found);
    }
    require(missing.empty(), where, ": storage ", missing.empty() ? "" : in_quotes(missing.begin()->first),
            " is not in the file");
    require(cursor.left() == 0, where, ": ", cursor.left(), " bytes at the end belong to no storage");
  }
};

TorchFile TorchFile::open(const std::filesystem::path& path, const std::string& member) {
  require_regular(path);
  const auto file = std::make_shared<const MappedFile>(path);
  TorchFile result = parse(file->bytes(), path.string(), member);
  std::const_pointer_cast<Contents>(result.contents_)->file = file;
  return result;
}

TorchFile TorchFile::parse(Bytes bytes, const std::string& where, const std::string& member) {
  const auto contents = std::make_shared<Contents>();
  contents->where = where;
  contents->read(bytes, member);
  TorchFile result;
  result.contents_ = contents;
  return result;
}

std::vector<std::string> TorchFile::members(const std::filesystem::path& path) {
  require_regular(path);
  const MappedFile file(path);
  if (!ZipArchive::recognizes(file.bytes())) return {};
  const ZipArchive archive(file.bytes(), path.string());
  return is_checkpoint(archive) ? std::vector<std::string>() : models_in(archive);
}

const PickleValue& TorchFile::root() const { return contents_->pickles.back().root(); }

const std::string& TorchFile::where() const { return contents_->where; }

}  // namespace mega
