// Readers: one per layout of data on disk. Each hands its records to a sink, one after the other, in an order
// that depends on the data alone, never on the order in which a file system lists a folder. What cannot be
// read goes to `problems`.
//
// Any file may be compressed with gzip, xz or zstd. Where a folder or a file's name says so ("train",
// "valid", "val", "dev", "eval", "test" as a word of its own), records carry their split. What they ask of
// labels is the sink's to say (LabelRule).
#pragma once

#include <filesystem>

#include "mega/config/recipe/data_options.h"
#include "mega/config/recipe/input_options.h"
#include "mega/data/record.h"
#include "mega/data/record_sink.h"

namespace mega::data {

// The published basic_{train,val,test}.tsv, or one such file.
void read_listops(const std::filesystem::path& path, const DataOptions& options, RecordSink& sink,
                  Problems& problems);

// csv, tsv or jsonl with a text and a label a line, a folder of such files (train, valid, test), or a folder
// per class of text files, below folders for train and test where there are such (aclImdb).
void read_text(const std::filesystem::path& path, const DataOptions& options, RecordSink& sink,
               Problems& problems);

// The same with two texts; without a header the columns are the published label, id, id, text, text (or
// label, text, text).
void read_pairs(const std::filesystem::path& path, const DataOptions& options, RecordSink& sink,
                Problems& problems);

// CIFAR-10's binary version: pictures of 32x32 in colours.
void read_cifar(const std::filesystem::path& path, const DataOptions& options, RecordSink& sink,
                Problems& problems);

// MNIST's idx files: images and labels by name.
void read_idx(const std::filesystem::path& path, const DataOptions& options, RecordSink& sink,
              Problems& problems);

// The published folders: metadata/*.npy (text) that name imgs/*/*.png and their label.
void read_pathfinder(const std::filesystem::path& path, const DataOptions& options, RecordSink& sink,
                     Problems& problems);

// A folder per class of sound files (whatever libsndfile reads), below train, valid and test where there are
// such; or label_pattern. Channels are averaged, rates resampled, clips cut to the input's
// length unless `whole`.
void read_audio(const std::filesystem::path& path, const DataOptions& options, const AudioInput& input,
                bool whole, RecordSink& sink, Problems& problems);

// A folder per class of PNG, JPEG, WebP, PGM or PPM files; or label_pattern.
void read_images(const std::filesystem::path& path, const DataOptions& options, RecordSink& sink,
                 Problems& problems);

// Such files in tar archives, one or a folder of them, which are read as if they were folders: an archive per
// class, an archive of those (ImageNet's), folders inside. Or, as in WebDataset, a file KEY.cls or KEY.json
// beside KEY.jpg that has the label.
void read_tar(const std::filesystem::path& path, const DataOptions& options, RecordSink& sink,
              Problems& problems);

// Numeric series. A folder per class of csv or npy files (a line or row a position, a column a channel); one
// table with a series a line (label first, then the values); jsonl with "values" and "label"; or a folder
// with X.npy (N, L) or (N, L, C) and y.npy (N) or (N, outputs), also as X_train.npy, X_test.npy. With
// options.id_column, a table has a row per time step. Where labels are not required, a table may also hold
// one series, a position a line, and an array too.
void read_series(const std::filesystem::path& path, const DataOptions& options, const SeriesInput& input,
                 RecordSink& sink, Problems& problems);

// One file or standard input, as `mega predict` takes them: no label.
Record read_text_file(const std::filesystem::path& path);
Record read_image(const std::filesystem::path& path, const DataOptions& options = {});
Record read_sound(const std::filesystem::path& path, const AudioInput& input, bool whole = false);
Record read_one_series(const std::filesystem::path& path, const SeriesInput& input,
                       const DataOptions& options = {});

}  // namespace mega::data
