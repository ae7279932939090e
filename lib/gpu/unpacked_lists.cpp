#include "quern/gpu/unpacked_lists.hpp"

#include "quern/gpu/document_buckets.hpp"

namespace quern::gpu {
namespace {

/// Lists begin where a warp reads whole sectors.
constexpr std::uint64_t rounded_up(std::uint64_t words) { return (words + 31) / 32 * 32; }

ListForm form_of(const PostingList& list, Unpacking unpacking, docid_t num_documents) {
  if (unpacking == Unpacking::documents) return ListForm::documents;
  const bool dense = list.df * documents_a_dense_posting >= num_documents;
  return unpacking == Unpacking::often_asked && dense ? ListForm::bits : ListForm::buckets;
}

}  // namespace

bool UnpackedLists::ask(const PostingList& list, std::uint64_t postings) {
  return (asked_[list.number] += postings) >= decodings_before_unpacking * list.df;
}

const UnpackedPlace* UnpackedLists::find(term_t number) const {
  const auto found = places_.find(number);
  return found == places_.end() ? nullptr : &found->second;
}

std::optional<UnpackedPlace> UnpackedLists::add(const PostingList& list, Unpacking unpacking) {
  UnpackedPlace place;
  place.form = form_of(list, unpacking, num_documents_);
  place.first_word = end_;
  std::uint64_t end = end_ + rounded_up(place.form == ListForm::bits ? bit_words(num_documents_) : list.df);
  if (place.form == ListForm::buckets) {
    place.bucket_shift = bucket_shift(num_documents_, static_cast<std::uint32_t>(list.df));
    place.first_bucket = end;
    end += rounded_up(bucket_entries(num_documents_, place.bucket_shift));
  }
  if (end > words_) return std::nullopt;
  end_ = end;
  places_.emplace(list.number, place);
  return place;
}

void UnpackedLists::clear() {
  end_ = 0;
  places_.clear();
  asked_.clear();
}

}  // namespace quern::gpu
