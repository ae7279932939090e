#include <fmt/format.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <mutex>

#include "quern/core/wall_clock.hpp"
#include "quern/io/file.hpp"

#include "command.hpp"

namespace quern::tools {
namespace {

std::int64_t now_us() {
  return std::chrono::duration_cast<std::chrono::microseconds>(WallClock::now().time_since_epoch()).count();
}

class ConsoleProgress : public Progress {
 public:
  ConsoleProgress() : terminal_(::isatty(STDERR_FILENO) == 1) {}

  void start(const std::string& stage, std::uint64_t total, const std::string& unit) override {
    const std::lock_guard lock(mutex_);
    stage_ = stage;
    unit_ = unit;
    total_ = total;
    done_ = 0;
    begun_ = WallClock::now();
    next_show_ = now_us() + first_wait_us();
  }

  void add(std::uint64_t units) override {
    done_ += units;
    if (now_us() < next_show_) return;
    const std::unique_lock lock(mutex_, std::try_to_lock);
    if (!lock) return;
    next_show_ = now_us() + (terminal_ ? 100'000 : 5'000'000);
    show();
  }

  void finish() override {
    const std::lock_guard lock(mutex_);
    clear_line();
    next_show_ = INT64_MAX;
  }

  void warn(const std::string& message) override {
    const std::lock_guard lock(mutex_);
    clear_line();
    print_message(fmt::format("quern: warning: {}\n", message));
  }

 private:
  std::int64_t first_wait_us() const { return terminal_ ? 200'000 : 5'000'000; }

  std::string amount(std::uint64_t units) const {
    return unit_ == "bytes" ? size_text(units) : fmt::format("{}", units);
  }

  std::string line() const {
    const double seconds = seconds_since(begun_);
    const double rate = static_cast<double>(done_) / std::max(seconds, 1e-3);
    const std::string speed =
        fmt::format("{}{}/s", amount(static_cast<std::uint64_t>(rate)), unit_ == "bytes" ? "" : " " + unit_);
    if (total_ == 0) return fmt::format("{}: {} {}, {}", stage_, amount(done_), unit_, speed);
    const std::uint64_t done = std::min<std::uint64_t>(done_, total_);
    const auto left = rate > 0 ? static_cast<std::uint64_t>(static_cast<double>(total_ - done) / rate) : 0;
    return fmt::format("{}: {:3d} % of {}{}, {}, {}:{:02d} left", stage_, done * 100 / total_, amount(total_),
                       unit_ == "bytes" ? "" : " " + unit_, speed, left / 60, left % 60);
  }

  void show() {
    if (!terminal_) {
      print_message(fmt::format("quern: {}\n", line()));
      return;
    }
    constexpr std::uint64_t width = 24;
    const std::uint64_t full = total_ == 0 ? 0 : std::min<std::uint64_t>(done_, total_) * width / total_;
    print_message(fmt::format("\r\x1b[K[{:<{}}] {}", std::string(full, '#'), width, line()));
    drawn_ = true;
  }

  void clear_line() {
    if (drawn_) print_message("\r\x1b[K");
    drawn_ = false;
  }

  const bool terminal_;
  std::mutex mutex_;
  std::string stage_, unit_;
  std::uint64_t total_ = 0;
  std::atomic<std::uint64_t> done_{0};
  std::atomic<std::int64_t> next_show_{INT64_MAX};
  WallClock::time_point begun_;
  bool drawn_ = false;
};

class QuietProgress : public NoProgress {
 public:
  void warn(const std::string& message) override { print_message(fmt::format("quern: warning: {}\n", message)); }
};

/// Measures mapped files while the progress of work is shown.
class MeasuringProgress : public Progress {
 public:
  MeasuringProgress(std::unique_ptr<Progress> shown, std::uint64_t max_file_bytes)
      : shown_(std::move(shown)), max_file_bytes_(max_file_bytes) {}

  void start(const std::string& stage, std::uint64_t total, const std::string& unit) override {
    shown_->start(stage, total, unit);
  }
  void add(std::uint64_t units) override {
    shown_->add(units);
    const std::int64_t now = now_us();
    if (now < next_measurement_) return;
    next_measurement_ = now + us_between_measurements;
    trim_mapped_files(max_file_bytes_);
  }
  void finish() override { shown_->finish(); }
  void warn(const std::string& message) override { shown_->warn(message); }

 private:
  static constexpr std::int64_t us_between_measurements = 10'000;

  const std::unique_ptr<Progress> shown_;
  const std::uint64_t max_file_bytes_;
  std::atomic<std::int64_t> next_measurement_{0};
};

}  // namespace

std::unique_ptr<Progress> make_console_progress(bool quiet, std::uint64_t max_file_bytes) {
  std::unique_ptr<Progress> shown = std::make_unique<QuietProgress>();
  if (!quiet) shown = std::make_unique<ConsoleProgress>();
  return std::make_unique<MeasuringProgress>(std::move(shown), max_file_bytes);
}

}  // namespace quern::tools
