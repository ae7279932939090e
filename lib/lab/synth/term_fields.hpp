#pragma once
#include "quern/formats/index_file.hpp"
#include "quern/io/file.hpp"

namespace quern {

struct DfEntry {
  std::string term;
  std::uint64_t df = 0;
};

/// Terms and their document frequencies, in the byte order of the terms.
struct DfTable {
  std::string name;  ///< for messages
  std::vector<DfEntry> terms;
  std::uint64_t documents = 0;  ///< documents of its collection; 0 if unknown
  std::uint64_t postings() const;
  /// Memory of the table and everything that synthesize_index() derives from it.
  std::uint64_t memory_bytes() const;
};

/// Reads lines `term<TAB>df`, in any order, plain or compressed, "-" for standard input. Skips blank lines and lines
/// that begin with #. Throws CorruptFile, with the line, for a malformed line, a term that is empty, too long or not
/// UTF-8, a df of 0 or above 2^32 - 2, or a repeated term; InvalidArgument if there is no term or the table exceeds the
/// memory.
DfTable read_df_table(const std::string& path, const Resources& resources);

/// The document frequencies of an index. Throws InvalidArgument if they exceed the memory.
DfTable df_table_of(const IndexReader& index, const Resources& resources);

/// The table for a collection of `documents` documents: each df times documents / table.documents, rounded, at least 1
/// and at most `documents`. Throws InvalidArgument if a df exceeds the table's own number of documents.
DfTable scaled_to(DfTable table, std::uint64_t documents);

/// The parameters of a term's list, for the places of its postings and their frequencies.
struct TermField {
  std::uint64_t df = 0;
  std::uint64_t own_key = 0;  ///< for the term's own noise, shared by its followers
  std::uint64_t shared_key =
      0;  ///< for noise shared with correlated terms: a topic's key, or the followed term's own_key
  float own_noise = 0, shared_noise = 0;  ///< their standard deviations in a cut's log-odds
  float single_narrowness = 1;            ///< width of chance alone, relative to own noise and chance combined
  float freq_level = 0;                   ///< see FreqTables
};

/// Calls visit(terms) for each query of a log. Empty: no log.
using VisitQueries = std::function<void(const std::function<void(const std::vector<std::string>&)>& visit)>;

/// The field of each term of a table; `clustering` is 0 to 1. Keys come from seed and term, so that a term keeps its
/// list when other terms are added or removed. A term shares noise with the terms of its topic, one of a few, chosen by
/// the term's bytes. A term that occurs in queries together with more frequent terms follows one of them instead: the
/// one with which it occurs most often relative to that term's queries. The pairs of a query, whose number grows with
/// the square of its length, are counted on disk if they exceed the memory.
std::vector<TermField> term_fields(const DfTable& table, double clustering, std::uint64_t seed,
                                   const VisitQueries& for_each_query, const Resources& resources);

/// Writes a text from chunks that are generated in parallel, in order: plain, or, if `name` ends with .gz or .zst, each
/// chunk as a separate gzip member or zstd frame. `put_chunk` appends the chunk's text; several threads call it. The
/// bytes depend on the chunks alone.
void write_packed_text(std::uint64_t chunks,
                       const std::function<void(std::uint64_t chunk, std::string& text)>& put_chunk,
                       const std::string& name, const Resources& resources, File& out);

}  // namespace quern
