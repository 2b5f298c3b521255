// Reading a file per example with several threads.
#pragma once

#include <functional>
#include <vector>

#include "mega/data/readers/folders.h"
#include "mega/data/readers/readers.h"

namespace mega::data {

// The records of the files of a folder, in the order of the files, with their label, split and place. A file
// for which `read` throws an Error is a problem. `read` is called from several threads, and again when a
// record is needed that did not fit into memory. With options.lazy, a sink that can takes them unread.
void read_files(const std::vector<LabelledFile>& files, const std::filesystem::path& folder,
                const std::function<Record(const std::filesystem::path&)>& read, const DataOptions& options,
                RecordSink& sink, Problems& problems);

}  // namespace mega::data
