#include "quern/index/shards/term_sums.hpp"

#include <algorithm>

#include "quern/core/error.hpp"

namespace quern {

TermSums::TermSums(std::vector<DictionaryScan> scans) {
  sources_.reserve(scans.size());
  for (DictionaryScan& scan : scans) {
    // A scan that has begun must not move.
    sources_.push_back({std::move(scan), {}});
    sources_.back().advance();
  }
}

std::uint64_t TermSums::blocks_at_once(std::size_t scans, std::uint64_t memory_bytes) {
  // Of terms of ordinary length: themselves, their rows and slots of the table, and their places in the order. Ranges
  // of a quarter of the blocks take longer, since each ends before the dictionary whose terms are densest.
  constexpr std::uint64_t block_bytes = 4096, most_blocks = 64;
  return std::clamp<std::uint64_t>(memory_bytes / (std::max<std::size_t>(scans, 1) * block_bytes),
                                   DictionaryScan::min_blocks_with_bound, most_blocks);
}

const TermSums::Source* TermSums::find_bound() {
  const Source* first = nullptr;
  for (const Source& source : sources_) {
    if (source.has_ended) continue;
    const auto bound = source.scan.bound();
    if (!bound || (first != nullptr && *bound >= bound_)) continue;
    bound_ = *bound;
    first = &source;
  }
  return first;
}

bool TermSums::read_some(Source& source, const std::string* bound) {
  constexpr std::size_t most = 32, most_bytes = 64 << 10;
  const std::uint64_t bound_prefix = bound == nullptr ? 0 : leading_bytes(*bound);
  read_.clear();
  read_bytes_.clear();
  for (; !source.has_ended && read_.size() < most && read_bytes_.size() < most_bytes; source.advance()) {
    const std::string_view term = source.entry.term;
    if (term.size() > TermTable::max_term_bytes) throw CorruptFile(source.scan.what() + ": a term is too long");
    const std::size_t begin = read_bytes_.size();
    read_bytes_.resize(begin + term.size() + TermKey::front_bytes);
    std::copy(term.begin(), term.end(), read_bytes_.begin() + static_cast<std::ptrdiff_t>(begin));
    const TermKey key = padded_term_key({read_bytes_.data() + begin, term.size()});
    if (bound != nullptr) {
      const std::uint64_t prefix = __builtin_bswap64(key.front[0]);  // leading_bytes(), which the key has already
      if (prefix > bound_prefix || (prefix == bound_prefix && term >= *bound)) return false;
    }
    read_.push_back({key, begin, TermCounts::of(source.entry.payload, source.scan.what())});
    table_.fetch_slot(key.hash);
  }
  return !source.has_ended;
}

void TermSums::add(Source& source, const std::string* bound) {
  for (bool has_more = true; has_more;) {
    has_more = read_some(source, bound);
    for (const Read& entry : read_) {
      const std::uint32_t number = table_.fetch_row(entry.key.hash);
      if (number < counts_.size()) __builtin_prefetch(&counts_[number]);
    }
    for (Read& entry : read_) {
      entry.key.term = {read_bytes_.data() + entry.begin, entry.key.term.size()};
      const std::uint32_t number = table_.add(entry.key);
      if (number == counts_.size()) counts_.emplace_back();
      counts_[number] += entry.counts;
    }
    entries_ += read_.size();
  }
}

void TermSums::add_range() {
  table_.clear();
  counts_.clear();
  const Source* const first = find_bound();
  for (Source& source : sources_) add(source, first == nullptr ? nullptr : &bound_);
  // The bound is a later term of that dictionary.
  if (first != nullptr && table_.size() == 0) throw CorruptFile(first->scan.what() + ": terms do not rise");
}

void TermSums::sort_terms() {
  order_.clear();
  for (std::uint32_t number = 0; number < table_.size(); ++number)
    order_.push_back({leading_bytes(table_.term(number)), number});
  std::sort(order_.begin(), order_.end(), [&](const Place& a, const Place& b) {
    if (a.prefix != b.prefix) return a.prefix < b.prefix;
    return table_.term(a.number) < table_.term(b.number);
  });
}

bool TermSums::next() {
  if (at_ + 1 < order_.size()) {
    ++at_;
    return true;
  }
  add_range();
  sort_terms();
  at_ = 0;
  return !order_.empty();
}

}  // namespace quern
