#pragma once
#include <algorithm>
#include <array>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "quern/codec/codec.hpp"
#include "quern/core/bm25.hpp"
#include "quern/core/own_errors.hpp"
#include "quern/core/quantized.hpp"
#include "quern/formats/container.hpp"
#include "quern/formats/manifest_settings.hpp"
#include "quern/formats/ranked_impacts.hpp"
#include "quern/formats/term_dictionary.hpp"
#include "quern/io/zstd_frame.hpp"
#include "quern/text/analyzer.hpp"
#include "quern/text/field_value.hpp"

/// The index: lexicon, posting lists, block rows and documents. See index.md.
namespace quern {

/// What an index that is a shard says of the whole: of which, and which part of it. See index.md.
struct ShardManifest {
  std::uint32_t number = 1, count = 1;  ///< the number-th of so many, from 1
  std::string order_hash;               ///< of the order whose docIDs were cut into shards
  std::string statistics_hash;          ///< of the statistics that scores are made with
  std::string input_hash;               ///< of the collections, as their manifests have it

  bool operator==(const ShardManifest&) const = default;
};

/// An index's description of itself: everything that shaped its bytes, and the parameters of its scores.
struct IndexManifest {
  AnalyzerOptions analyzer;
  TextLibraries libraries;  ///< that made the terms; unknown where another program did
  std::string corpus_format;
  std::uint64_t max_document_bytes = 0;
  FieldNames field_names;  ///< of the corpus's JSON objects, where they were named
  Duplicates duplicates = Duplicates::keep;
  PageChoice pages;
  Lengths lengths = Lengths::exact;
  std::string order = "natural";
  std::uint64_t order_seed = 1;
  std::optional<DocumentScoreSettings> scores;  ///< if the index has PageRank or global scores
  std::string codec;
  CodecOptions codec_options;
  Bm25Parameters bm25;
  /// If postings have weights that the corpus gave instead of frequencies: impacts are these weights.
  std::optional<ImpactSettings> impacts;
  unsigned quantize_bits = 0;       ///< of the quantized impacts; 0 if the index has none
  float quantize_top = 0;           ///< the greatest term score: quantized impacts are steps of it
  CollectionStatistics statistics;  ///< for scores: of this index, or of the collection that it is a shard of
  std::uint64_t docid_base = 0;     ///< of this shard's docID 0 in the whole collection
  std::optional<ShardManifest> shard;
  std::uint64_t documents = 0;
  std::uint64_t empty_documents = 0;
  std::uint64_t terms = 0;
  std::uint64_t postings = 0;
  std::uint64_t tokens = 0;
  std::uint64_t blocks = 0;       ///< rows of multi-block lists
  std::uint64_t short_lists = 0;  ///< lists that are stored in the lexicon
  std::uint64_t short_list_bytes = 0;
  std::uint64_t list_bound_bytes = 0;  ///< lists' greatest and k-th best impacts in the lexicon
  CodedBits coded;
  std::string
      collection_hash;  ///< of the documents: DocumentsHash, plus the collections' input hash unless it is a shard

  /// Lists of more than max_short_list postings.
  std::uint64_t long_lists() const { return terms - short_lists; }

  std::string to_json() const;
  static IndexManifest from_json(const std::string& text, const std::string& what);
};

/// Rounds an impact up to 16 bits: the dequantized number is never below the impact.
std::uint16_t quantize_up(float impact);
inline float dequantize_up(std::uint16_t stored) { return static_cast<float>(stored + 1) * 0x1p-16f; }
/// Rounds an impact down to 16 bits, for thresholds: the dequantized number is never above the impact.
std::uint16_t quantize_down(float impact);
inline float dequantize_down(std::uint16_t stored) { return static_cast<float>(stored) * 0x1p-16f; }

/// A posting list as the index stores it: views of the mapped file.
struct PostingList {
  term_t number = 0;
  docid_t whole_df = 0;  ///< df in all shards, if the index is one; else that of the list
  std::uint64_t df = 0;
  std::uint64_t cf = 0;                         ///< sum of the frequencies, or of the weights
  std::uint64_t whole_cf = 0;                   ///< cf in all shards, if the index is one; else that of the list
  ByteView short_list;                          ///< coded postings of a list of at most max_short_list; else empty
  WordView words;                               ///< list header and blocks; empty for short lists
  std::uint64_t first_word = 0;                 ///< of words in the section "postings"
  std::uint64_t first_row = 0;                  ///< of its block rows
  std::span<const docid_t> block_last;          ///< greatest docID of each block; empty for single-block lists
  std::span<const std::uint32_t> block_offset;  ///< in words from the beginning of `words`
  std::span<const std::uint16_t> block_max;     ///< dequantize_up() is an upper bound of the block's impacts
  float max_impact = 0;                         ///< exact; 0 if unknown: short lists compute theirs
  RankedImpacts kth_impact = {};                ///< at stored_ranks, rounded down; 0 if the list is shorter
  WordView impacts;                             ///< quantized, packed as in impact_packing.hpp; empty for short lists
                                                ///< and if the index has none
  std::uint64_t first_impact_word = 0;          ///< of impacts in the section "impacts"
  unsigned impact_width = 0;                    ///< bits of the list's greatest quantized impact

  bool is_short() const { return words.empty(); }
  std::size_t num_blocks(unsigned block_size) const { return (df + block_size - 1) / block_size; }
};

/// A mapped index file. Many threads may read it at once. Throws CorruptFile if parts that it reads contradict each
/// other.
class IndexReader {
 public:
  /// `path` is the index's folder, or the file in it.
  static IndexReader open(const std::string& path);
  /// An index that was just written to a file.
  static IndexReader open(const File& file);
  explicit IndexReader(ContainerReader container);

  const std::string& name() const { return container_.name(); }
  const ContainerReader& container() const { return container_; }
  const IndexManifest& manifest() const { return manifest_; }
  docid_t num_documents() const { return static_cast<docid_t>(manifest_.documents); }
  const Codec& codec() const { return *codec_; }
  unsigned block_size() const { return manifest_.codec_options.block_size; }
  /// Computes quantized impacts: those of the lists, and those of short lists, which are not stored. None if the index
  /// has no quantized impacts.
  std::optional<ImpactQuantizer> quantizer() const {
    if (manifest_.quantize_bits == 0) return std::nullopt;
    return ImpactQuantizer(manifest_.quantize_top, manifest_.quantize_bits);
  }
  /// The term weight in the list's quantized impacts. Of weights that the corpus gave it is their unit: products with
  /// impacts are these weights again.
  float quantized_weight(const PostingList& list) const {
    if (manifest_.impacts) return manifest_.impacts->unit();
    return quern::quantized_weight(list.whole_df, manifest_.statistics, manifest_.bm25);
  }
  /// The impact of a posting, of a document with this constant.
  float impact_of(freq_t freq, float constant) const {
    return manifest_.impacts ? manifest_.impacts->impact_of(freq) : impact(freq, constant);
  }
  /// An upper bound of the list's quantized impacts: their greatest; for short lists the greatest of the index, or what
  /// the sum of their weights leaves for one. There must be a quantizer.
  std::uint32_t quantized_max_impact(const PostingList& list) const {
    const ImpactQuantizer quantize(manifest_.quantize_top, manifest_.quantize_bits);
    if (!list.is_short()) return quantize(quantized_weight(list) * list.max_impact);
    if (!manifest_.impacts) return quantize.levels();
    return static_cast<std::uint32_t>(std::min<std::uint64_t>(quantize.levels(), list.cf - list.df + 1));
  }

  std::optional<PostingList> find(std::string_view term) const;
  /// Calls visit(term, list) for all lists of a block of the lexicon; blocks are 0 to num_lexicon_blocks() - 1.
  template <class Visit>
  void for_each_list(std::uint64_t lexicon_block, Visit&& visit) const {
    with_own_errors([&] {
      DictionaryBlock block = lexicon_.block(lexicon_block);
      ListPlace place = block_start(lexicon_block);
      DictionaryEntry entry;
      while (block.next(entry)) {
        const PostingList list = read_list(entry.payload, place);
        visit(entry.term, list);
      }
    });
  }
  /// The list with this number, which must exist.
  PostingList list(term_t number) const;
  /// Its term.
  std::string term(term_t number) const;
  std::uint64_t num_lexicon_blocks() const { return lexicon_.num_blocks(); }

  std::string_view docno(docid_t docid) const;
  /// The docID of a docno; the lowest if several documents share it.
  std::optional<docid_t> find_docno(std::string_view wanted) const;
  /// Calls visit(docID) for all documents with this docno, in their order.
  void for_each_of_docno(std::string_view wanted, const std::function<void(docid_t)>& visit) const;
  /// The docID at a place, below num_documents(), of all docIDs sorted by docno_hash() of their docnos, then by docID;
  /// the value itself is not checked.
  docid_t docno_lookup(std::uint64_t place) const { return docno_lookup_.number<docid_t>(place); }
  std::uint32_t length(docid_t docid) const { return lengths_[docid]; }
  std::span<const std::uint32_t> lengths() const { return lengths_; }
  /// PageRank of each document as scores use it, in [0, 1]; empty if the index has none.
  std::span<const float> pagerank() const { return pagerank_; }
  /// GS+ of each document: no document from there on scores more in a query with the same alpha, k1 and b. Empty
  /// unless the index is in the order of global scores.
  std::span<const float> global_scores() const { return global_scores_; }

  /// Throws CorruptFile if PageRank or global scores are damaged, if PageRank is not in [0, 1], or if global scores
  /// rise: results would be wrong.
  void check_document_scores() const;

  struct DocumentText {
    std::string url, title;
  };
  /// Decompresses a frame; for results that people read.
  DocumentText text(docid_t docid) const;
  /// Calls visit(docID, URL, title) for the documents [begin, end), in their order; each frame is decompressed once.
  void for_each_text(docid_t begin, docid_t end,
                     const std::function<void(docid_t, std::string_view url, std::string_view title)>& visit) const;

 private:
  /// The first place in `docno_lookup` with this hash or a greater one.
  std::uint64_t first_place_of(std::uint64_t hash) const;
  std::uint64_t docno_hash_at(std::uint64_t place) const;
  /// The place of the next list of a lexicon block.
  struct ListPlace {
    std::uint64_t number = 0, word = 0, row = 0, long_list = 0;
    bool at_block_start = true;
  };
  ListPlace block_start(std::uint64_t lexicon_block) const { return {lexicon_block * terms_per_block, 0, 0, 0, true}; }
  /// The first part of a list's payload, from which the places of later lists follow.
  struct ListHead {
    ListPlace place;
    std::uint64_t df = 0, cf = 0, words = 0, rows = 0;
    TermCounts whole;
  };
  /// Reads it, and moves `place` on to the next list.
  ListHead read_head(ByteReader& reader, ListPlace& place) const;
  /// Reads what is left of the payload.
  PostingList read_list(ByteReader& reader, const ListHead& head) const;
  PostingList read_list(ByteView payload, ListPlace& place) const;
  void open_impacts();
  void find_impacts(PostingList& list, std::uint64_t long_list) const;

  ContainerReader container_;
  IndexManifest manifest_;
  const Codec* codec_;
  TermDictionary lexicon_;
  std::span<const std::uint32_t> postings_;
  std::span<const docid_t> block_last_;
  std::span<const std::uint32_t> block_offset_;
  std::span<const std::uint16_t> block_max_;
  std::span<const std::uint32_t> impacts_;
  std::span<const std::uint64_t> impact_start_;
  std::span<const std::uint8_t> impact_width_;
  std::span<const std::uint32_t> lengths_;
  CheckedSection docnos_, docno_offsets_;
  CheckedSection docno_lookup_;
  CheckedSection texts_, text_offsets_;
  std::span<const float> pagerank_, global_scores_;
};

/// Numbers of documents whose docnos share an offset, and whose texts share a frame.
inline constexpr docid_t docnos_per_block = 16;
inline constexpr docid_t texts_per_block = 64;

/// The hash by which docnos are looked up.
std::uint64_t docno_hash(std::string_view docno);

}  // namespace quern
