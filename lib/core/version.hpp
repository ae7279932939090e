#pragma once

namespace quern {

/// The program's version, as the manifests of its files hold it.
const char* version();

}  // namespace quern
