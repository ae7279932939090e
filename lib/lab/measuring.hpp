#pragma once
#include <chrono>
#include <cmath>
#include <ctime>
#include <filesystem>
#include <map>
#include <string>
#include <thread>
#include <unordered_map>

#include "quern/core/resources.hpp"
#include "quern/core/wall_clock.hpp"

namespace quern {

/// Measures the energy of the machine's processors by the kernel's counters (powercap, RAPL of Intel and AMD). There
/// are no figures on virtual machines, which lack the counters, and on kernels from 5.10 on without root.
class CpuEnergyMeter {
 public:
  explicit CpuEnergyMeter(const std::filesystem::path& counters = "/sys/class/powercap");

  /// Starts measuring.
  void start();
  /// Joules of all packages since start(); empty if they can't be read. A counter may wrap around at most once
  /// meanwhile, which takes minutes at full load.
  std::optional<double> joules() const;

 private:
  struct Package {
    std::filesystem::path counter;
    std::uint64_t range_uj = 0;  ///< the counter wraps around after this
    std::optional<std::uint64_t> at_start_uj;
  };

  std::vector<Package> packages_;
};

/// Processor seconds of this process.
struct ProcessTime {
  double all = 0;  ///< of all threads
  double busiest =
      0;  ///< of the thread with the most, of those that ran from start to end; 0 if the kernel doesn't say
};

/// Measures where the host's time goes: a busiest thread that takes as long as the work is what the work waits for.
class ProcessClock {
 public:
  /// Starts measuring.
  ProcessClock() : start_(now()) {}
  ProcessTime elapsed() const;

 private:
  struct Reading {
    double all = 0;
    std::map<std::string, double> by_thread;  ///< by its number in /proc
  };
  static Reading now();

  Reading start_;
};

// Tools of all benchmarks: processor time, memory, medians and entropy.

/// The processor time in seconds of a call in this thread. Other work on the machine does not count, except for its
/// effect on caches and clock rate.
template <class What>
double seconds_of(What what) {
  const auto now = [] {
    timespec time{};
    ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
  };
  const double start = now();
  what();
  return now() - start;
}

/// Keeps the compiler from optimizing away the computation of the values at `values`.
template <class Value>
void keep(const Value* values) {
  asm volatile("" : : "r"(values) : "memory");
}

/// The median, or the larger of the two middle values. There must be at least one.
/// It summarizes repeats: the minimum is a time that queries hardly ever take, and interrupts distort the mean.
template <class Number>
Number median(std::vector<Number> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

/// The median of one figure.
template <class Figures>
double median_of(const std::vector<Figures>& all, double Figures::*figure) {
  std::vector<double> values;
  for (const Figures& figures : all) values.push_back(figures.*figure);
  return median(std::move(values));
}

/// Measures all subjects of a sequence `repeats` times in turn, forwards and backwards, so that a machine that slows
/// down slows all of them.
template <class Subjects, class Measure>
void take_turns(Subjects& subjects, unsigned repeats, Measure measure) {
  for (unsigned i = 0; i < repeats; ++i)
    if (i % 2 == 0)
      std::for_each(subjects.begin(), subjects.end(), measure);
    else
      std::for_each(subjects.rbegin(), subjects.rend(), measure);
}

/// Measures all subjects in turns, with progress, and returns their figures.
template <class Subjects>
auto measure_in_turns(Subjects& subjects, unsigned repeats, Progress& progress) {
  progress.start("measure", repeats * subjects.size(), "measurements");
  take_turns(subjects, repeats, [&](auto& subject) {
    subject.measure();
    progress.add(1);
  });
  progress.finish();
  std::vector<decltype(subjects.front().figures())> figures;
  for (const auto& subject : subjects) figures.push_back(subject.figures());
  return figures;
}

/// Counts values to compute their zero-order entropy.
class Histogram {
 public:
  void add(std::uint32_t value) { ++counts_[value], ++total_; }
  /// 0 without values.
  double bits_per_value() const {
    double bits = 0;
    for (const auto& [value, count] : counts_)
      bits -= static_cast<double>(count) * std::log2(static_cast<double>(count) / static_cast<double>(total_));
    return total_ == 0 ? 0 : bits / static_cast<double>(total_);
  }

 private:
  std::unordered_map<std::uint32_t, std::uint64_t> counts_;
  std::uint64_t total_ = 0;
};

/// Returns unused memory to the system and restarts peak_memory_bytes(). False if the system does not support it.
bool reset_peak_memory();

/// The peak memory of this process since the last reset; empty if the system does not report it.
std::optional<std::uint64_t> peak_memory_bytes();

/// Waits until `time`, spinning for the last 200 microseconds: sleeping alone is too coarse.
inline void wait_until(WallClock::time_point time) {
  constexpr auto coarse = std::chrono::microseconds(200);
  if (time - WallClock::now() > coarse) std::this_thread::sleep_until(time - coarse);
  while (WallClock::now() < time) std::this_thread::yield();
}

}  // namespace quern
