#pragma once
#include <atomic>
#include <string>

namespace quern {

/// Lets one thread end another's wait for input that may never come: from a pipe or a terminal that stays open.
class ReadInterrupt {
 public:
  /// Throws IoError if the system has no descriptor left.
  ReadInterrupt();
  ~ReadInterrupt();
  ReadInterrupt(const ReadInterrupt&) = delete;
  ReadInterrupt& operator=(const ReadInterrupt&) = delete;

  /// Ends wait(), now and from now on. By any thread.
  void stop() noexcept;
  /// Waits until `descriptor` has bytes or is at its end: true; false once stop() is called. A pipe is at its end once
  /// all its writers have closed it, not before there was one. Throws IoError, with `name`.
  bool wait(int descriptor, const std::string& name) const;

 private:
  std::atomic<bool> stopped_ = false;
  int event_ = -1;  ///< wakes a wait that has begun
};

}  // namespace quern
