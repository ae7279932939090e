#pragma once
#include <xxhash.h>

#include <bit>
#include <cstring>

#include "quern/formats/collection.hpp"
#include "quern/io/external_sort.hpp"
#include "quern/io/spool.hpp"

#define XXH_INLINE_ALL

namespace quern {

/// A term with its precomputed lookup key.
struct TermKey {
  static constexpr std::size_t prefix_bytes = 16;

  std::string_view term;
  std::array<std::uint64_t, 2> prefix;  ///< its first bytes, zero-padded
  std::uint64_t hash;
};

namespace term_hashing {

inline std::uint64_t mix(std::uint64_t a, std::uint64_t b) {
  __extension__ using Wide = unsigned __int128;
  const Wide product = static_cast<Wide>(a) * b;
  return static_cast<std::uint64_t>(product) ^ static_cast<std::uint64_t>(product >> 64);
}

/// Hashes the prefix of short terms by two multiplications, longer terms by XXH3.
inline std::uint64_t hash_of(std::string_view term, const std::array<std::uint64_t, 2>& prefix) {
  if (term.size() > TermKey::prefix_bytes) return XXH3_64bits(term.data(), term.size());
  // No term contains the byte FF, so the first factor is not 0.
  constexpr std::uint64_t a = 0xFFA0761D6478BD64u, b = 0xE7037ED1A0B428DBu, c = 0xFF58B6E3A1B4C8E9u;
  return mix(mix(prefix[0] ^ a, b) ^ prefix[1] ^ c, b);
}

/// The first `bytes` bytes of a number; all for 8 or more.
inline std::uint64_t first_bytes(std::uint64_t number, std::size_t bytes) {
  return bytes >= 8 ? number : number & ((std::uint64_t{1} << (8 * bytes)) - 1);
}

}  // namespace term_hashing

/// The key of a term after which TermKey::prefix_bytes more bytes are readable.
inline TermKey padded_term_key(std::string_view term) {
  TermKey key{term, {}, 0};
  std::memcpy(key.prefix.data(), term.data(), TermKey::prefix_bytes);
  key.prefix[0] = term_hashing::first_bytes(key.prefix[0], term.size());
  key.prefix[1] = term_hashing::first_bytes(key.prefix[1], std::max<std::size_t>(term.size(), 8) - 8);
  key.hash = term_hashing::hash_of(term, key.prefix);
  return key;
}

/// The key of any term.
inline TermKey term_key(std::string_view term) {
  TermKey key{term, {}, 0};
  std::memcpy(key.prefix.data(), term.data(), std::min(term.size(), TermKey::prefix_bytes));
  key.hash = term_hashing::hash_of(term, key.prefix);
  return key;
}

/// A hash table from terms to numbers 0, 1, 2 … in order of first occurrence. Open addressing over one array; rows hold
/// the prefixes of terms, which cover most terms, and one buffer holds all bytes.
class TermTable {
 public:
  static constexpr std::size_t max_term_bytes = (std::size_t{1} << 20) - 1;

  TermTable() { rehash(1024); }

  /// The term's number, assigned if the term is new.
  std::uint32_t add(std::string_view term) { return add(term_key(term)); }
  std::uint32_t add(const TermKey& key) {
    const std::uint64_t tag = key.hash & tag_mask;
    for (std::size_t at = key.hash & mask_;; at = (at + 1) & mask_) {
      const std::uint64_t slot = slots_[at];
      if (slot == 0) return insert(at, key);
      if ((slot & tag_mask) == tag) {
        const std::uint32_t number = static_cast<std::uint32_t>(slot) - 1;
        if (is_same(entries_[number], key)) return number;
      }
    }
  }

  /// Prefetches the slot where add() starts its search.
  void fetch_slot(std::uint64_t hash) const { __builtin_prefetch(&slots_[hash & mask_]); }
  /// Prefetches the row that add() compares first; returns its number, or an invalid one.
  std::uint32_t fetch_row(std::uint64_t hash) const {
    const std::uint32_t number = static_cast<std::uint32_t>(slots_[hash & mask_]) - 1;
    if (number < entries_.size()) __builtin_prefetch(&entries_[number]);
    return number;
  }

  std::uint32_t size() const { return static_cast<std::uint32_t>(entries_.size()); }
  std::string_view term(std::uint32_t number) const { return term(entries_[number]); }
  TermKey key(std::uint32_t number) const {
    const Entry& entry = entries_[number];
    return {term(entry), entry.prefix, entry.hash};
  }
  /// Of all terms together.
  std::size_t term_bytes() const { return bytes_.size(); }
  std::uint64_t memory_bytes() const {
    return bytes_.capacity() + entries_.capacity() * sizeof(Entry) + slots_.capacity() * 8;
  }

  void clear() {
    bytes_.clear();
    entries_.clear();
    std::fill(slots_.begin(), slots_.end(), 0);
  }

 private:
  struct Entry {
    std::array<std::uint64_t, 2> prefix;
    std::uint64_t hash;
    std::uint64_t place;  ///< offset in bytes_ << size_bits | length
  };
  /// A slot holds the upper half of the hash, and number + 1 below; 0 is empty.
  static constexpr std::uint64_t tag_mask = 0xffffffff00000000u;

  static constexpr unsigned size_bits = std::bit_width(max_term_bytes);

  static std::size_t size_of(const Entry& entry) { return entry.place & max_term_bytes; }
  std::string_view term(const Entry& entry) const {
    return {bytes_.data() + (entry.place >> size_bits), size_of(entry)};
  }

  bool is_same(const Entry& entry, const TermKey& key) const {
    const std::size_t size = key.term.size();
    const std::uint64_t differences = (entry.prefix[0] ^ key.prefix[0]) | (entry.prefix[1] ^ key.prefix[1]);
    if (differences != 0 || size_of(entry) != size) return false;
    return size <= TermKey::prefix_bytes || term(entry) == key.term;
  }

  std::uint32_t insert(std::size_t at, const TermKey& key) {
    entries_.push_back({key.prefix, key.hash, bytes_.size() << size_bits | key.term.size()});
    bytes_.insert(bytes_.end(), key.term.begin(), key.term.end());
    slots_[at] = (key.hash & tag_mask) | entries_.size();
    const std::uint32_t number = size() - 1;
    if (entries_.size() * 2 > slots_.size()) rehash(slots_.size() * 2);
    return number;
  }

  void rehash(std::size_t size) {
    slots_.assign(size, 0);
    mask_ = size - 1;
    for (std::size_t i = 0; i < entries_.size(); ++i) {
      std::size_t at = entries_[i].hash & mask_;
      while (slots_[at] != 0) at = (at + 1) & mask_;
      slots_[at] = (entries_[i].hash & tag_mask) | (i + 1);
    }
  }

  std::vector<char> bytes_;
  std::vector<Entry> entries_;
  std::vector<std::uint64_t> slots_;
  std::size_t mask_ = 0;
};

/// The terms of one chunk, as input of the lexicon.
struct ChunkTerms {
  const TermTable& terms;
  std::span<const std::uint32_t> df;  ///< of each term, over the titles and bodies of the chunk's documents
  std::span<const std::uint64_t> cf;
  /// Terms in title or body of the first document, if it continues from the previous chunk.
  std::span<const std::uint32_t> in_continued;
  /// Terms in title or body of the last document, if it continues in the next chunk.
  std::span<const std::uint32_t> in_unfinished;
  /// The last document continues in the next chunk. It may have no term in title or body here.
  bool is_unfinished = false;
  /// The chunk's only document began in an earlier chunk and continues in the next.
  bool goes_through = false;
};

/// Builds the lexicon of a collection from its chunks' terms within a memory budget. Terms gather in a hash table; when
/// it is full, its rows go to an external sort, and a new generation begins. At the end the sorted rows give the
/// lexicon, and each chunk's terms get their term IDs. The result does not depend on the budget.
class LexiconBuilder {
 public:
  LexiconBuilder(const std::string& tmp_folder, std::uint64_t memory_bytes);

  /// Adds the next chunk's terms, in chunk order. A document that spans several chunks counts once in df.
  void add_chunk(const ChunkTerms& chunk);

  struct Counts {
    std::uint64_t terms = 0, postings = 0, tokens = 0;
  };
  /// Writes the lexicon and the chunks' terms to the collection.
  Counts finish(CollectionWriter& out);

 private:
  struct Generation {
    std::uint32_t num_terms = 0;
    std::size_t chunks = 0;
  };
  class NumberPairs;
  void end_generation();
  void count_split_document(const ChunkTerms& chunk, std::span<const std::uint32_t> numbers);
  Counts merge(NumberPairs& pairs, CollectionWriter& out);
  void write_chunk_terms(NumberPairs& pairs, CollectionWriter& out);

  std::string tmp_folder_;
  std::uint64_t table_memory_bytes_;
  TermTable terms_;
  std::vector<std::uint64_t> df_, cf_;
  // Documents that span several chunks are numbered from 1.
  std::uint32_t split_document_ = 0;            ///< the latest one
  bool is_split_open_ = false;                  ///< it continues in the next chunk
  std::uint32_t open_at_begin_ = 0;             ///< open at the start of the generation; 0: none
  std::vector<std::uint32_t> last_counted_in_;  ///< by term: the last that counted it; may lack later terms
  std::vector<bool> is_in_open_at_begin_;       ///< by term: occurs in it in this generation; may lack later terms
  ExternalSort rows_;
  std::vector<std::uint32_t> chunk_sizes_;  ///< number of terms of each chunk
  Spool chunk_numbers_;                     ///< each chunk's terms as numbers of its generation
  std::vector<Generation> generations_;
  std::size_t open_chunks_ = 0;  ///< of the current generation
};

}  // namespace quern
