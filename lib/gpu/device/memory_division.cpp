#include "quern/gpu/device/memory_division.hpp"

#include <fmt/format.h>

#include "quern/formats/posting_reader.hpp"
#include "quern/gpu/device/index_view.hpp"

namespace quern::gpu {
namespace {

/// Minimum useful sizes: of a batch, of a query's lists, and of a staging buffer.
constexpr std::uint64_t min_batch = 2 << 20, min_lists = 512 << 10, min_staging = 128 << 10, max_staging = 4 << 20;
/// Useful to each batch, for intersections: this part of the decoded lists, or this much.
constexpr std::uint64_t useful_windows = 64, useful_batch = 512 << 20;
/// Useful to the queries of a batch that decodes lists: for each its candidates, thresholds and results.
constexpr std::uint64_t bytes_per_query = 8 << 10, least_for_queries = 16 << 20, most_for_queries = 320 << 20;
/// Minimum useful pinned memory, and the largest buffer for uploads.
constexpr std::uint64_t min_pinned = 8 << 20, max_upload = 32 << 20;

std::uint64_t share_of(std::uint64_t bytes, double share) {
  return static_cast<std::uint64_t>(std::min(static_cast<double>(bytes) * share, 0x1p62));
}

/// The rounding of all tables' sizes together.
constexpr std::uint64_t rounding_bytes = 64 << 10;

/// The memory that a batch's queries make use of; at most a ninth of `bytes`, the memory for all.
std::uint64_t bytes_of_queries(const BatchNeeds& needs, std::uint64_t bytes) {
  return std::min({least_for_queries + needs.decoding_queries * bytes_per_query, most_for_queries, bytes / 9});
}

/// The memory that each batch makes use of, out of `bytes` for all. Batches that decode lists do so in windows: fewer
/// windows lose less time between them; more windows leave more memory to lists.
std::uint64_t useful_bytes(const BatchNeeds& needs, const IndexSizes& sizes, std::uint64_t bytes) {
  if (needs.decoding_queries > 0)
    return bytes_of_queries(needs, bytes) + std::min(bytes / 12, sizes.entries / useful_windows);
  return needs.useful > 0 ? needs.useful : std::max(sizes.entries / useful_windows, useful_batch);
}

/// Bytes of a number per document, and one per range of documents.
std::uint64_t bytes_with_ranges(std::span<const float> values) {
  const std::uint64_t ranges = (values.size() + range_documents - 1) / range_documents;
  return values.size_bytes() + ranges * sizeof(float);
}

/// The least memory with which all lists are resident, and batches of at least `batch` bytes have room.
std::uint64_t least_for_all(const IndexSizes& sizes, const BatchNeeds& needs, std::uint64_t batch) {
  const auto times = [](std::uint64_t bytes, std::uint64_t numerator, std::uint64_t denominator) {
    return (bytes + denominator - 1) / denominator * numerator;
  };
  const std::uint64_t all = sizes.tables + sizes.rows + sizes.lists;
  const std::uint64_t decoding = needs.decoding_queries > 0 ? all + times(sizes.entries, 16, 11) : 0;
  return std::max({all + 2 * batch, times(all, 5, 4), decoding});
}

}  // namespace

std::optional<std::uint64_t> GpuMemoryOptions::limit(const IndexReader& index) const {
  return share ? share_of(coded_list_bytes(index, true), *share) : bytes;
}

ListArenas arenas_of(const MemoryDivision& division) {
  ListArenas arenas;
  arenas.words = division.lists / sizeof(std::uint32_t);
  arenas.window_words = division.windows / sizeof(std::uint32_t);
  arenas.all_for_fronts = division.buffers_lists;
  if (!division.resident_rows) arenas.rows = std::max<std::uint64_t>(2, division.rows / block_row_bytes / 2 * 2);
  return arenas;
}

PinnedDivision divide_pinned(std::optional<std::uint64_t> limit) {
  if (limit && *limit < min_pinned)
    throw OutOfMemory(
        "copying to and from a GPU needs at least {} of pinned host memory, but only {} is allowed; raise "
        "{}, or use {} cpu",
        size_text(min_pinned), size_text(*limit), option_name<"memory">, option_name<"device">);
  PinnedDivision division;
  division.limit = limit.value_or(std::numeric_limits<std::uint64_t>::max());
  const std::uint64_t share = division.limit / 8;
  division.staging = std::clamp(share / staging_buffers, min_staging, max_staging);
  division.upload = std::clamp(share / 2, min_staging, max_upload);
  return division;
}

MemoryDivision divide_memory(std::uint64_t limit, const IndexSizes& sizes, const GpuMemoryOptions& memory,
                             const std::string& name) {
  MemoryDivision division;
  const BatchNeeds needs = memory.needs.value_or(BatchNeeds());
  const std::uint64_t batch = min_batch + needs.least;
  const std::uint64_t all = sizes.tables + sizes.rows + sizes.lists;
  const bool decodes = needs.decoding_queries > 0;
  const bool may_hold_all = memory.list_share.value_or(1) >= 1;
  const std::uint64_t least_resident = least_for_all(sizes, needs, batch);
  if (may_hold_all && least_resident <= limit) {
    division.per_batch = (limit - all) / 2;
    division.queries = division.per_batch / 4;
    return division;
  }
  division.whole_index = false;
  const std::uint64_t share = share_of(sizes.lists, std::min(memory.list_share.value_or(0), 1.0));
  std::optional<std::uint64_t> windows;
  if (memory.list_share) windows = share;
  if (memory.list_buffer) windows = 2 * std::min(*memory.list_buffer, std::uint64_t{1} << 61);
  division.buffers_lists = memory.list_buffer.has_value();
  // Batches with list buffers run in windows, for which all rows must be resident.
  const std::uint64_t needed = 2 * batch + windows.value_or(batch / 2) + (memory.list_share ? share : min_lists) +
                               (division.buffers_lists ? sizes.rows : 0);
  if (const std::uint64_t least = sizes.tables + staging_buffers * min_staging + needed; least > limit) {
    const bool holds_all = may_hold_all && least_resident <= least;
    throw GpuOutOfMemory(
        "{}: queries on a GPU need at least {} of its memory, {}, but only {} is allowed; raise {}{}, or use {} cpu",
        name, size_text(holds_all ? least_resident : least),
        holds_all ? "which holds the whole index"
                  : fmt::format("including {} for per-document data{}", size_text(sizes.tables),
                                division.buffers_lists ? fmt::format(", {} for block rows and twice the list buffer",
                                                                     size_text(sizes.rows))
                                                       : ""),
        size_text(limit), option_name<"gpu-memory">,
        division.buffers_lists ? fmt::format(", lower {}", option_name<"list-buffer">) : "", option_name<"device">);
  }
  std::uint64_t left = limit - sizes.tables;
  division.staging = std::clamp(std::min(left / 64, (left - needed) / staging_buffers), min_staging, max_staging);
  left -= staging_buffers * division.staging;
  division.resident_rows = division.buffers_lists || (sizes.rows <= left / 2 && sizes.rows + needed <= left);
  if (division.resident_rows) left -= sizes.rows;
  const std::uint64_t without_buffers = left - (division.buffers_lists ? *windows : 0);
  division.per_batch =
      std::clamp(without_buffers / 4, batch, std::max(batch, useful_bytes(needs, sizes, without_buffers)));
  const std::uint64_t for_lists = memory.list_share ? share : left - 2 * division.per_batch;
  if (division.resident_rows) {
    division.windows = windows.value_or(division.per_batch / 2);
    division.lists = memory.list_share ? share : std::min(for_lists - division.windows, sizes.lists);
    division.all_lists = division.lists == sizes.lists;
  } else {
    // One and a half times the average rows of the lists that fit, since lists differ.
    const double rows_per_byte =
        1.5 * static_cast<double>(sizes.rows) / static_cast<double>(std::max<std::uint64_t>(sizes.lists, 1));
    division.lists =
        std::min(memory.list_share ? for_lists : share_of(for_lists, 1 / (1 + rows_per_byte)), sizes.lists);
    division.rows = std::min({share_of(division.lists, rows_per_byte), sizes.rows, left - 2 * batch - division.lists});
  }
  division.per_batch = (left - division.lists - division.windows - division.rows) / 2;
  division.queries =
      std::min(decodes ? bytes_of_queries(needs, without_buffers) : division.per_batch / 2, division.per_batch / 4 * 3);
  return division;
}

std::uint64_t all_entry_bytes(const IndexReader& index) {
  const std::uint64_t words =
      index.manifest().postings + index.manifest().long_lists() * (start_words(num_ranges(index.num_documents())) + 3);
  return words * sizeof(std::uint32_t) / 8 * 9;
}

IndexSizes sizes_of(const IndexReader& index, const QueryEngine* scores) {
  const bool is_quantized = scores != nullptr && scores->quantizer() != nullptr;
  IndexSizes sizes;
  sizes.tables = rounding_bytes;
  if (scores != nullptr) {
    const ScoringContext context = scores->scoring_context();
    sizes.tables += bytes_with_ranges(context.static_scores) + bytes_with_ranges(context.upper_bounds);
    if (!is_quantized) sizes.tables += scores->constants().size_bytes();
  }
  sizes.rows = index.container().array<docid_t>("block_last").size() * block_row_bytes;
  sizes.lists = coded_list_bytes(index, is_quantized);
  sizes.entries = all_entry_bytes(index);
  return sizes;
}

void MemoryAccount::take(MemoryUse use, std::uint64_t bytes) {
  const std::uint64_t more = rounded(bytes);
  const std::lock_guard lock(mutex_);
  if (taken_ > limit_ || more > limit_ - taken_)
    throw GpuOutOfMemory(use == MemoryUse::pinned
                             ? fmt::format("can't pin {} more of host memory: {} of {} is in use; raise {}",
                                           size_text(more), size_text(taken_), size_text(limit_), option_name<"memory">)
                             : fmt::format("can't allocate {} more of GPU memory for {}: {} of {} is in use",
                                           size_text(more), name_of_value(memory_uses, use), size_text(taken_),
                                           size_text(limit_)));
  if (whole_ != nullptr) whole_->take(use, bytes);
  taken_ += more;
  peak_taken_ = std::max(peak_taken_, taken_);
  std::uint64_t& now = now_[static_cast<std::size_t>(use)];
  now += more;
  std::uint64_t& peak = peak_[static_cast<std::size_t>(use)];
  peak = std::max(peak, now);
}

void MemoryAccount::give_back(MemoryUse use, std::uint64_t bytes) noexcept {
  const std::lock_guard lock(mutex_);
  if (whole_ != nullptr) whole_->give_back(use, bytes);
  taken_ -= rounded(bytes);
  now_[static_cast<std::size_t>(use)] -= rounded(bytes);
}

}  // namespace quern::gpu
