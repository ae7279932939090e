#pragma once
#include <string>
#include <vector>

#include "quern/core/types.hpp"
#include "quern/corpus/term_table.hpp"
#include "quern/formats/collection.hpp"
#include "quern/io/external_sort.hpp"
#include "quern/io/spool.hpp"

namespace quern {

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
  std::vector<std::uint32_t> last_counted_in_;  ///< of each term: the last such document; may be shorter
  std::vector<bool> is_in_open_at_begin_;       ///< of each term: occurs in it in this generation; may be shorter
  ExternalSort rows_;
  std::vector<std::uint32_t> chunk_sizes_;  ///< number of terms of each chunk
  Spool chunk_numbers_;                     ///< each chunk's terms as numbers of its generation
  std::vector<Generation> generations_;
  std::size_t open_chunks_ = 0;  ///< of the current generation
};

}  // namespace quern
