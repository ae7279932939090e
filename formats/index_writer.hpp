#pragma once
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "quern/formats/document_pack.hpp"
#include "quern/formats/index_file.hpp"
#include "quern/io/file.hpp"
#include "quern/io/spool.hpp"

/// Writes an index in stages. Each stage is a type, and ending it returns the next stage, which enforces the section
/// order of index.md: lists, quantized impacts, documents, docno look-up, scores and manifest.
namespace quern {

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

/// State passed between stages: the file, the spools of later sections, and counts.
class IndexWriting {
 protected:
  struct State;
  explicit IndexWriting(std::unique_ptr<State> state);
  IndexWriting(IndexWriting&&) noexcept;
  ~IndexWriting();
  std::unique_ptr<State> state_;
};

/// The last stage: scores and the manifest.
class IndexEndWriter : IndexWriting {
 public:
  /// Writes the documents' scores by docID, if any, and the manifest, with the writer's counts of lists and bytes; ends
  /// the file.
  void finish(IndexManifest manifest, std::span<const float> pagerank, std::span<const float> global_scores) &&;

 private:
  friend class IndexDocnoWriter;
  using IndexWriting::IndexWriting;
};

/// The docno look-up stage.
class IndexDocnoWriter : IndexWriting {
 public:
  /// Adds docIDs sorted by (docno hash, docID), in pieces.
  void add_docids(std::span<const docid_t> docids);
  IndexEndWriter end() &&;

 private:
  friend class IndexDocumentWriter;
  using IndexWriting::IndexWriting;
};

/// The stage of documents, in docID order.
class IndexDocumentWriter : IndexWriting {
 public:
  /// All packs except the last must contain a multiple of texts_per_block documents.
  void add(const DocumentPack& pack);
  IndexDocnoWriter end(std::span<const std::uint32_t> lengths) &&;

 private:
  friend class IndexImpactWriter;
  using IndexWriting::IndexWriting;
};

/// The stage of quantized impacts of lists with more than max_short_list postings, in list order. An index without them
/// adds none.
class IndexImpactWriter : IndexWriting {
 public:
  /// File offsets of the sections with the lists' words and rows, which are readable now.
  struct ListSections {
    std::uint64_t postings = 0, block_last = 0, block_offset = 0;
  };
  ListSections list_sections() const;
  /// Begins the next list; its impacts have `width` bits. Requires `with_impacts`.
  void begin_list(unsigned width);
  /// Adds the next blocks of the current list, packed by put_impacts().
  void add_impacts(WordView words);
  IndexDocumentWriter end() &&;

 private:
  friend class IndexListWriter;
  using IndexWriting::IndexWriting;
};

/// The first stage: lists in term order. All stages throw IoError.
class IndexListWriter : IndexWriting {
 public:
  /// `with_impacts`: the lists' quantized impacts will follow.
  IndexListWriter(File& file, const std::string& tmp_folder, bool with_impacts);
  void add_list(std::string_view term, const EncodedList& list);
  /// Adds a long list: its words and rows are in `parts`, and empty in `list`.
  void add_list(std::string_view term, const EncodedList& list, const SpooledListParts& parts);
  /// Adds the next words and rows of a list that comes in parts: each `block_offset` counts from the part's first word.
  /// Throws InvalidArgument if the list becomes too long for block rows.
  void add_part(const EncodedList& part);
  /// Ends the list whose parts were added; words and rows in `list` are empty.
  void end_parts(std::string_view term, const EncodedList& list);
  IndexImpactWriter end() &&;

 private:
  void add_rows(const EncodedList& list);
  /// Adds a list's lexicon entry, with its number of words and block rows.
  void add_head(std::string_view term, const EncodedList& list, std::uint64_t words, std::uint64_t rows);
};

}  // namespace quern
