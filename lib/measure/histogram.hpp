#pragma once
#include <cmath>
#include <cstdint>
#include <unordered_map>

namespace quern {

/// Counts values to find their zero-order entropy.
class Histogram {
 public:
  void add(std::uint32_t value) { ++counts_[value], ++total_; }
  /// 0 where there are no values.
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

}  // namespace quern
