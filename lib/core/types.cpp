#include "quern/core/types.hpp"

namespace quern {

const char* version() { return QUERN_VERSION; }

}  // namespace quern
