#include "quern/forward/index_terms.hpp"

#include "quern/core/error.hpp"

namespace quern {

IndexTerms::IndexTerms(const CollectionReader& collection)
    : dictionary_(collection.lexicon_container(), "lexicon", collection.manifest().terms),
      words_(collection.manifest().terms / 64 + 1),
      listed_before_(words_.size()) {
  LexiconScan scan = collection.lexicon();
  LexiconEntry entry;
  for (std::uint64_t number = 0; scan.next(entry); ++number) {
    if (number % 64 == 0) listed_before_[number / 64] = static_cast<std::uint32_t>(listed_);
    if (entry.df == 0) continue;
    words_[number / 64] |= std::uint64_t{1} << number % 64;
    ++listed_;
  }
}

std::uint64_t IndexTerms::table_bytes(const CollectionReader& collection) {
  return (collection.manifest().terms / 64 + 1) * (sizeof(std::uint64_t) + sizeof(std::uint32_t));
}

std::optional<term_t> IndexTerms::number(std::string_view term) const {
  const auto block = dictionary_.block_of(term);
  if (!block) return std::nullopt;
  std::uint64_t before = *block * terms_per_block;
  if (!dictionary_.block(*block).find(term, [&before](ByteView) { ++before; })) return std::nullopt;
  return number(static_cast<term_t>(before));
}

std::string IndexTerms::term(term_t in_collection) const {
  DictionaryBlock block = dictionary_.block(in_collection / terms_per_block);
  DictionaryEntry entry;
  for (std::uint32_t i = 0; i <= in_collection % terms_per_block; ++i)
    if (!block.next(entry)) throw CorruptFile(dictionary_.what() + ": ends too early");
  return std::string(entry.term);
}

std::optional<term_t> IndexTermCache::number(std::string_view term) {
  std::string key(term);
  if (const auto found = known_.find(key); found != known_.end()) return found->second;
  if (known_.size() == max_terms) known_.clear();
  return known_[std::move(key)] = terms_.number(term);
}

}  // namespace quern
