#include "quern/gpu/intersection/unpacked_lists.hpp"

namespace quern::gpu {
namespace {

/// Aligns lists so that a warp reads whole memory sectors.
constexpr std::uint64_t rounded_up(std::uint64_t words) { return (words + 31) / 32 * 32; }

ListFormat format_of(std::uint64_t df, Unpacking unpacking, docid_t num_documents) {
  if (unpacking == Unpacking::documents) return ListFormat::documents;
  const bool dense = df * documents_per_dense_posting >= num_documents;
  return unpacking == Unpacking::frequent && dense ? ListFormat::bits : ListFormat::buckets;
}

}  // namespace

bool UnpackedLists::add(std::uint32_t df, Unpacking unpacking, ListState& state) {
  UnpackedPlace place;
  place.format = format_of(df, unpacking, num_documents_);
  place.first_word = end_;
  std::uint64_t end = end_ + rounded_up(place.format == ListFormat::bits ? bit_words(num_documents_) : df);
  if (place.format == ListFormat::buckets) {
    place.bucket_shift = bucket_shift(num_documents_, df);
    place.first_bucket = end;
    end += rounded_up(bucket_entries(num_documents_, place.bucket_shift));
  }
  if (end > words_) return false;
  end_ = end;
  state.place = place;
  return true;
}

void UnpackedLists::clear() {
  end_ = 0;
  states_.clear();
}

}  // namespace quern::gpu
