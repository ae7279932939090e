#pragma once
#include "quern/codec/codec.hpp"
#include "quern/formats/container.hpp"
#include "quern/formats/manifest_settings.hpp"
#include "quern/formats/term_dictionary.hpp"
#include "quern/text/analyzer.hpp"
#include "quern/text/field_value.hpp"

/// The impacts that a list's payload in the lexicon keeps for thresholds; index.md describes their bytes.
namespace quern {

/// The ranks k for which an index stores a list's k-th best impact f / (K_d + f), for thresholds.
inline constexpr std::array<std::uint32_t, 4> stored_ranks = {1, 10, 100, 1000};

/// A list's impacts at stored_ranks: the greatest one exactly, the others as stored, which rounds down. 0 for
/// ranks beyond the list's end.
using RankedImpacts = std::array<float, stored_ranks.size()>;

/// The k-th best impact of a list as it is stored beside the greatest: never above `impact`, and below it by at most
/// 1 / 128 of the greatest.
float stored_kth_impact(float impact, float greatest);

/// Appends those of a list of `df` postings.
void put_ranked_impacts(Bytes& to, const RankedImpacts& bounds, std::uint64_t df);
/// Reads them. Throws CorruptFile for a greatest impact above 1.
RankedImpacts read_ranked_impacts(ByteReader& from, std::uint64_t df);

// The index: lexicon, posting lists, block rows and documents. See index.md.

/// A shard's place in the whole index. See index.md.
struct ShardManifest {
  std::uint32_t number = 1, count = 1;  ///< number, from 1, and count of shards
  std::string order_hash;               ///< of the order that was cut into shards
  std::string statistics_hash;          ///< of the statistics for scores
  std::string input_hash;               ///< of the collections, from their manifests

  bool operator==(const ShardManifest&) const = default;
};

/// The manifest of an index: all settings that affect its bytes, and the parameters of its scores.
struct IndexManifest {
  AnalyzerOptions analyzer;
  TextLibraries libraries;  ///< libraries that produced the terms; unknown for imports
  std::string corpus_format;
  std::uint64_t max_document_bytes = 0;
  FieldNames field_names;  ///< of the corpus's JSON objects, if the user named them
  Duplicates duplicates = Duplicates::keep;
  PageChoice pages;
  Lengths lengths = Lengths::exact;
  /// Whether the index's folder has these files; kept fields are there if `field_names` has some.
  bool has_forward = false, has_texts = false;
  std::string order = "natural";
  std::uint64_t order_seed = 1;
  std::optional<DocumentScoreSettings> scores;  ///< if the index has PageRank or global scores
  std::string codec;
  CodecOptions codec_options;
  Bm25Parameters bm25;
  /// Set if postings have weights from the corpus instead of frequencies: impacts are these weights.
  std::optional<ImpactSettings> impacts;
  /// Set if these weights were computed from the text by this model: then cf and lengths still count the text.
  std::optional<Weighting> weighting;
  unsigned quantize_bits = 0;       ///< of the quantized impacts; 0 without them
  float quantize_top = 0;           ///< the greatest term score: quantized impacts are steps of it
  CollectionStatistics statistics;  ///< for scores: of this index, or of the whole collection if it is a shard
  std::uint64_t docid_base = 0;     ///< docID of this shard's docID 0 in the whole collection
  std::optional<ShardManifest> shard;
  std::uint64_t documents = 0;
  std::uint64_t empty_documents = 0;
  std::uint64_t terms = 0;
  std::uint64_t postings = 0;
  std::uint64_t tokens = 0;
  std::uint64_t blocks = 0;       ///< rows of multi-block lists
  std::uint64_t short_lists = 0;  ///< lists stored in the lexicon
  std::uint64_t short_list_bytes = 0;
  std::uint64_t list_bound_bytes = 0;  ///< lists' greatest and k-th best impacts in the lexicon
  CodedBits coded;
  std::string
      collection_hash;  ///< of the documents: DocumentsHash, plus the collections' input hash unless it is a shard

  /// Number of lists with more than max_short_list postings.
  std::uint64_t long_lists() const { return terms - short_lists; }

  std::string to_json() const;
  static IndexManifest from_json(const std::string& text, const std::string& what);
};

/// Rounds an impact up to 16 bits, so that the dequantized value is never below it.
std::uint16_t quantize_up(float impact);
inline float dequantize_up(std::uint16_t stored) { return static_cast<float>(stored + 1) * 0x1p-16f; }
/// Rounds an impact down to 16 bits, for thresholds, so that the dequantized value is never above it.
std::uint16_t quantize_down(float impact);
inline float dequantize_down(std::uint16_t stored) { return static_cast<float>(stored) * 0x1p-16f; }

/// A posting list as stored, as views of the mapped file.
struct PostingList {
  term_t number = 0;
  docid_t whole_df = 0;  ///< df over all shards; the list's df if the index isn't a shard
  std::uint64_t df = 0;
  /// Sum of the frequencies, or of given weights; with a weighting model, whole_cf.
  std::uint64_t cf = 0;
  std::uint64_t whole_cf = 0;           ///< cf over all shards; the list's cf if the index isn't a shard
  ByteView short_list;                  ///< encoded postings of a list of at most max_short_list; otherwise empty
  WordView words;                       ///< list header and blocks; empty for short lists
  std::uint64_t first_word = 0;         ///< index of `words` in the section "postings"
  std::uint64_t first_row = 0;          ///< index of its first block row
  std::span<const docid_t> block_last;  ///< greatest docID of each block; empty for single-block lists
  std::span<const std::uint32_t> block_offset;  ///< offsets of blocks in `words`
  std::span<const std::uint16_t> block_max;     ///< dequantize_up() is an upper bound of the block's impacts
  float max_impact = 0;                         ///< exact; 0 for short lists, which compute it
  RankedImpacts kth_impact = {};                ///< at stored_ranks, rounded down; 0 beyond the list's length
  WordView impacts;                             ///< quantized, packed as in bit_packing.hpp; empty for short lists
                                                ///< and if the index has none
  std::uint64_t first_impact_word = 0;          ///< index of `impacts` in the section "impacts"
  unsigned impact_width = 0;                    ///< bits of the list's greatest quantized impact

  bool is_short() const { return words.empty(); }
  std::size_t num_blocks(unsigned block_size) const { return (df + block_size - 1) / block_size; }
};

/// A mapped index file. Thread-safe. Throws CorruptFile if parts that it reads contradict each other.
class IndexReader : public ManifestReader<IndexReader, IndexManifest, FileKind::index> {
 public:
  /// `path` is the index's folder or the file in it.
  static IndexReader open(const std::string& path);
  /// Opens an index just written to a file.
  static IndexReader open(const File& file);
  explicit IndexReader(ContainerReader container);

  docid_t num_documents() const { return static_cast<docid_t>(manifest_.documents); }
  const Codec& codec() const { return *codec_; }
  unsigned block_size() const { return manifest_.codec_options.block_size; }
  /// Computes quantized impacts of lists, including short ones, which store none. nullopt if the index has no quantized
  /// impacts.
  std::optional<ImpactQuantizer> quantizer() const {
    if (manifest_.quantize_bits == 0) return std::nullopt;
    return ImpactQuantizer(manifest_.quantize_top, manifest_.quantize_bits);
  }
  /// The list's term weight in quantized impacts. For given weights it is their unit, so that its product with an
  /// impact is the weight.
  float quantized_weight(const PostingList& list) const {
    if (manifest_.impacts) return manifest_.impacts->unit();
    return quern::quantized_weight(list.whole_df, manifest_.statistics, manifest_.bm25);
  }
  /// The impact of a posting in a document with this constant.
  float impact_of(freq_t freq, float constant) const {
    return manifest_.impacts ? manifest_.impacts->impact_of(freq) : impact(freq, constant);
  }
  /// An upper bound of the list's quantized impacts: their maximum; for short lists the index's maximum, or the most
  /// that the sum of given weights allows for one. Requires a quantizer.
  std::uint32_t quantized_max_impact(const PostingList& list) const {
    const ImpactQuantizer quantize(manifest_.quantize_top, manifest_.quantize_bits);
    if (!list.is_short()) return quantize(quantized_weight(list) * list.max_impact);
    if (!manifest_.impacts || manifest_.weighting) return quantize.levels();
    return static_cast<std::uint32_t>(std::min<std::uint64_t>(quantize.levels(), list.cf - list.df + 1));
  }

  std::optional<PostingList> find(std::string_view term) const;
  /// Calls visit(term, list) for all lists of a lexicon block, 0 to num_lexicon_blocks() - 1.
  template <class Visit>
  void for_each_list(std::uint64_t lexicon_block, Visit&& visit) const {
    DictionaryBlock block = lexicon_.block(lexicon_block);
    ListPlace place = block_start(lexicon_block);
    DictionaryEntry entry;
    while (block.next(entry)) {
      const PostingList list = read_list(entry.payload, place);
      visit(entry.term, list);
    }
  }
  /// The term and the list with this number, which must exist, by one walk through their lexicon block.
  std::pair<std::string, PostingList> entry(term_t number) const;
  PostingList list(term_t number) const;
  std::string term(term_t number) const;
  std::uint64_t num_lexicon_blocks() const { return lexicon_.num_blocks(); }

  std::string_view docno(docid_t docid) const;
  /// The docID of a docno; the lowest if several documents share it.
  std::optional<docid_t> find_docno(std::string_view wanted) const;
  /// Calls visit(docID) for all documents with this docno, in docID order.
  void for_each_of_docno(std::string_view wanted, const std::function<void(docid_t)>& visit) const;
  /// The docID at `place` (below num_documents()) when sorted by docno_hash(), then by docID. The value isn't checked.
  docid_t docno_lookup(std::uint64_t place) const { return docno_lookup_.number<docid_t>(place); }
  std::uint32_t length(docid_t docid) const { return lengths_[docid]; }
  std::span<const std::uint32_t> lengths() const { return lengths_; }
  /// PageRank of each document, scaled to [0, 1] for scores; empty if the index has none.
  std::span<const float> pagerank() const { return pagerank_; }
  /// GS+ of each document: an upper bound of the scores of this and all later documents, for the same alpha, k1 and b.
  /// Empty unless the index is ordered by global scores.
  std::span<const float> global_scores() const { return global_scores_; }

  /// Throws CorruptFile if PageRank or global scores are damaged, PageRank is outside [0, 1], or global scores
  /// increase: results would be wrong.
  void check_document_scores() const;

  struct DocumentText {
    std::string url, title;
  };
  /// Decompresses a frame; meant for displayed results.
  DocumentText text(docid_t docid) const;
  /// Calls visit(docID, URL, title) for the documents [begin, end), in order; decompresses each frame once.
  void for_each_text(docid_t begin, docid_t end,
                     const std::function<void(docid_t, std::string_view url, std::string_view title)>& visit) const;

 private:
  /// The first index in `docno_lookup` with this hash or a greater one.
  std::uint64_t first_place_of(std::uint64_t hash) const;
  std::uint64_t docno_hash_at(std::uint64_t place) const;
  /// Offsets of the next list of a lexicon block.
  struct ListPlace {
    std::uint64_t number = 0, word = 0, row = 0, long_list = 0;
    bool at_block_start = true;
  };
  ListPlace block_start(std::uint64_t lexicon_block) const { return {lexicon_block * terms_per_block, 0, 0, 0, true}; }
  /// The first part of a list's payload, which determines the offsets of later lists.
  struct ListHead {
    ListPlace place;
    std::uint64_t df = 0, cf = 0, words = 0, rows = 0;
    TermCounts whole;
  };
  /// Reads a list's head and advances `place` to the next list.
  ListHead read_head(ByteReader& reader, ListPlace& place) const;
  /// Reads the rest of the payload.
  PostingList read_list(ByteReader& reader, const ListHead& head) const;
  PostingList read_list(ByteView payload, ListPlace& place) const;
  void open_impacts();
  void find_impacts(PostingList& list, std::uint64_t long_list) const;

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

/// Documents per docno offset, and per frame of texts.
inline constexpr docid_t docnos_per_block = 16;
inline constexpr docid_t texts_per_block = 64;

/// Hash for docno look-ups.
std::uint64_t docno_hash(std::string_view docno);

}  // namespace quern
