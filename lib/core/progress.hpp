#pragma once
#include <cstdint>
#include <string>

namespace quern {

/// Receives the progress of long work. The library never prints: a tool passes in an object that shows it.
/// add() may be called from any thread.
class Progress {
 public:
  virtual ~Progress() = default;
  /// A stage begins: `total` units of `unit` ("bytes", "postings", "documents"); 0 if it isn't known.
  virtual void start(const std::string& stage, std::uint64_t total, const std::string& unit) = 0;
  virtual void add(std::uint64_t units) = 0;
  virtual void finish() = 0;
  /// Reports something that the user should know although the work goes on.
  virtual void warn(const std::string& message) = 0;
};

/// Shows nothing.
class NoProgress : public Progress {
 public:
  void start(const std::string&, std::uint64_t, const std::string&) override {}
  void add(std::uint64_t) override {}
  void finish() override {}
  void warn(const std::string&) override {}
};

}  // namespace quern
