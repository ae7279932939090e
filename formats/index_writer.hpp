#pragma once
#include "quern/formats/index_file.hpp"
#include "quern/formats/term_dictionary.hpp"
#include "quern/io/checksum.hpp"
#include "quern/io/file.hpp"
#include "quern/io/spool.hpp"
#include "quern/io/zstd_frame.hpp"

namespace quern {

/// Consecutive documents, encoded for the sections of an index: docnos and compressed texts. Threads can encode packs
/// in parallel.
class DocumentPack {
 public:
  void clear();
  void add(std::string_view docno, std::string_view url, std::string_view title);
  /// Completes the last block of texts. A pack's first document must be the first of its block.
  void end();

  std::size_t size() const { return docno_hashes_.size(); }
  /// Hash of each document's docno.
  std::span<const std::uint64_t> docno_hashes() const { return docno_hashes_; }
  ByteView docnos() const { return docnos_; }
  ByteView texts() const { return texts_; }
  /// Offsets of the blocks in the pack's docnos and texts.
  std::span<const std::size_t> docno_offsets() const { return docno_offsets_; }
  std::span<const std::size_t> text_offsets() const { return text_offsets_; }

 private:
  void put_text_block();

  std::vector<std::uint64_t> docno_hashes_;
  Bytes docnos_, texts_, text_block_;
  std::vector<std::size_t> docno_offsets_, text_offsets_;
  ZstdCompressor zstd_{3};
};

/// Identifies a set of documents, whatever their order and splits: the sum, modulo 2^64, of each document's XXH3-64
/// over docno, URL and title as strings and its tokens as a varint. Sums of splits and shards add up to the sum of the
/// whole.
class DocumentsHash {
 public:
  void add(std::string_view docno, std::string_view url, std::string_view title, std::uint64_t tokens) {
    row_.clear();
    put_string(row_, docno);
    put_string(row_, url);
    put_string(row_, title);
    put_varint(row_, tokens);
    sum_ += xxh3(row_);
  }
  std::uint64_t value() const { return sum_; }

 private:
  std::uint64_t sum_ = 0;
  Bytes row_;
};

/// A list encoded for the writer.
struct EncodedList {
  std::uint64_t df = 0, cf = 0;
  std::optional<TermCounts> whole;      ///< for a shard: df and cf over all shards
  ByteView short_list;                  ///< encoded postings of a list of at most max_short_list; otherwise empty
  WordView words;                       ///< list header and blocks; empty for short lists
  std::span<const docid_t> block_last;  ///< empty for single-block lists, like the next two
  std::span<const std::uint32_t> block_offset;
  std::span<const std::uint16_t> block_max;
  float max_impact = 0;
  RankedImpacts kth_impact = {};  ///< at stored_ranks
};

/// Throws InvalidArgument: the list is too long for the offsets in block rows.
[[noreturn]] void fail_for_long_list();

/// Words and rows of a list too long for memory, in work files instead of EncodedList.
struct SpooledListParts {
  explicit SpooledListParts(const std::string& tmp_folder)
      : words(tmp_folder), block_last(tmp_folder), block_offset(tmp_folder), block_max(tmp_folder) {}

  RecordSpool<std::uint32_t> words;
  RecordSpool<docid_t> block_last;
  RecordSpool<std::uint32_t> block_offset;
  RecordSpool<std::uint16_t> block_max;

  void clear() {
    words.clear();
    block_last.clear();
    block_offset.clear();
    block_max.clear();
  }
};

/// Writes the sections of an index in the order of index.md. Call its functions in the order of their declaration;
/// those that add something as often as needed, the others once. All throw IoError.
class IndexWriter {
 public:
  /// `with_impacts`: the index has quantized impacts.
  IndexWriter(File& file, const std::string& tmp_folder, bool with_impacts);

  // Lists in term order.
  void add_list(std::string_view term, const EncodedList& list);
  /// Adds a long list: its words and rows are in `parts`, and empty in `list`.
  void add_list(std::string_view term, const EncodedList& list, const SpooledListParts& parts);
  /// Adds the next words and rows of a list that comes in parts: each `block_offset` counts from the part's first word.
  /// Throws InvalidArgument if the list becomes too long for block rows.
  void add_part(const EncodedList& part);
  /// Ends the list whose parts were added; words and rows in `list` are empty.
  void end_parts(std::string_view term, const EncodedList& list);
  void end_lists();

  // Quantized impacts of lists with more than max_short_list postings, in list order.
  /// File offsets of the sections with the lists' words and rows, which are readable now.
  struct ListSections {
    std::uint64_t postings = 0, block_last = 0, block_offset = 0;
  };
  const ListSections& list_sections() const { return list_sections_; }
  /// Begins the impacts of the next list, of `width` bits.
  void begin_impacts(unsigned width);
  /// Adds the next blocks of the current list, packed by put_impacts().
  void add_impacts(WordView words) { out_.write_array(words); }
  void end_impacts();

  /// Adds documents in docID order. All packs except the last must contain a multiple of texts_per_block documents.
  void add_documents(const DocumentPack& pack);
  void end_documents(std::span<const std::uint32_t> lengths);
  /// Adds docIDs sorted by (docno hash, docID), in pieces.
  void add_docids(std::span<const docid_t> docids) { out_.write_array(docids); }
  /// Writes the documents' scores by docID, if any, and the manifest, with the writer's counts of lists and bytes; ends
  /// the file.
  void finish(IndexManifest manifest, std::span<const float> pagerank, std::span<const float> global_scores);

 private:
  void add_rows(const EncodedList& list);
  /// Adds a list's lexicon entry, with its number of words and block rows.
  void add_head(std::string_view term, const EncodedList& list, std::uint64_t words, std::uint64_t rows);

  bool with_impacts_;
  ContainerWriter out_;
  Spool lexicon_, block_last_, block_offset_, block_max_, texts_;
  RecordSpool<std::uint64_t> impact_start_, docno_offsets_, text_offsets_;
  RecordSpool<std::uint8_t> impact_width_;
  DictionaryWriter dictionary_;
  Bytes payload_;
  ListSections list_sections_;
  std::uint64_t words_ = 0, rows_ = 0, long_lists_ = 0;
  std::uint64_t part_words_ = 0, part_rows_ = 0;  ///< of the current list, if it comes in parts
  std::vector<std::uint32_t> part_offsets_;
  std::uint64_t short_lists_ = 0, short_list_bytes_ = 0, list_bound_bytes_ = 0;
};

}  // namespace quern
