#include "quern/search/query_memory.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "quern/core/error.hpp"
#include "quern/core/option_name.hpp"
#include "quern/core/size_text.hpp"

namespace quern {

QueryMemory::QueryMemory(std::uint64_t bytes, unsigned threads) {
  check_range("threads", threads, 1u, std::numeric_limits<unsigned>::max());
  // Concurrent queries share a quarter of the budget; a sixteenth of that quarter is for terms.
  for_terms_ = std::min(bytes / 64, max_for_terms);
  max_share_ = (bytes / 4 - for_terms_) / threads;
  max_alone_ = bytes - bytes / 4;
  translate_errors([&] { large_ = std::make_unique<std::mutex>(); });
}

void QueryMemory::Claim::raise_to(std::uint64_t bytes) {
  if (bytes > memory_.max_alone_)
    throw InvalidArgument(fmt::format(
        "a query needs {} of memory, but only {} is allowed; shorten it, ask for fewer results, or raise {}",
        size_text(bytes), size_text(memory_.max_alone_), option_name<"memory">));
  if (bytes > memory_.max_share_ && !alone_.owns_lock()) alone_ = std::unique_lock(*memory_.large_);
}

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
