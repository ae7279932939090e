#include "quern/search/query_memory.hpp"

#include <malloc.h>

namespace quern {

QueryMemory::QueryMemory(std::uint64_t bytes, unsigned threads) {
  check_range("threads", threads, 1u, std::numeric_limits<unsigned>::max());
  // Concurrent queries share a quarter of the budget; a sixteenth of that quarter is for terms, a half for bitmaps.
  for_terms_ = std::min(bytes / 64, max_for_terms);
  for_bitmaps_ = bytes / 8;
  max_share_ = (bytes / 4 - for_terms_ - for_bitmaps_) / threads;
  max_alone_ = bytes - bytes / 4;
  large_ = std::make_unique<std::mutex>();
}

QueryMemory::Claim::~Claim() {
  if (is_alone()) ::malloc_trim(0);
}

void QueryMemory::Claim::raise_to(std::uint64_t bytes) {
  if (bytes > memory_.max_alone_)
    throw InvalidArgument(
        "a query needs {} of memory, but only {} is allowed; shorten it, ask for fewer results, or raise {}",
        size_text(bytes), size_text(memory_.max_alone_), option_name<"memory">);
  if (bytes > memory_.max_share_ && !alone_.owns_lock()) alone_ = std::unique_lock(*memory_.large_);
}

namespace {

std::uint64_t file_bytes(const auto& readers) {
  std::uint64_t bytes = 0;
  for (const auto& reader : readers) bytes += reader.container().file().size();
  return bytes;
}

}  // namespace

IndexPages::IndexPages(std::span<const IndexReader> shards, std::span<const ForwardReader> forwards,
                       std::uint64_t budget_bytes)
    : shards_(shards),
      forwards_(forwards),
      budget_bytes_(budget_bytes),
      is_limited_(file_bytes(shards) + file_bytes(forwards) > budget_bytes),
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
    for (const IndexReader& shard : shards_) shard.container().release();
    for (const ForwardReader& forward : forwards_) forward.container().release();
  }
  measuring_.clear(std::memory_order_release);
}

}  // namespace quern
