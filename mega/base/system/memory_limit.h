// How much memory there is to use.
#pragma once

#include <cstdint>

namespace mega {

// Bytes that this process may have at most: what the machine has, or less where its container or the process
// itself (ulimit -v) has a limit.
int64_t memory_limit();

}  // namespace mega
