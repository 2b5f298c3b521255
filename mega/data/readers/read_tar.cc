#include <algorithm>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <system_error>
#include <utility>

#include "mega/base/error.h"
#include "mega/base/files/json.h"
#include "mega/base/strings.h"
#include "mega/data/formats/tar_file.h"
#include "mega/data/readers/folders.h"
#include "mega/data/readers/read_files.h"
#include "mega/data/readers/read_images.h"
#include "mega/data/readers/readers.h"

namespace mega::data {
namespace {

namespace fs = std::filesystem;

// A picture in an archive.
struct Place {
  std::string where;  // archive/member
  size_t archive = 0;
  TarMember member;
};

// The pictures of all archives, by their place.
struct Archives {
  std::vector<std::unique_ptr<TarFile>> files;
  std::vector<Place> pictures;  // in the order of `where`

  Record read(const fs::path& path, const DataOptions& options) const {
    const std::string where = path.generic_string();
    const auto found =
        std::lower_bound(pictures.begin(), pictures.end(), where,
                         [](const Place& place, const std::string& wanted) { return place.where < wanted; });
    require(found != pictures.end() && found->where == where, where, ": not in these archives");
    return decoded_image(files[found->archive]->read(found->member, kLargestPictureFile), where, options);
  }
};

bool is_picture(const std::string& name) {
  const std::string extension = lower_case(fs::path(name).extension().string());
  return std::find(kPictureExtensions.begin(), kPictureExtensions.end(), extension) !=
         kPictureExtensions.end();
}

// "a/b.seg.jpg" -> "a/b": what belongs to one example of a WebDataset shares this.
std::string key_of(const std::string& name) {
  const size_t slash = name.rfind('/');
  const size_t dot = name.find('.', slash == std::string::npos ? 0 : slash + 1);
  return name.substr(0, dot);
}

// The label that {"label": ...}, {"cls": ...} or {"class": ...} has.
std::string label_in_json(const std::string& text, const std::string& where) {
  const nlohmann::json fields = parse_json(text, where, {.depth = 16, .values = 1 << 16});
  for (const char* key : {"label", "cls", "class"}) {
    if (!fields.is_object() || !fields.contains(key)) continue;
    const nlohmann::json& value = fields[key];
    if (value.is_string()) return value.get<std::string>();
    if (value.is_number()) return value.dump();
  }
  fail(where, ": has none of \"label\", \"cls\" and \"class\"");
}

// Labels that stand in the archive, by the key of their example.
class WebLabels {
 public:
  WebLabels(const TarFile& archive, const std::vector<TarMember>& members) {
    constexpr size_t kLargestLabel = 1 << 20;
    for (const TarMember& member : members) {
      const std::string extension = lower_case(fs::path(member.name).extension().string());
      const std::string key = key_of(member.name);
      if (extension == ".cls")
        labels_[key] = trim(archive.read(member, kLargestLabel));
      else if (extension == ".json" && !labels_.contains(key))
        labels_[key] = label_in_json(archive.read(member, kLargestLabel), archive.name() + "/" + member.name);
    }
  }

  const std::string* find(const std::string& name) const {
    const auto found = labels_.find(key_of(name));
    return found == labels_.end() ? nullptr : &found->second;
  }

 private:
  std::map<std::string, std::string> labels_;
};

// Lists the pictures of archives with their labels.
class Listing {
 public:
  Listing(const DataOptions& options, Problems& problems, bool required)
      : options_(options), split_(options), labels_(options, problems, required) {}

  void add(const fs::path& path, const std::string& relative) {
    archives->files.push_back(std::make_unique<TarFile>(path));
    const TarFile& archive = *archives->files.back();
    const std::vector<TarMember> members = archive.members();
    add_members(archive, members, relative, as_folder(relative));
    for (const TarMember& member : members)
      if (lower_case(fs::path(member.name).extension().string()) == ".tar")
        add_members(archive, archive.members(member), relative + "/" + member.name,
                    as_folder(relative) / as_folder(member.name));
  }

  const std::shared_ptr<Archives> archives = std::make_shared<Archives>();
  std::vector<LabelledFile> files;

 private:
  // An archive as the folder that it would be unpacked to: train.tar, and so imagenet_train_0017.tar, are not
  // classes but a split.
  static fs::path as_folder(const std::string& archive) {
    const fs::path path = archive;
    const Split split = split_of(path.filename());
    return path.parent_path() / (split == Split::unknown ? path.stem().string() : split_name(split));
  }

  void add_members(const TarFile& archive, const std::vector<TarMember>& members, const std::string& where,
                   const fs::path& folder) {
    const WebLabels web(archive, members);
    for (const TarMember& member : members) {
      if (!is_picture(member.name)) continue;
      LabelledFile file;
      file.relative = (folder / member.name).lexically_normal().generic_string();
      if (const std::string* label = web.find(member.name)) {
        file.label = *label;
        file.split = split_(file.relative);
        if (!wanted_class(options_, file.label)) continue;
      } else if (!labels_.describe(file)) {
        continue;
      }
      file.relative = where + "/" + member.name;
      file.absolute = file.relative;
      archives->pictures.push_back({file.relative, archives->files.size() - 1, member});
      files.push_back(std::move(file));
    }
  }

  const DataOptions& options_;
  SplitRule split_;
  PathLabels labels_;
};

}  // namespace

void read_tar(const fs::path& path, const DataOptions& options, RecordSink& sink, Problems& problems) {
  Listing listing(options, problems, sink.labels().required);
  std::error_code none;
  if (fs::is_directory(path, none)) {
    for (const fs::path& file : list_files(path, {".tar"}))
      listing.add(file, file.lexically_relative(path).generic_string());
  } else {
    listing.add(path, path.filename().string());
  }
  require(!listing.files.empty() || problems.count() > 0, path.string(),
          ": no PNG, JPEG, WebP, PGM or PPM file in a tar archive");
  std::vector<Place>& pictures = listing.archives->pictures;
  std::sort(pictures.begin(), pictures.end(),
            [](const Place& a, const Place& b) { return a.where < b.where; });
  const auto twice = std::adjacent_find(pictures.begin(), pictures.end(),
                                        [](const Place& a, const Place& b) { return a.where == b.where; });
  require(twice == pictures.end(), twice == pictures.end() ? "" : twice->where,
          ": stands twice in its archive");
  const auto read = [archives = std::shared_ptr<const Archives>(listing.archives),
                     options](const fs::path& where) { return archives->read(where, options); };
  read_files(listing.files, "", read, options, sink, problems);
}

}  // namespace mega::data
