#include "mega/base/version.h"

namespace mega {

const char* version() { return MEGA_VERSION; }

}  // namespace mega
