#include "quern/gpu/device/index_sizes.hpp"

#include "quern/formats/posting_reader.hpp"
#include "quern/gpu/device/tuning.hpp"

namespace quern::gpu {
namespace {

/// What sizes are rounded up by, for all tables together.
constexpr std::uint64_t rounding_bytes = 64 << 10;

/// A number per document, and one per range of documents.
std::uint64_t bytes_with_ranges(std::span<const float> of_documents) {
  const std::uint64_t ranges = (of_documents.size() + range_documents - 1) / range_documents;
  return of_documents.size_bytes() + ranges * sizeof(float);
}

}  // namespace

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
  return sizes;
}

}  // namespace quern::gpu
