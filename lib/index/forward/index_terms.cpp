#include "quern/index/forward/index_terms.hpp"

#include <bit>

namespace quern {

IndexTerms::IndexTerms(const CollectionReader& collection)
    : dictionary_(collection.lexicon_container(), "lexicon", collection.manifest().terms),
      words_(collection.manifest().terms / 64 + 1),
      listed_before_(words_.size()) {
  DictionaryScan scan = collection.lexicon();
  DictionaryEntry entry;
  for (std::uint64_t number = 0; scan.next(entry); ++number)
    if (TermCounts::parse(entry.payload, scan.what()).df > 0) set_listed(number);
  count_listed();
}

IndexTerms::IndexTerms(const CollectionReader& collection, const IndexReader& shard, const StatisticsBeside& whole)
    : dictionary_(collection.lexicon_container(), "lexicon", collection.manifest().terms),
      whole_(&whole),
      words_(collection.manifest().terms / 64 + 1),
      listed_before_(words_.size()) {
  DictionaryScan scan = collection.lexicon();
  DictionaryEntry entry;
  std::uint64_t next = 0;  // number of the entry after the current one
  for (std::uint64_t block = 0; block < shard.num_lexicon_blocks(); ++block) {
    shard.for_each_list(block, [&](std::string_view term, const PostingList&) {
      while (next == 0 || entry.term < term) {
        if (!scan.next(entry))
          throw InvalidArgument(collection.name() + ": lacks terms of " + shard.name() +
                                "; name the collection that the shard was built from");
        ++next;
      }
      if (entry.term != term)
        throw InvalidArgument(collection.name() + ": lacks terms of " + shard.name() +
                              "; name the collection that the shard was built from");
      set_listed(next - 1);
    });
  }
  count_listed();
}

void IndexTerms::count_listed() {
  for (std::size_t word = 0; word < words_.size(); ++word) {
    listed_before_[word] = static_cast<std::uint32_t>(listed_);
    listed_ += static_cast<std::uint64_t>(std::popcount(words_[word]));
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

}  // namespace quern
