#pragma once
#include <string>
#include <vector>

#include "quern/collection/term_table.hpp"
#include "quern/core/types.hpp"
#include "quern/formats/collection.hpp"
#include "quern/io/external_sort.hpp"
#include "quern/io/spool.hpp"

namespace quern {

/// Grows the lexicon of a collection from its chunks' terms within a memory budget. Terms gather in a hash table;
/// when that is full, its rows go to an external sort, and a new generation begins. At the end the sorted rows give
/// the lexicon, and each chunk learns the lexicon numbers of its terms. The result does not depend on the budget.
class LexiconBuilder {
 public:
  LexiconBuilder(const std::string& tmp_folder, std::uint64_t memory_bytes);

  /// The next chunk's terms with their document and collection frequencies; chunks in order.
  void add_chunk(const TermTable& terms, std::span<const std::uint32_t> df, std::span<const std::uint64_t> cf);

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
  Counts merge(NumberPairs& pairs, CollectionWriter& out);
  void write_chunk_terms(NumberPairs& pairs, CollectionWriter& out);

  std::string tmp_folder_;
  std::uint64_t table_memory_bytes_;
  TermTable terms_;
  std::vector<std::uint64_t> df_, cf_;
  ExternalSort rows_;
  std::vector<std::uint32_t> chunk_sizes_;  ///< terms of each chunk
  Spool chunk_numbers_;                     ///< each chunk's terms as numbers of its generation
  std::vector<Generation> generations_;
  std::size_t open_chunks_ = 0;  ///< of the generation at hand
};

}  // namespace quern
