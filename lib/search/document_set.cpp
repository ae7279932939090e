#include "quern/search/document_set.hpp"

#include <algorithm>

#include "quern/core/own_errors.hpp"

namespace quern {
namespace {

constexpr docid_t word_bits = 64;

/// Mask of a word's bits from document `begin` on.
std::uint64_t bits_from(docid_t begin) { return ~std::uint64_t{0} << begin % word_bits; }

}  // namespace

DocumentSet::DocumentSet(docid_t num_documents) : num_documents_(num_documents) {
  with_own_errors([&] { words_.resize(bytes(num_documents) / sizeof(std::uint64_t)); });
}

std::uint64_t DocumentSet::count(docid_t begin, docid_t end) const {
  if (begin >= end) return 0;
  const std::size_t first = begin / word_bits, last = (end - 1) / word_bits;
  std::uint64_t count = 0;
  for (std::size_t word = first; word <= last; ++word) {
    std::uint64_t bits = words_[word];
    if (word == first) bits &= bits_from(begin);
    if (word == last && end % word_bits != 0) bits &= ~bits_from(end);
    count += static_cast<std::uint64_t>(std::popcount(bits));
  }
  return count;
}

docid_t DocumentSet::next(docid_t begin, docid_t end) const {
  if (begin >= end) return end;
  const std::size_t last = (end - 1) / word_bits;
  std::size_t word = begin / word_bits;
  std::uint64_t bits = words_[word] & bits_from(begin);
  while (bits == 0 && word < last) bits = words_[++word];
  if (bits == 0) return end;
  return std::min(end, static_cast<docid_t>(word * word_bits) + static_cast<docid_t>(std::countr_zero(bits)));
}

void DocumentSet::intersect(const DocumentSet& other) {
  for (std::size_t word = 0; word < words_.size(); ++word) words_[word] &= other.words_[word];
}

void DocumentSet::unite(const DocumentSet& other) {
  for (std::size_t word = 0; word < words_.size(); ++word) words_[word] |= other.words_[word];
}

void DocumentSet::complement() {
  for (std::uint64_t& word : words_) word = ~word;
  if (num_documents_ % word_bits != 0) words_.back() &= ~bits_from(num_documents_);
}

}  // namespace quern
