#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "quern/core/resources.hpp"
#include "quern/core/types.hpp"
#include "quern/formats/index_file.hpp"

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

/// Reads lines `term<TAB>df`, in any order, plain, gzip or zstd, "-" for standard input. Skips blank lines and lines
/// that begin with #. Throws CorruptFile, with the line, for a malformed line, a term that is empty, too long or not
/// UTF-8, a df of 0 or above 2^32 - 2, or a repeated term; InvalidArgument if there is no term or the table exceeds the
/// memory.
DfTable read_df_table(const std::string& path, const Resources& resources);

/// The document frequencies of an index. Throws InvalidArgument if they exceed the memory.
DfTable df_table_of(const IndexReader& index, const Resources& resources);

/// The table for a collection of `documents` documents: each df times documents / table.documents, rounded, at least 1
/// and at most `documents`. Throws InvalidArgument if a df exceeds the table's own number of documents.
DfTable scaled_to(DfTable table, std::uint64_t documents);

}  // namespace quern
