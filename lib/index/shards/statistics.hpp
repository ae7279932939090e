#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "quern/core/resources.hpp"
#include "quern/corpus/term_table.hpp"
#include "quern/formats/statistics_file.hpp"
#include "quern/formats/term_dictionary.hpp"

/// Statistics of the splits of a corpus: sums of integers, which are the same in whatever order and tree they are made.
namespace quern {

/// Writes the statistics of a collection.
void write_statistics(const CollectionReader& collection, const Resources& resources, File& out);

/// Writes the statistics of all documents of several: the same bytes in any order and any tree. Reads one after the
/// other in small pieces, which take about the memory budget's half. Throws InvalidArgument if two have a split in
/// common, or were made with other settings or libraries, or hold too many documents together.
StatisticsManifest merge_statistics(const std::vector<StatisticsReader>& inputs, const Resources& resources, File& out);

/// Some docnos of the collections that several of their documents have, at most `most`, in byte order.
std::vector<std::string> repeated_docnos(const StatisticsReader& statistics,
                                         const std::vector<CollectionReader>& collections, std::size_t most);

/// Goes over several dictionaries whose payloads are TermCounts as one, in the order of terms; counts of equal terms
/// are added up. Ranges of terms come one after the other: each dictionary in turn adds its part to a hash table, whose
/// terms are sorted. So a dictionary is read from front to back for many terms at a time, and an entry costs as much
/// whatever the number of dictionaries.
class TermSums {
 public:
  /// Scans that have not begun, of blocks_at_once() blocks.
  explicit TermSums(std::vector<DictionaryScan> scans);
  /// What each of `scans` may buffer so that these and the table take about this much memory, in blocks.
  static std::uint64_t blocks_at_once(std::size_t scans, std::uint64_t memory_bytes);

  /// Goes to the next term; false at the end. Views are valid until the next call. Throws CorruptFile.
  bool next();
  std::string_view term() const { return table_.term(order_[at_].number); }
  const TermCounts& counts() const { return counts_[order_[at_].number]; }
  /// How many entries of dictionaries were read.
  std::uint64_t entries() const { return entries_; }

 private:
  struct Source {
    DictionaryScan scan;
    DictionaryEntry entry;  ///< the next one
    bool has_ended = false;

    void advance() { has_ended = !scan.next(entry); }
  };
  /// A term of the range at hand.
  struct Place {
    std::uint64_t prefix;  ///< leading_bytes()
    std::uint32_t number;  ///< in the table
  };

  /// An entry that goes to the table.
  struct Read {
    TermKey key;        ///< its term may have moved since
    std::size_t begin;  ///< of the term in read_bytes_
    TermCounts counts;
  };

  /// Replaces the table by the terms of the next range.
  void add_range();
  /// Adds all entries of a dictionary before the bound, if there is one; some at a time, so that the memory where the
  /// table has their terms is fetched for all of these at once.
  void add(Source& source, const std::string* bound);
  /// Replaces read_ by the next entries; false if there are no more.
  bool read_some(Source& source, const std::string* bound);
  void sort_terms();
  /// Sets bound_ to what the next range ends before, and returns whose term that is; null if it has all that is left.
  const Source* find_bound();

  std::vector<Source> sources_;
  TermTable table_;
  std::vector<TermCounts> counts_;  ///< by the numbers of the table
  std::vector<Read> read_;
  std::vector<char> read_bytes_;  ///< terms, each with TermKey::front_bytes after it
  std::vector<Place> order_;
  std::size_t at_ = 0;  ///< in order_
  std::string bound_;
  std::uint64_t entries_ = 0;
};

}  // namespace quern
