#include "quern/index/verify_index.hpp"

#include <fmt/format.h>
#include <tbb/enumerable_thread_specific.h>
#include <tbb/parallel_for.h>

#include <atomic>
#include <numeric>

#include "quern/codec/bit_packing.hpp"
#include "quern/codec/short_list.hpp"
#include "quern/formats/container.hpp"
#include "quern/formats/forward_file.hpp"
#include "quern/formats/index_shards.hpp"
#include "quern/index/list_encoder.hpp"
#include "quern/index/list_source.hpp"
#include "quern/index/make_index.hpp"
#include "quern/text/spooled_document.hpp"

namespace quern {
namespace {

class IndexCheck {
 public:
  IndexCheck(const IndexReader& index, const Resources& resources)
      : index_(with_memory(index, resources)),
        resources_(resources),
        quantizer_(index.quantizer()),
        is_given_(index.manifest().impacts.has_value()),
        counts_text_(index.manifest().weighting.has_value()),
        lengths_(index.num_documents()),
        constants_(index.num_documents()) {
    const double average = index.manifest().statistics.average_length();
    for (docid_t docid = 0; docid < index.num_documents(); ++docid)
      constants_[docid] = document_constant(index.length(docid), average, index.manifest().bm25);
  }

  void run() {
    tbb::parallel_for(std::uint64_t{0}, index_.num_lexicon_blocks(), [&](std::uint64_t block) { check_block(block); });
    check_term_order();
    check_counts();
    check_impact_sections();
    check_lengths();
    check_documents();
    index_.check_document_scores();
  }

 private:
  /// Throws InvalidArgument unless the lengths and constants of all documents fit in memory.
  static const IndexReader& with_memory(const IndexReader& index, const Resources& resources) {
    const std::uint64_t needed = std::uint64_t{index.num_documents()} * (sizeof(float) + sizeof(std::uint32_t));
    if (needed > resources.memory_bytes)
      throw InvalidArgument("{}: verifying {} takes {}; set {} to at least that", index.name(),
                            count_text(index.num_documents(), "document"), size_text(needed), option_name<"memory">);
    return index;
  }

  [[noreturn]] void fail(std::string_view section, const std::string& why) const {
    index_.container().fail(section, why);
  }

  /// Calls visit(term, list) for all lists in order.
  template <class Visit>
  void for_each_list(const Visit& visit) const {
    for (std::uint64_t block = 0; block < index_.num_lexicon_blocks(); ++block) {
      index_.for_each_list(block, visit);
      resources_.progress->add(0);  // which measures the pages in memory
    }
  }

  void check_block(std::uint64_t block) {
    std::uint64_t postings = 0;
    index_.for_each_list(block, [&](std::string_view term, const PostingList& list) {
      try {
        check_list(list);
      } catch (const CorruptBlock& error) {
        fail(list.is_short() ? "lexicon" : "postings", fmt::format("{} (the list of '{}')", error.what(), term));
      } catch (const CorruptFile& error) {
        throw CorruptFile("{} (the list of '{}')", error.what(), term);
      }
      postings += list.df;
      tokens_ += list.cf;
      short_lists_ += list.is_short();
      ++lists_;
    });
    postings_ += postings;
    resources_.progress->add(postings);
  }

  /// Blocks of a list between two measurements of the pages in memory.
  static constexpr std::size_t blocks_per_measurement = 1024;

  /// Sums and maxima over a list's blocks.
  struct Totals {
    std::uint64_t cf = 0;
    TopImpacts top;
  };

  void check_list(const PostingList& list) {
    Totals totals;
    if (list.is_short()) {
      docid_t docids[max_short_list];
      freq_t freqs[max_short_list];
      get_short_list(list.short_list, index_.num_documents(), {docids, list.df}, {freqs, list.df});
      // For long lists, the impact width ensures this.
      if (add_postings({docids, list.df}, {freqs, list.df}, totals) >= 1 && is_given_)
        fail("lexicon", "has a weight with more bits than the manifest says");
    } else {
      check_blocks(list, totals);
      if (totals.top.at_ranks()[0] != list.max_impact) fail("lexicon", "its maximum impact differs from the list's");
      const auto impacts = totals.top.at_ranks();
      for (std::size_t i = 1; i < impacts.size(); ++i)
        if (stored_kth_impact(impacts[i], impacts[0]) != list.kth_impact[i])
          fail("lexicon", "its k-th best impact differs from the list's");
    }
    if (!counts_text_ && totals.cf != list.cf) fail("lexicon", "its collection frequency differs from the list's");
    if (quantizer_) check_max_impact(list, totals.top.at_ranks()[0]);
  }

  /// Adds to the totals and returns the greatest impact.
  float add_postings(std::span<const docid_t> docids, std::span<const freq_t> freqs, Totals& totals) {
    float max_impact = 0;
    for (std::size_t i = 0; i < docids.size(); ++i) {
      const float term_score = index_.impact_of(freqs[i], constants_[docids[i]]);
      max_impact = std::max(max_impact, term_score);
      totals.top.add(term_score);
      totals.cf += freqs[i];
      lengths_[docids[i]].fetch_add(freqs[i], std::memory_order_relaxed);
    }
    return max_impact;
  }

  void check_blocks(const PostingList& list, Totals& totals) {
    const CodecOptions& options = index_.manifest().codec_options;
    BlockScan scan(index_.codec(), options);
    scan.start(list.words, list.df);
    ImpactBlock impacts;
    const bool has_row = !list.block_last.empty();
    for (std::size_t block = 0; scan.next(); ++block) {
      const auto wrong = [&](std::string_view section, std::string_view why) {
        fail(section, fmt::format("list {}, block {}: {}", list.number, block, why));
      };
      const auto docids = scan.docids();
      const auto coded_freqs = scan.freqs();
      const auto n = static_cast<unsigned>(docids.size());
      if (has_row && list.block_offset[block] != list.words.size() - scan.words().size())
        wrong("block_offset", "is not the offset of the block");
      docid_t before = scan.docid_before();
      for (unsigned i = 0; i < n; ++i) {
        if (docids[i] >= index_.num_documents() || docids[i] + 1 <= before + 1)
          wrong("postings", "docIDs do not ascend");
        if (coded_freqs[i] == 0) wrong("postings", "has a frequency of 0");
        if (is_given_ && coded_freqs[i] != 1) wrong("postings", "has a frequency in addition to given impacts");
        if (scan.decoder().freq_at(scan.words(), n, i) != coded_freqs[i])
          wrong("postings", "a frequency read individually differs from its block's");
        before = docids[i];
      }
      const auto freqs = is_given_ ? given_weights(list, block, n, impacts) : coded_freqs;
      const float max_impact = add_postings(docids, freqs, totals);
      if (quantizer_ && !has_impacts(list, block, docids, freqs, impacts))
        wrong("impacts", "are not those of the block's frequencies");
      if (block % blocks_per_measurement == 0) resources_.progress->add(0);
      if (!has_row) continue;
      if (list.block_last[block] != before) wrong("block_last", "is not the block's largest docID");
      if (list.block_max[block] != quantize_up(max_impact)) wrong("block_max", "is not the block's maximum impact");
    }
    if (!scan.words().empty()) fail("postings", fmt::format("list {} has words after its last block", list.number));
  }

  /// A block's quantized impacts, their stored form, and given weights.
  struct ImpactBlock {
    std::vector<std::uint32_t> values;
    Words words;
    std::vector<freq_t> weights;
  };

  std::span<const freq_t> given_weights(const PostingList& list, std::size_t block, unsigned n,
                                        ImpactBlock& impacts) const {
    impacts.weights.resize(n + over_write_values);
    decode_impacts(impact_block(list.impacts, list.impact_width, index_.block_size(), block), list.impact_width, n,
                   impacts.weights.data());
    return std::span(impacts.weights).first(n);
  }

  /// Whether a block's impacts equal those of its frequencies bit for bit.
  bool has_impacts(const PostingList& list, std::size_t block, std::span<const docid_t> docids,
                   std::span<const freq_t> freqs, ImpactBlock& impacts) const {
    const float weight = index_.quantized_weight(list);
    impacts.values.clear();
    impacts.words.clear();
    for (std::size_t i = 0; i < docids.size(); ++i)
      impacts.values.push_back((*quantizer_)(weight * index_.impact_of(freqs[i], constants_[docids[i]])));
    const std::uint32_t max_impact = *std::max_element(impacts.values.begin(), impacts.values.end());
    if (impact_width_of(max_impact) > list.impact_width) return false;
    put_impacts(impacts.values, list.impact_width, impacts.words);
    return std::equal(impacts.words.begin(), impacts.words.end(),
                      impact_block(list.impacts, list.impact_width, index_.block_size(), block));
  }

  /// A list's greatest impact determines the width of its quantized impacts; that of all lists determines the step
  /// size.
  void check_max_impact(const PostingList& list, float max_impact) {
    const float term_score = index_.quantized_weight(list) * max_impact;
    if (!list.is_short() && list.impact_width != impact_width_of((*quantizer_)(term_score)))
      fail("impact_width", fmt::format("the width of list {} does not match its maximum impact", list.number));
    float top = top_term_score_;
    while (term_score > top && !top_term_score_.compare_exchange_weak(top, term_score)) continue;
  }

  void check_impact_sections() const {
    if (!quantizer_) return;
    // Another shard may have the greatest.
    const bool is_shard = index_.manifest().shard.has_value();
    if (!is_given_ && (is_shard ? top_term_score_ > quantizer_->top() : top_term_score_ != quantizer_->top()))
      fail("manifest", "its maximum term score differs from that of the lists");
    std::uint64_t end = 0;
    for_each_list([&](std::string_view, const PostingList& list) {
      if (list.is_short()) return;
      if (list.first_impact_word != end)
        fail("impact_start", fmt::format("list {} does not begin at the end of the previous list", list.number));
      end += list.impacts.size();
    });
    if (end * sizeof(std::uint32_t) + over_read_bytes != index_.container().find("impacts").size)
      fail("impacts", "do not end with the last list");
  }

  void check_term_order() const {
    std::string last;
    for_each_list([&](std::string_view term, const PostingList& list) {
      if (list.number > 0 && term <= last) fail("lexicon", "has terms out of order");
      last = term;
    });
  }

  void check_counts() const {
    const IndexManifest& manifest = index_.manifest();
    if (lists_ != manifest.terms || short_lists_ != manifest.short_lists)
      fail("lexicon", "its number of lists differs from the manifest's");
    const std::uint64_t tokens =
        counts_text_ ? std::accumulate(index_.lengths().begin(), index_.lengths().end(), std::uint64_t{0})
                     : tokens_.load();
    if (postings_ != manifest.postings || tokens != manifest.tokens)
      fail("postings", "their counts differ from the manifest's");
  }

  void check_lengths() const {
    const bool exact = index_.manifest().lengths == Lengths::exact && !counts_text_;
    std::uint64_t empty = 0;
    for (docid_t docid = 0; docid < index_.num_documents(); ++docid) {
      if (exact && lengths_[docid] != index_.length(docid))
        fail("lengths", fmt::format("the length of docID {} is not the sum of its frequencies", docid));
      empty += index_.length(docid) == 0;
    }
    if (empty != index_.manifest().empty_documents)
      fail("lengths", "their number of empty documents differs from the manifest's");
  }

  void check_documents() const {
    const docid_t documents = index_.num_documents();
    const auto key_at = [&](docid_t place) {
      const docid_t docid = index_.docno_lookup(place);
      if (docid >= documents) fail("docno_lookup", "has an unknown docID");
      return std::pair(docno_hash(index_.docno(docid)), docid);
    };
    tbb::parallel_for(docid_t{0}, (documents + texts_per_block - 1) / texts_per_block, [&](docid_t group) {
      const docid_t from = group * texts_per_block,
                    to =
                        static_cast<docid_t>(std::min<std::uint64_t>(documents, std::uint64_t{from} + texts_per_block));
      // Ascending keys are distinct, so each docID occurs once.
      auto before = key_at(from > 0 ? from - 1 : 0);
      for (docid_t place = std::max(from, docid_t{1}); place < to; ++place) {
        const auto key = key_at(place);
        if (key <= before) fail("docno_lookup", fmt::format("row {} is not sorted by docno hash and docID", place));
        before = key;
      }
      index_.text(to - 1);  // decompresses the whole frame
      resources_.progress->add(0);
    });
  }

  const IndexReader& index_;
  const Resources& resources_;
  std::optional<ImpactQuantizer> quantizer_;
  bool is_given_;     ///< whether lists have weights instead of frequencies
  bool counts_text_;  ///< whether cf and lengths count the text, from which a model computed the weights
  std::vector<std::atomic<std::uint32_t>> lengths_;
  std::vector<float> constants_;
  std::atomic<std::uint64_t> postings_ = 0, tokens_ = 0, lists_ = 0, short_lists_ = 0;
  std::atomic<float> top_term_score_ = 0;
};

void verify_texts_beside(const IndexReader& index, const Resources& resources) {
  const TextsReader texts = TextsReader::open_beside(index);
  texts.container().verify(resources);
  resources.progress->start("check texts", texts.manifest().text_bytes, "bytes");
  verify_texts(texts, index, resources);
}

/// A thread's buffers for counting tokens.
struct TokenCounter {
  TokenCounter(const AnalyzerOptions& options, const std::string& tmp_folder) : analyzer(options), text(tmp_folder) {}

  std::uint64_t count(const TextsReader& texts, docid_t docid) {
    text.clear();
    texts.read(docid, buffers, [&](std::string_view piece) { text += piece; });
    std::uint64_t tokens = 0;
    analyzer.analyze(
        *text.pieces(), [&](std::string_view) { ++tokens; }, [] {});
    return tokens;
  }

  Analyzer analyzer;
  TextBuffers buffers;
  SpooledText text;
};

/// Whether this program tokenizes texts like the one that built the index.
bool cuts_as(const IndexManifest& manifest) {
  const TextLibraries ours = text_libraries(manifest.analyzer), &theirs = manifest.libraries;
  return manifest.lengths == Lengths::exact && ours.analyzer == theirs.analyzer && ours.unicode == theirs.unicode &&
         ours.utf8proc == theirs.utf8proc;
}

void check_tokens(const TextsReader& texts, const IndexReader& index, const Resources& resources) {
  constexpr docid_t documents_per_step = 64;
  tbb::enumerable_thread_specific<TokenCounter> counters(index.manifest().analyzer, resources.tmp_folder);
  const docid_t documents = index.num_documents();
  tbb::parallel_for(docid_t{0}, (documents + documents_per_step - 1) / documents_per_step, [&](docid_t step) {
    TokenCounter& counter = counters.local();
    const std::uint64_t from = std::uint64_t{step} * documents_per_step;
    const std::uint64_t to = std::min<std::uint64_t>(from + documents_per_step, documents);
    for (std::uint64_t each = from; each < to; ++each) {
      const auto docid = static_cast<docid_t>(each);
      if (counter.count(texts, docid) != index.length(docid))
        texts.container().fail(
            "texts",
            fmt::format("the number of tokens in the text of docID {} differs from its length in the index", docid));
    }
  });
}

}  // namespace

void verify_index(const IndexReader& index, const Resources& resources) {
  return run_stage(resources, [&] { IndexCheck(index, resources).run(); });
}

void verify_forward(const std::string& path, const IndexReader& index, const Resources& resources) {
  const ForwardReader forward(ContainerReader::open(path, FileKind::forward));
  forward.check_belongs_to(index);
  forward.container().verify(resources);
  resources.progress->start("check forward file", forward.num_documents(), "documents");
  forward.verify_contents(index, resources);
}

void verify_fields(const FieldsReader& fields, const Resources& resources) {
  fields.container().verify(resources);
  resources.progress->start("check fields", fields.num_documents(), "documents");
  fields.verify_contents(resources);
}

void verify_statistics(const StatisticsReader& statistics, const Resources& resources) {
  statistics.container().verify(resources);
  statistics.verify_contents();
}

void verify_index_files(const IndexReader& index, const Resources& resources) {
  index.container().verify(resources);
  resources.progress->start("check contents", index.manifest().postings, "postings");
  verify_index(index, resources);
  const IndexManifest& manifest = index.manifest();
  const auto is_there = [&](bool is_named, const char* member) {
    if (has_member(index.name(), member)) return true;
    if (is_named)
      throw CorruptFile("{}: its file {} is missing, which the manifest names; restore it, or build the index again",
                        index.name(), member);
    return false;
  };
  if (is_there(manifest.has_forward, forward_member))
    verify_forward(member_path(index.name(), forward_member), index, resources);
  if (is_there(manifest.has_texts, texts_member)) verify_texts_beside(index, resources);
  if (is_there(manifest.shard && !index.pagerank().empty(), statistics_member))
    verify_statistics(StatisticsBeside::open(index).statistics(), resources);
  if (is_there(!manifest.field_names.kept.empty(), fields_member))
    verify_fields(FieldsReader::open_beside(index), resources);
}

void verify_texts(const TextsReader& texts, const IndexReader& index, const Resources& resources) {
  return run_stage(resources, [&] {
    texts.check_belongs_to(index);
    texts.verify_contents(resources);
    if (cuts_as(index.manifest())) check_tokens(texts, index, resources);
  });
}

}  // namespace quern
