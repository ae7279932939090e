#pragma once
#include <array>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "quern/formats/document_pack.hpp"
#include "quern/formats/index_file.hpp"
#include "quern/io/file.hpp"
#include "quern/io/spool.hpp"

/// Writes an index in stages. Each stage is a type of its own, and ending it gives the next one, so that sections can
/// only come in the order of index.md: lists, quantized impacts, documents, docno look-up, scores and manifest.
namespace quern {

/// A list as the encoder hands it to the writer.
struct EncodedList {
  std::uint64_t df = 0, cf = 0;
  std::optional<TermCounts> whole;      ///< of a shard: df and cf in all of them
  ByteView short_list;                  ///< coded postings of a list of at most max_short_list; else empty
  WordView words;                       ///< list header and blocks; empty for short lists
  std::span<const docid_t> block_last;  ///< empty for single-block lists, like the next two
  std::span<const std::uint32_t> block_offset;
  std::span<const std::uint16_t> block_max;
  float max_impact = 0;
  RankedImpacts kth_impact = {};  ///< at stored_ranks
};

/// Throws InvalidArgument: block rows can't tell where the blocks of so long a list are.
[[noreturn]] void fail_for_long_list();

/// Words and rows of a list that is too long for memory, in work files: what EncodedList has of shorter ones.
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

/// What the stages hand on: the file, the spools of sections to come, and counts.
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
  /// Writes the documents' scores by docID, if there are any, and the manifest, whose counts of lists and of their
  /// bytes come from the writer; ends the file.
  void finish(IndexManifest manifest, std::span<const float> pagerank, std::span<const float> global_scores) &&;

 private:
  friend class IndexDocnoWriter;
  using IndexWriting::IndexWriting;
};

/// The look-up of documents by docno.
class IndexDocnoWriter : IndexWriting {
 public:
  /// docIDs sorted by (hash of the docno, docID), in pieces.
  void add_docids(std::span<const docid_t> docids);
  IndexEndWriter end() &&;

 private:
  friend class IndexDocumentWriter;
  using IndexWriting::IndexWriting;
};

/// The documents, in docID order.
class IndexDocumentWriter : IndexWriting {
 public:
  /// All packs but the last hold a multiple of texts_per_block documents.
  void add(const DocumentPack& pack);
  IndexDocnoWriter end(std::span<const std::uint32_t> lengths) &&;

 private:
  friend class IndexImpactWriter;
  using IndexWriting::IndexWriting;
};

/// The quantized impacts of the lists of more than max_short_list postings, in the order of the lists. An index without
/// them goes through this stage without adding any.
class IndexImpactWriter : IndexWriting {
 public:
  /// Where the sections with the lists' words and rows begin in the file, from which they can be read now.
  struct ListSections {
    std::uint64_t postings = 0, block_last = 0, block_offset = 0;
  };
  ListSections list_sections() const;
  /// The next list, whose impacts have `width` bits. The index must have been begun `with_impacts`.
  void begin_list(unsigned width);
  /// The next blocks of the list at hand, packed by put_impacts().
  void add_impacts(WordView words);
  IndexDocumentWriter end() &&;

 private:
  friend class IndexListWriter;
  using IndexWriting::IndexWriting;
};

/// The first stage: lists in the order of their terms. Throws IoError, as all stages do.
class IndexListWriter : IndexWriting {
 public:
  /// `with_impacts`: the lists' quantized impacts will follow.
  IndexListWriter(File& file, const std::string& tmp_folder, bool with_impacts);
  void add_list(std::string_view term, const EncodedList& list);
  /// The same for a long list: its words and rows are in `parts`, those in `list` are empty.
  void add_list(std::string_view term, const EncodedList& list, const SpooledListParts& parts);
  /// The next words and rows of a list that comes in parts: each `block_offset` counts from the part's first word.
  /// Throws InvalidArgument if the list becomes too long for block rows.
  void add_part(const EncodedList& part);
  /// Ends the list whose parts were added; words and rows in `list` are empty.
  void end_parts(std::string_view term, const EncodedList& list);
  IndexImpactWriter end() &&;

 private:
  void add_rows(const EncodedList& list);
  /// Adds to the lexicon what it has of a list with so many words and block rows.
  void add_head(std::string_view term, const EncodedList& list, std::uint64_t words, std::uint64_t rows);
};

}  // namespace quern
