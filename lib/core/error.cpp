#include "quern/core/error.hpp"

#include <cerrno>
#include <cstring>

namespace quern {

void throw_errno(const std::string& doing, const std::string& name) {
  const int code = errno;
  std::string text = doing + " " + name + ": " + std::strerror(code);
  if (code == ENOSPC) text += "; free some space, or choose another folder with --tmp or -o";
  throw IoError(text);
}

}  // namespace quern
