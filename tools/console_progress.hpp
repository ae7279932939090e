#pragma once
#include <memory>

#include "quern/core/progress.hpp"

namespace quern::tools {

/// Shows progress on stderr: a bar that is drawn anew where stderr is a terminal, else a line every few seconds.
/// Quiet: warnings alone.
std::unique_ptr<Progress> make_console_progress(bool quiet);

}  // namespace quern::tools
