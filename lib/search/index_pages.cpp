#include "quern/search/index_pages.hpp"

#include <algorithm>

namespace quern {
namespace {

std::uint64_t bytes_of(const IndexReader& index, const ForwardReader* forward) {
  return index.container().file().size() + (forward == nullptr ? 0 : forward->container().file().size());
}

}  // namespace

IndexPages::IndexPages(const IndexReader& index, std::uint64_t budget_bytes, const ForwardReader* forward,
                       std::uint64_t other_bytes)
    : index_(index),
      forward_(forward),
      budget_bytes_(budget_bytes),
      is_limited_(bytes_of(index, forward) + other_bytes > budget_bytes),
      bytes_per_measurement_(std::clamp(budget_bytes / 16, std::uint64_t{1} << 20, std::uint64_t{64} << 20)) {}

void IndexPages::note(std::uint64_t per_measurement) {
  if (is_limited_ && ++notes_ % per_measurement == 0) measure();
}

void IndexPages::note_bytes(std::uint64_t bytes) {
  if (!is_limited_) return;
  const std::uint64_t more = bytes + bytes_per_place, before = bytes_.fetch_add(more);
  if (before / bytes_per_measurement_ != (before + more) / bytes_per_measurement_) measure();
}

void IndexPages::measure() {
  if (measuring_.test_and_set(std::memory_order_acquire)) return;
  if (resident_file_bytes() > budget_bytes_) {
    index_.container().release();
    if (forward_ != nullptr) forward_->container().release();
  }
  measuring_.clear(std::memory_order_release);
}

}  // namespace quern
