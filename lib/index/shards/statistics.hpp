#pragma once
#include "quern/corpus/lexicon_builder.hpp"
#include "quern/formats/statistics_file.hpp"
#include "quern/formats/term_dictionary.hpp"

/// Statistics of a corpus's splits: sums of integers, independent of the order and tree of merging.
namespace quern {

/// Writes the statistics of a collection.
void write_statistics(const CollectionReader& collection, const Resources& resources, File& out);

/// Merges statistics; the bytes don't depend on the order or tree of merging. Reads them alternately in small pieces
/// that need about half of the memory budget. Throws InvalidArgument if settings or libraries differ, if there are too
/// many documents in total, or as CollectionManifest::add_optional_counts().
StatisticsManifest merge_statistics(const std::vector<StatisticsReader>& inputs, const Resources& resources, File& out);

/// Throws InvalidArgument if documents of several collections share a docno, although these were parsed with
/// Duplicates::refuse.
void refuse_duplicates(const CollectionReader& collections, const Resources& resources);

/// Up to `max_count` docnos that several documents of the collections share, in byte order.
std::vector<std::string> repeated_docnos(const StatisticsReader& statistics,
                                         const std::vector<CollectionReader>& collections, std::size_t max_count);

/// Merges several dictionaries of TermCounts in term order and adds up the counts of equal terms. Works range by range:
/// each dictionary adds its terms to a hash table, which is then sorted. So each dictionary is read sequentially, and
/// an entry's cost doesn't depend on the number of dictionaries.
class TermSums {
 public:
  /// The scans must not have begun, and read blocks_at_once() blocks at a time.
  explicit TermSums(std::vector<DictionaryScan> scans);
  /// Blocks that each of `scans` scans may buffer, so that scans and table need about this much memory.
  static std::uint64_t blocks_at_once(std::size_t scans, std::uint64_t memory_bytes);

  /// Moves to the next term; false at the end. Views are valid until the next call. Throws CorruptFile.
  bool next();
  std::string_view term() const { return table_.term(order_[at_].number); }
  const TermCounts& counts() const { return counts_[order_[at_].number]; }
  /// Number of dictionary entries read.
  std::uint64_t entries() const { return entries_; }

 private:
  struct Source {
    DictionaryScan scan;
    DictionaryEntry entry;  ///< the next one
    bool has_ended = false;

    void advance() { has_ended = !scan.next(entry); }
  };
  /// A term of the current range.
  struct Place {
    std::uint64_t prefix;  ///< leading_bytes()
    std::uint32_t number;  ///< number in the table
  };

  /// An entry to add to the table.
  struct Read {
    TermKey key;        ///< its term may have moved since
    std::size_t begin;  ///< start of the term in read_bytes_
    TermCounts counts;
  };

  /// Replaces the table by the terms of the next range.
  void add_range();
  /// Adds a dictionary's entries before the bound, or all if there is none. Works in batches, to prefetch the table's
  /// memory for several terms at a time.
  void add(Source& source, const std::string* bound);
  /// Replaces read_ by the next entries; false if there are no more.
  bool read_some(Source& source, const std::string* bound);
  void sort_terms();
  /// Sets bound_ to the end of the next range and returns the source of that term; null if the range includes all
  /// remaining terms.
  const Source* find_bound();

  std::vector<Source> sources_;
  TermTable table_;
  std::vector<TermCounts> counts_;  ///< by number in the table
  std::vector<Read> read_;
  std::vector<char> read_bytes_;  ///< terms, each with TermKey::prefix_bytes after it
  std::vector<Place> order_;
  std::size_t at_ = 0;  ///< in order_
  std::string bound_;
  std::uint64_t entries_ = 0;
};

// The scale of quantized impacts over splits: the greatest term score, a maximum, which merges in any order.

/// The greatest term score of the collection's postings, with the statistics' IDF and average length. Reads all forward
/// lists. Throws InvalidArgument if the collection isn't a split of the statistics, or has given weights, whose scale
/// needs no search.
Scales find_scales(const CollectionReader& collection, const StatisticsReader& statistics, const Bm25Parameters& bm25,
                   const Resources& resources);

/// Merges scales of several splits. Throws InvalidArgument if their statistics or parameters differ. Names are for
/// messages.
Scales merge_scales(const std::vector<Scales>& inputs, const std::vector<std::string>& names);

}  // namespace quern
