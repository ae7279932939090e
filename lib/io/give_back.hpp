#pragma once
#include "quern/core/types.hpp"

namespace quern {

/// Lets the system have back the memory of the whole pages of `mapped`, a part of a file that is mapped for reading:
/// they come anew from the file when they are touched again. So one pass over a large file holds little of it at a
/// time.
void give_back_pages(ByteView mapped);

}  // namespace quern
