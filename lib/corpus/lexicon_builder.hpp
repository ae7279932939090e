#pragma once
#include <string>
#include <vector>

#include "quern/core/types.hpp"
#include "quern/corpus/term_table.hpp"
#include "quern/formats/collection.hpp"
#include "quern/io/external_sort.hpp"
#include "quern/io/spool.hpp"

namespace quern {

/// The terms of one chunk, as the lexicon takes them.
struct ChunkTerms {
  const TermTable& terms;
  std::span<const std::uint32_t> df;  ///< of each term, over the titles and bodies of the chunk's documents
  std::span<const std::uint64_t> cf;
  /// Terms in title or body of the first document, if that began in the chunk before.
  std::span<const std::uint32_t> in_continued;
  /// Terms in title or body of the last document, if that goes on in the next chunk.
  std::span<const std::uint32_t> in_unfinished;
  /// The last document goes on in the next chunk. It may have no term in title or body here.
  bool is_unfinished = false;
  /// The chunk's only document began in the chunk before and goes on in the next.
  bool goes_through = false;
};

/// Grows the lexicon of a collection from its chunks' terms within a memory budget. Terms gather in a hash table;
/// when that is full, its rows go to an external sort, and a new generation begins. At the end the sorted rows give
/// the lexicon, and each chunk learns the lexicon numbers of its terms. The result does not depend on the budget.
class LexiconBuilder {
 public:
  LexiconBuilder(const std::string& tmp_folder, std::uint64_t memory_bytes);

  /// The next chunk's terms; chunks in order. A document that lies in several chunks counts once in df.
  void add_chunk(const ChunkTerms& chunk);

  struct Counts {
    std::uint64_t terms = 0, postings = 0, tokens = 0;
  };
  /// Writes lexicon and chunk terms to the collection.
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
  // Documents that lie in several chunks are numbered from 1.
  std::uint32_t split_document_ = 0;            ///< the last one so far
  bool is_split_open_ = false;                  ///< it goes on in the next chunk
  std::uint32_t open_at_begin_ = 0;             ///< the one that was open when the generation began; 0: none
  std::vector<std::uint32_t> last_counted_in_;  ///< of each term: the last such document; as long as is needed
  std::vector<bool> is_in_open_at_begin_;       ///< of each term: that document has it in this generation; as long
  ExternalSort rows_;
  std::vector<std::uint32_t> chunk_sizes_;  ///< terms of each chunk
  Spool chunk_numbers_;                     ///< each chunk's terms as numbers of its generation
  std::vector<Generation> generations_;
  std::size_t open_chunks_ = 0;  ///< of the generation at hand
};

}  // namespace quern
