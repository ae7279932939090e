#include "quern/io/read_interrupt.hpp"

#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <cerrno>

#include "quern/core/error.hpp"

namespace quern {

ReadInterrupt::ReadInterrupt() : event_(::eventfd(0, EFD_CLOEXEC)) {
  if (event_ < 0) throw_errno("can't create", "an event");
}

ReadInterrupt::~ReadInterrupt() { ::close(event_); }

void ReadInterrupt::stop() noexcept {
  stopped_ = true;
  ::eventfd_write(event_, 1);
}

bool ReadInterrupt::wait(int descriptor, const std::string& name) const {
  while (!stopped_) {
    pollfd waiting[] = {{descriptor, POLLIN, 0}, {event_, POLLIN, 0}};
    if (::poll(waiting, 2, -1) >= 0) return !stopped_;
    if (errno != EINTR) throw_errno("can't wait for", name);
  }
  return false;
}

}  // namespace quern
