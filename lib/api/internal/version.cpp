#include "quern/core/version.hpp"

#include "quern/api/export.hpp"

namespace quern::api {

const char* version() noexcept { return quern::version(); }

}  // namespace quern::api
