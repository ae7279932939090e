#pragma once
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <thread>
#include <vector>

namespace quern::gpu {

/// Lets several threads use one GPU's flights: each has one from the making of a batch to the taking of its results.
/// Batches are launched one at a time, and checked in the order in which they were launched, since each may use lists
/// that those before it have decoded. Thread-safe. Host code, which knows nothing of GPUs.
class FlightControl {
 public:
  explicit FlightControl(unsigned flights) : flights_(flights) {}

  std::size_t flights() const { return flights_.size(); }

  /// A flight, for as long as the object lives. Waits for one: first come, first served.
  class Flight {
   public:
    explicit Flight(FlightControl& control) : control_(control), number_(control.take()) {}
    Flight(const Flight&) = delete;
    Flight& operator=(const Flight&) = delete;
    ~Flight() { control_.give_back(number_); }
    unsigned number() const { return number_; }

   private:
    FlightControl& control_;
    const unsigned number_;
  };

  /// Keeps others from launching, and from all else that this class does.
  std::unique_lock<std::mutex> lock() { return std::unique_lock(mutex_); }
  /// With the lock: the flight's batch was launched. It must be checked.
  void launched(unsigned flight);
  /// Waits until the batches that were launched before this flight's have been checked, but for those of flights that
  /// the same thread has taken: it would wait for itself.
  void wait_for_earlier(unsigned flight);
  /// With the lock: the flight's batch has ended. If it is not sound, those that were launched after it are spoiled.
  void checked(unsigned flight, bool sound);
  /// With the lock: whether the flight's batch must be launched again.
  bool is_spoiled(unsigned flight) const { return flights_[flight].spoiled; }

 private:
  struct State {
    bool taken = false, spoiled = false;
    std::thread::id thread;    ///< that has taken it
    std::uint64_t launch = 0;  ///< its number, the first is 1; 0: none, or checked
  };

  unsigned take();
  void give_back(unsigned flight);

  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<State> flights_;
  std::uint64_t launches_ = 0;
  std::uint64_t next_ticket_ = 0, served_ = 0;  ///< of threads that wait for a flight
};

}  // namespace quern::gpu
