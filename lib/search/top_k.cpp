#include "quern/search/top_k.hpp"

namespace quern {
namespace {

using Keys = std::span<const std::uint64_t>;

/// Keys as numbers of `bits` bits, in the same order: ascending ranges of equal size.
class KeyRanges {
 public:
  KeyRanges(Keys keys, unsigned bits) : least_(keys.front()) {
    std::uint64_t greatest = least_;
    for (const std::uint64_t key : keys) {
      least_ = std::min(least_, key);
      greatest = std::max(greatest, key);
    }
    const auto width = static_cast<unsigned>(std::bit_width(greatest - least_));
    shift_ = width > bits ? width - bits : 0;
  }

  std::uint64_t of(std::uint64_t key) const { return (key - least_) >> shift_; }
  /// The greatest number in a range.
  std::uint64_t last(std::uint64_t range) const {
    const std::uint64_t last = least_ + ((range + 1) << shift_) - 1;
    return last < least_ ? ~std::uint64_t{0} : last;  // the sum can exceed 64 bits
  }

 private:
  std::uint64_t least_;
  unsigned shift_;
};

/// A number that at least n of the keys do not exceed, and few more than n if their ranges hold a few keys each.
std::uint64_t bound_of_least(Keys keys, std::size_t n) {
  constexpr unsigned bits = 10;
  const KeyRanges ranges(keys, bits);
  std::array<std::uint32_t, std::size_t{1} << bits> sizes = {};
  for (const std::uint64_t key : keys) ++sizes[ranges.of(key)];
  std::size_t range = 0;
  for (std::size_t count = sizes[0]; count < n; count += sizes[range]) ++range;
  return ranges.last(range);
}

/// Fewer keys are sorted by comparison.
constexpr std::size_t min_by_digits = 64;

/// Sorts by two digits of the keys' ranges, the lower one first, without branches: comparing a thousand keys with each
/// other mispredicts every other one. Few keys share a range, mostly in ascending order: documents with equal scores.
void sort_keys(std::vector<std::uint64_t>& keys) {
  if (keys.size() < min_by_digits) return std::sort(keys.begin(), keys.end());
  constexpr unsigned bits = 9;
  constexpr std::size_t digits = std::size_t{1} << bits;
  const KeyRanges ranges(keys, 2 * bits);
  std::array<std::uint32_t, digits> low = {}, high = {};
  for (const std::uint64_t key : keys) {
    ++low[ranges.of(key) % digits];
    ++high[ranges.of(key) / digits];
  }
  std::uint32_t before_low = 0, before_high = 0;
  for (std::size_t digit = 0; digit < digits; ++digit) {
    before_low += std::exchange(low[digit], before_low);
    before_high += std::exchange(high[digit], before_high);
  }
  std::vector<std::uint64_t> by_low(keys.size());
  for (const std::uint64_t key : keys) by_low[low[ranges.of(key) % digits]++] = key;
  for (const std::uint64_t key : by_low) keys[high[ranges.of(key) / digits]++] = key;
  for (auto key = keys.begin() + 1; key < keys.end(); ++key) {
    if (key[-1] < *key) continue;
    const auto in_range = [range = ranges.of(*key), &ranges](std::uint64_t other) { return ranges.of(other) == range; };
    const auto begin = std::find_if_not(std::reverse_iterator(key), keys.rend(), in_range).base();
    const auto end = std::find_if_not(key, keys.end(), in_range);
    std::sort(begin, end);
    key = end - 1;
  }
}

}  // namespace

void TopK::cut() {
  full_ = true;
  if (kept_.size() == k_) {
    worst_ = *std::max_element(kept_.begin(), kept_.end());
    return;
  }
  worst_ = std::min(worst_, bound_of_least(kept_, k_));
  std::size_t size = 0;
  for (const Key key : kept_) {
    kept_[size] = key;
    size += key <= worst_;
  }
  kept_.resize(size);
  if (size <= k_ + k_ / 2) return;
  // Most keys are in one range.
  const auto last = kept_.begin() + static_cast<std::ptrdiff_t>(k_ - 1);
  std::nth_element(kept_.begin(), last, kept_.end());
  worst_ = *last;
  kept_.resize(k_);
}

std::vector<ScoredDocument> TopK::take() {
  sort_keys(kept_);
  kept_.resize(std::min(k_, kept_.size()));
  std::vector<ScoredDocument> documents(kept_.size());
  std::transform(kept_.begin(), kept_.end(), documents.begin(), document_of);
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
