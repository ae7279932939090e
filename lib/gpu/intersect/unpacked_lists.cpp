#include "quern/gpu/intersect/unpacked_lists.hpp"

namespace quern::gpu {
namespace {

/// Alignment of lists, so that a warp reads whole memory sectors.
constexpr std::uint64_t place_words = 32;

constexpr std::uint64_t rounded_up(std::uint64_t words) {
  return (words + place_words - 1) / place_words * place_words;
}

ListFormat format_of(std::uint64_t df, Unpacking unpacking, docid_t num_documents) {
  if (unpacking == Unpacking::documents) return ListFormat::documents;
  const bool dense = df * documents_per_dense_posting >= num_documents;
  return unpacking == Unpacking::frequent && dense ? ListFormat::bits : ListFormat::buckets;
}

}  // namespace

std::uint64_t unpacked_words(ListFormat format, std::uint32_t df, std::uint32_t documents) {
  const UnpackedPlace place = unpacked_place(format, df, documents, 0);
  if (format != ListFormat::buckets) return place.words;
  return place.words + rounded_up(bucket_entries(documents, place.bucket_shift));
}

UnpackedPlace unpacked_place(ListFormat format, std::uint32_t df, std::uint32_t documents, std::uint64_t first_word) {
  UnpackedPlace place;
  place.format = format;
  place.first_word = first_word;
  place.words = rounded_up(format == ListFormat::bits ? bit_words(documents) : df);
  if (format == ListFormat::buckets) {
    place.bucket_shift = bucket_shift(documents, df);
    place.first_bucket = first_word + place.words;
  }
  return place;
}

UnpackedLists::UnpackedLists(docid_t num_documents, std::uint64_t words, ListRetention retention)
    : num_documents_(num_documents),
      words_(words / place_words * place_words),
      places_(words / place_words),
      order_(retention),
      retention_(retention) {}

std::optional<std::uint64_t> UnpackedLists::take(std::uint64_t words) {
  if (words > words_ - used_words_) return std::nullopt;
  for (;;) {
    if (const auto place = places_.take(words / place_words)) return *place * place_words;
    ListState* const state = order_.take_first();
    if (state == nullptr) return std::nullopt;  // lists in use fragment the free space
    drop(*state);
  }
}

bool UnpackedLists::add(unsigned flight, std::uint32_t df, Unpacking unpacking, ListState& state) {
  const ListFormat format = format_of(df, unpacking, num_documents_);
  const std::uint64_t words = unpacked_words(format, df, num_documents_);
  const auto first = take(words);
  if (!first) return false;
  state.place = unpacked_place(format, df, num_documents_, *first);
  state.words = words;
  use(flight, state, true);
  return true;
}

void UnpackedLists::use(unsigned flight, ListState& state, bool unpacks) {
  if (state.users == 0) used_words_ += state.words;
  order_.use(state);
  ++state.uses;
  uses_of(flight).push_back({&state, unpacks});
}

void UnpackedLists::end_use(unsigned flight, bool ran) {
  for (const Use& use : uses_of(flight)) {
    if (!EvictionOrder<ListState>::stop_using(*use.state)) continue;
    used_words_ -= use.state->words;
    // No other batch uses a list that a batch which did not run should have unpacked: later batches have not been made.
    if (use.unpacks && !ran)
      drop(*use.state);
    else
      order_.add(*use.state);
  }
  in_use_[flight].clear();
}

void UnpackedLists::drop(ListState& state) {
  places_.give_back(state.place.first_word / place_words, state.words / place_words);
  state = {};
}

}  // namespace quern::gpu
