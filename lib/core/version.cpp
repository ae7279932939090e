#include "quern/core/version.hpp"

namespace quern {

const char* version() { return QUERN_VERSION; }

}  // namespace quern
