#pragma once

namespace mega {

// The library's version, "0.1.0".
const char* version();

}  // namespace mega
