#include "quern/search/top_k.hpp"

namespace quern {
namespace {

/// Fewer keys are sorted by comparison: buckets would cost more.
constexpr std::size_t min_in_buckets = 256;

/// Buckets for ascending key ranges of equal size. Comparing a thousand keys with each other mispredicts every other
/// branch; distributing them over buckets of a few is branchless.
class KeyBuckets {
 public:
  /// `keys` must not be empty.
  explicit KeyBuckets(const std::vector<std::uint64_t>& keys) {
    std::uint64_t least = keys.front(), greatest = keys.front();
    for (const std::uint64_t key : keys) {
      least = std::min(least, key);
      greatest = std::max(greatest, key);
    }
    least_ = least;
    const auto bits = static_cast<unsigned>(std::bit_width(greatest - least));
    shift_ = bits > bucket_bits ? bits - bucket_bits : 0;
    for (const std::uint64_t key : keys) ++ends_[of(key)];
    std::size_t end = 0;
    for (std::size_t& bucket_end : ends_) bucket_end = end += bucket_end;
  }

  static constexpr std::size_t count() { return std::size_t{1} << bucket_bits; }
  std::size_t of(std::uint64_t key) const { return (key - least_) >> shift_; }
  /// Takes a place for the key in the order of buckets; call once for each key.
  std::size_t take_place(std::uint64_t key) { return --ends_[of(key)]; }
  /// Once all places are taken: the number of keys in the buckets before this one.
  std::size_t begin(std::size_t bucket) const { return ends_[bucket]; }
  /// The bucket of the n-th least key, counted from 0.
  std::size_t bucket_of_nth(std::size_t n) const {
    return static_cast<std::size_t>(std::upper_bound(ends_.begin(), ends_.end(), n) - ends_.begin());
  }

 private:
  static constexpr unsigned bucket_bits = 11;

  std::uint64_t least_ = 0;
  unsigned shift_ = 0;
  std::array<std::size_t, std::size_t{1} << bucket_bits> ends_ = {};
};

}  // namespace

void TopK::cut() {
  full_ = true;
  if (kept_.size() == k_) {
    worst_ = *std::max_element(kept_.begin(), kept_.end());
    return;
  }
  const auto last = kept_.begin() + static_cast<std::ptrdiff_t>(k_ - 1);
  if (kept_.size() < min_in_buckets) {
    std::nth_element(kept_.begin(), last, kept_.end());
  } else {
    // Only the bucket with the k-th key must be ordered.
    const KeyBuckets buckets(kept_);
    const std::size_t bucket = buckets.bucket_of_nth(k_ - 1);
    std::size_t size = 0;
    for (const Key key : kept_) {
      kept_[size] = key;
      size += buckets.of(key) <= bucket;
    }
    const auto end = kept_.begin() + static_cast<std::ptrdiff_t>(size);
    const auto before = std::partition(kept_.begin(), end, [&](Key key) { return buckets.of(key) < bucket; });
    std::nth_element(before, last, end);
  }
  worst_ = *last;
  kept_.resize(k_);
}

std::vector<ScoredDocument> TopK::take() {
  if (kept_.size() > k_) cut();
  std::vector<ScoredDocument> documents(kept_.size());
  if (kept_.size() < min_in_buckets) {
    std::sort(kept_.begin(), kept_.end());
    std::transform(kept_.begin(), kept_.end(), documents.begin(), document_of);
    clear();
    return documents;
  }
  KeyBuckets buckets(kept_);
  for (const Key key : kept_) documents[buckets.take_place(key)] = document_of(key);
  std::size_t end = documents.size();
  for (std::size_t bucket = KeyBuckets::count(); bucket-- > 0;) {
    const std::size_t begin = buckets.begin(bucket);
    if (end - begin > 1)
      std::sort(documents.begin() + static_cast<std::ptrdiff_t>(begin),
                documents.begin() + static_cast<std::ptrdiff_t>(end),
                [](const auto& a, const auto& b) { return key_of(a.docid, a.score) < key_of(b.docid, b.score); });
    end = begin;
  }
  clear();
  return documents;
}

void add_results_of_shard(std::vector<ScoredDocument>& best, std::span<const ScoredDocument> added, docid_t first_docid,
                          std::size_t k) {
  // The number of each among the k best; of equal scores, those of earlier shards come first.
  std::size_t old_left = 0, added_left = 0;
  while (old_left + added_left < k && (old_left < best.size() || added_left < added.size()))
    if (added_left == added.size() || (old_left < best.size() && best[old_left].score >= added[added_left].score))
      ++old_left;
    else
      ++added_left;
  best.resize(old_left + added_left);
  // From the worst on, so that each result moves before its place is overwritten.
  for (std::size_t end = best.size(); added_left > 0; --end) {
    if (old_left > 0 && best[old_left - 1].score < added[added_left - 1].score) {
      best[end - 1] = best[--old_left];
    } else {
      const ScoredDocument& document = added[--added_left];
      best[end - 1] = {document.docid + first_docid, document.score};
    }
  }
}

}  // namespace quern
