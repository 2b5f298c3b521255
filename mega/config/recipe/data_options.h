// Where examples come from and how they are divided.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "mega/base/options/options.h"

namespace mega {

// Layouts of data on disk; docs/data.md describes each.
enum class DataFormat { automatic, listops, text, pairs, cifar, idx, pathfinder, audio, images, tar, series };

// Whether the first line of a table names its columns.
enum class Header { automatic, yes, no };

template <>
struct EnumNames<DataFormat> {
  static constexpr auto names = enum_table<DataFormat>({{DataFormat::automatic, "auto"},
                                                        {DataFormat::listops, "listops"},
                                                        {DataFormat::text, "text"},
                                                        {DataFormat::pairs, "pairs"},
                                                        {DataFormat::cifar, "cifar"},
                                                        {DataFormat::idx, "idx"},
                                                        {DataFormat::pathfinder, "pathfinder"},
                                                        {DataFormat::audio, "audio"},
                                                        {DataFormat::images, "images"},
                                                        {DataFormat::tar, "tar"},
                                                        {DataFormat::series, "series"}});
};
template <>
struct EnumNames<Header> {
  static constexpr auto names =
      enum_table<Header>({{Header::automatic, "auto"}, {Header::yes, "yes"}, {Header::no, "no"}});
};

struct DataOptions {
  DataFormat format = DataFormat::automatic;
  std::string path;
  std::string valid;
  std::string test;
  std::string target;
  std::string valid_target;
  std::string test_target;
  double valid_share = 0.1;
  double test_share = 0.1;
  int64_t split_seed = 0;
  int64_t limit = 0;
  int64_t evaluation_limit = 0;
  bool skip_broken = false;
  int64_t memory = -1;
  bool lazy = false;
  int64_t jpeg_side = 0;
  int64_t threads = 0;
  std::vector<std::string> classes;
  std::string text_column;
  std::string second_column;
  std::string label_column;
  std::string id_column;
  std::string time_column;
  Header header = Header::automatic;
  std::string delimiter;
  double max_ratio = 9.0;
  std::string label_pattern;
  std::string test_pattern;

  template <class Self, class Visitor>
  static void visit(Self& self, Visitor& v) {
    v.field("format", self.format, "layout of the files");
    v.field("path", self.path, "file or folder with the examples; - is standard input");
    v.field("valid", self.valid, "file or folder with the examples to choose by, where it is not in `path`");
    v.field("test", self.test, "file or folder with the examples to test on, where it is not in `path`");
    v.field(
        "target", self.target,
        "parallel text: the file with the translations of `path`, where its name does not follow from that");
    v.field("valid_target", self.valid_target, "the same for `valid`");
    v.field("test_target", self.test_target, "the same for `test`");
    v.field("valid_share", self.valid_share,
            "share of the training examples to choose by, where the data does not say which", Range{0, 1});
    v.field("test_share", self.test_share,
            "share of all examples to test on, where the data does not say which", Range{0, 1});
    v.field("split_seed", self.split_seed, "another number divides the examples in another way",
            Range{0, 1e15});
    v.field("limit", self.limit, "examples used of each split, chosen at random; 0 uses all", Range{0, 1e12});
    v.field("evaluation_limit", self.evaluation_limit, "the same for the validation and the test part alone",
            Range{0, 1e12});
    v.field("skip_broken", self.skip_broken, "leave out and count what cannot be read, do not stop at it");
    v.field("memory", self.memory,
            "bytes of examples that are kept in memory, the others are read from disk when needed; "
            "-1: a quarter of what the machine has",
            Range{-1, 1e15});
    v.field("lazy", self.lazy,
            "examples that are a file each are not read when the data set is loaded, only when a batch needs "
            "them; a broken one then stops the run when its turn comes, unless skip_broken has all of them "
            "read first");
    v.field("jpeg_side", self.jpeg_side,
            "JPEG files are decoded at 1/2, 1/4 or 1/8 of their size where their shorter side keeps so many "
            "pixels: quicker, but not exact; 0: whole",
            Range{0, 1e6});
    v.field("threads", self.threads,
            "threads that read pictures, and change them in training, while the model computes; 0: as many "
            "as there are cores, and one for inputs of other kinds",
            Range{0, 1024});
    v.field("classes", self.classes, "use these classes only, in this order; empty: all there are");
    v.field("text_column", self.text_column, "column of the text: its name, or its number from 1");
    v.field("second_column", self.second_column, "column of a pair's second text, or of the translation");
    v.field("label_column", self.label_column, "column of the label");
    v.field("id_column", self.id_column,
            "column that names examples; of series: a table has a row per time step, and those of one name "
            "are one "
            "series");
    v.field("time_column", self.time_column,
            "series: column of the time, which is no value; with id_column, what rows are ordered by");
    v.field("header", self.header, "whether the first line of a table names the columns");
    v.field(
        "delimiter", self.delimiter,
        "what separates the columns of a csv file: one character, or tab; empty: found from its first lines");
    v.field("max_ratio", self.max_ratio,
            "parallel text: pairs of which one side has more than so many times the other's tokens are not "
            "trained on; 0: any",
            Range{0, 1e9});
    v.field("label_pattern", self.label_pattern,
            "regular expression on a file's path whose first group is the label; empty: the folder's name");
    v.field("test_pattern", self.test_pattern, "regular expression on the path of files to test on");
  }
};

}  // namespace mega
