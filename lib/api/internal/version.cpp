#include "quern/api/export.hpp"
#include "quern/core/types.hpp"

namespace quern::api {

const char* version() noexcept { return quern::version(); }

}  // namespace quern::api
