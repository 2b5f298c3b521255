// Readers: one per layout of data on disk. Each gives records in an order that depends on the data alone,
// never on the order in which a file system lists a folder. What cannot be read goes to `problems`.
//
// Any file may be packed with gzip, xz or zstd. Where a folder or a file's name says so ("train", "valid",
// "val", "dev", "eval", "test" as a word of its own), records carry their split.
#pragma once

#include <filesystem>
#include <vector>

#include "mega/config/data_options.h"
#include "mega/config/input_options.h"
#include "mega/data/record.h"

namespace mega::data {

using Records = std::vector<Record>;

// The published basic_{train,val,test}.tsv, or one such file.
Records read_listops(const std::filesystem::path& path, const DataOptions& options, Problems& problems);

// csv, tsv or jsonl with a text and a label a line, a folder of such files (train, valid, test), or a folder
// per class of text files, below folders for train and test where there are such (aclImdb).
Records read_text(const std::filesystem::path& path, const DataOptions& options, Problems& problems);

// The same with two texts; without a header the columns are the published label, id, id, text, text (or
// label, text, text).
Records read_pairs(const std::filesystem::path& path, const DataOptions& options, Problems& problems);

// CIFAR-10's binary version; colours become luma. Records are 32x32, scaled to `input` where that is another
// size.
Records read_cifar(const std::filesystem::path& path, const DataOptions& options, const ImageInput& input,
                   Problems& problems);

// MNIST's idx files: images and labels by name.
Records read_idx(const std::filesystem::path& path, const DataOptions& options, const ImageInput& input,
                 Problems& problems);

// The published folders: metadata/*.npy (text) that name imgs/*/*.png and their label.
Records read_pathfinder(const std::filesystem::path& path, const DataOptions& options,
                        const ImageInput& input, Problems& problems);

// A folder per class of sound files (whatever libsndfile reads), below train, valid and test where there are
// such; or label_pattern. Channels are averaged, rates resampled.
Records read_audio(const std::filesystem::path& path, const DataOptions& options, const AudioInput& input,
                   Problems& problems);

// A folder per class of PNG, JPEG, PGM or PPM files; or label_pattern.
Records read_images(const std::filesystem::path& path, const DataOptions& options, const ImageInput& input,
                    Problems& problems);

// Numeric series. A folder per class of csv or npy files (a line or row a position, a column a channel); one
// table with a series a line (label first, then the values); jsonl with "values" and "label"; or a folder
// with X.npy (N, L) or (N, L, C) and y.npy (N) or (N, outputs), also as X_train.npy, X_test.npy.
Records read_series(const std::filesystem::path& path, const DataOptions& options, const SeriesInput& input,
                    Problems& problems);

// One file or standard input, as `mega predict` takes them: no label.
Record read_image(const std::filesystem::path& path, const ImageInput& input);
Record read_sound(const std::filesystem::path& path, const AudioInput& input);
Record read_one_series(const std::filesystem::path& path, const SeriesInput& input);

}  // namespace mega::data
