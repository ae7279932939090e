#include "quern/index/shards/cut_index.hpp"

#include <tbb/parallel_for.h>

#include <atomic>

#include "quern/corpus/forward_postings.hpp"
#include "quern/formats/index_writer.hpp"
#include "quern/formats/joined_lexicon.hpp"
#include "quern/formats/manifest_settings.hpp"
#include "quern/formats/posting_reader.hpp"
#include "quern/index/index_assembly.hpp"
#include "quern/index/shards/joined_lists.hpp"
#include "quern/index/shards/merge_indexes.hpp"
#include "quern/io/external_sort.hpp"
#include "quern/order/document_terms.hpp"
#include "quern/order/order.hpp"

namespace quern {
namespace {

/// Number of a list's postings below a docID.
std::uint64_t postings_below(BlockReader& reader, std::uint64_t block_size, docid_t docid) {
  const PostingList& list = reader.list();
  const std::size_t block = list.block_last.empty() ? 0 : search_rows(list.block_last, 0, docid);
  if (block == reader.num_blocks()) return list.df;
  reader.load(block);
  const auto docids = reader.docids();
  return block * block_size +
         static_cast<std::uint64_t>(std::lower_bound(docids.begin(), docids.end(), docid) - docids.begin());
}

/// The lists of a range of documents, with their terms' counts over all documents.
class RangeLexicon {
 public:
  RangeLexicon(const IndexReader& index, const DocidRange& range) : index_(index), range_(range), cursor_(index) {}

  bool next(std::string& term, std::vector<PostingRange>& ranges) {
    while (cursor_.next()) {
      const PostingList& list = cursor_.list();
      BlockReader reader(index_, list);
      const std::uint64_t first = postings_below(reader, index_.block_size(), range_.first);
      const std::uint64_t end = postings_below(reader, index_.block_size(), range_.end);
      if (first == end) continue;
      term = cursor_.term();
      ranges.push_back({&index_, list, first, end - first, 0, range_.first});
      return true;
    }
    return false;
  }

 private:
  const IndexReader& index_;
  DocidRange range_;
  LexiconCursor cursor_;
};

/// Counts of an index's terms over all documents.
CollectionContext::Counts counts_in(const IndexReader& index) {
  auto cursor = std::make_shared<LexiconCursor>(index);
  return [&index, cursor](std::string_view term) -> TermCounts {
    do {
      if (!cursor->next()) throw CorruptFile(index.name() + ": the lexicon ends too early");
    } while (cursor->term() != term);
    return {cursor->list().df, cursor->list().cf};
  };
}

CollectionManifest settings_of(const IndexManifest& from) {
  CollectionManifest manifest;
  copy_parse_settings(from, manifest);
  manifest.impacts = from.impacts;
  manifest.documents = from.documents;
  manifest.empty_documents = from.empty_documents;
  return manifest;
}

std::uint64_t documents_hash(const IndexReader& index, const DocidRange& range, Progress& progress) {
  DocumentsHash hash;
  progress.start("hash documents", range.size(), "documents");
  index.for_each_text(range.first, range.end, [&](docid_t docid, std::string_view url, std::string_view title) {
    hash.add(index.docno(docid), url, title, index.length(docid));
    progress.add(1);
  });
  progress.finish();
  return hash.value();
}

std::span<const float> in_range(std::span<const float> scores, const DocidRange& range) {
  return scores.empty() ? scores : scores.subspan(range.first, range.size());
}

/// More ranges would need memory without better cuts.
constexpr std::uint64_t max_ranges = std::uint64_t{1} << 20;
/// Lists with at least this many blocks are long: the ends of their blocks are independent of other lists'.
constexpr std::size_t blocks_of_long_list = 16;
/// Lexicon blocks between releases of the file's pages.
constexpr std::uint64_t blocks_per_release = 1024;

/// Adds up postings by ranges of docIDs. Thread-safe.
class RangeSums {
 public:
  explicit RangeSums(docid_t documents) {
    while ((std::uint64_t{documents} >> shift_) > max_ranges) ++shift_;
    const std::uint64_t ranges = (std::uint64_t{documents} + (std::uint64_t{1} << shift_) - 1) >> shift_;
    sums_ = std::vector<std::atomic<std::uint64_t>>(ranges);
  }
  void add(docid_t docid, std::uint64_t postings) {
    sums_[docid >> shift_].fetch_add(postings, std::memory_order_relaxed);
  }
  RangeCounts counts() const { return {{sums_.begin(), sums_.end()}, docid_t{1} << shift_}; }

 private:
  unsigned shift_ = 0;
  std::vector<std::atomic<std::uint64_t>> sums_;
};

void add_decoded(BlockReader& reader, RangeSums& sums) {
  for (std::size_t block = 0; block < reader.num_blocks(); ++block) {
    reader.load(block);
    for (const docid_t docid : reader.docids()) sums.add(docid, 1);
  }
}

void add_by_rows(const IndexReader& index, const BlockReader& reader, RangeSums& sums) {
  const PostingList& list = reader.list();
  docid_t begin = 0;
  for (std::size_t block = 0; block < list.block_last.size(); ++block) {
    const docid_t last = list.block_last[block];
    if (last < begin || last >= index.num_documents())
      reader.fail(block, "its row's docID is out of range, or not greater than the previous one");
    const std::uint64_t before = std::uint64_t{block} * index.block_size();
    sums.add(begin + (last - begin) / 2, std::min<std::uint64_t>(index.block_size(), list.df - before));
    begin = last + 1;
  }
}

}  // namespace

void write_statistics_of_index(const IndexReader& index, const Resources& resources, File& out) {
  return run_stage(resources, [&] {
    StatisticsManifest manifest;
    manifest.collection = settings_of(index.manifest());
    StatisticsWriter writer(out, resources.tmp_folder);
    for (LexiconCursor cursor(index); cursor.next();)
      writer.add_term(cursor.term(), {cursor.list().df, cursor.list().cf});
    writer.begin_docnos();
    ExternalSort docnos(resources.tmp_folder, resources.memory_bytes / 2);
    for (docid_t docid = 0; docid < index.num_documents(); ++docid) docnos.add(docno_key(index.docno(docid)), {});
    manifest.documents_hash = documents_hash(index, {0, index.num_documents()}, *resources.progress);
    DocnoCounts keys(writer);
    docnos.merge([&](std::string_view key, ByteView) { keys.add(key, 1); });
    keys.end();
    const CollectionSplit split{index.container().content_hash(), index.num_documents()};
    writer.finish(std::move(manifest), std::span(&split, 1));
  });
}

BuildReport cut_index(const IndexReader& index, const ShardChoice& choice, const StatisticsReader* statistics,
                      const Resources& resources, File& out) {
  return run_stage(resources, [&] {
    const IndexManifest& from = index.manifest();
    if (from.shard)
      throw InvalidArgument(index.name() + ": is already a shard; merge all shards with quern merge first");
    const std::vector<docid_t> firsts = cut_into_shards(count_postings(index), index.num_documents(), choice.count);
    const DocidRange range{firsts[choice.number - 1],
                           choice.number < choice.count ? firsts[choice.number] : index.num_documents()};
    const std::string source = hash_text(index.container().content_hash());
    RangeLexicon lexicon(index, range);
    CollectionContext whole;
    whole.manifest = {choice.number,
                      choice.count,
                      source,
                      statistics == nullptr ? source : hash_text(statistics->container().content_hash()),
                      {}};
    whole.docids = range;
    whole.statistics = from.statistics;
    if (from.quantize_bits > 0) whole.quantize_top = from.quantize_top;
    whole.counts = [&] { return counts_in(index); };
    const BuildOptions options = options_of_index(from);
    const IndexTables tables{range.size(),
                             unsigned{!index.pagerank().empty()} + unsigned{!index.global_scores().empty()}};
    IndexAssembly assembly({tables, options, resources, out, index.name(), &whole});
    const JoinedLists lists{
        [&](std::string& term, std::vector<PostingRange>& ranges) { return lexicon.next(term, ranges); },
        [&] { index.container().release(); }};
    const std::span<const std::uint32_t> lengths = index.lengths().subspan(range.first, range.size());
    const double share = static_cast<double>(range.size()) / static_cast<double>(from.documents);
    const auto postings = static_cast<std::uint64_t>(static_cast<double>(from.postings) * share);
    write_joined_lists(assembly, {lengths.begin(), lengths.end()}, from.statistics, postings, lists);
    IndexManifest manifest = settings_of_index(from);
    const std::uint64_t hash = documents_hash(index, range, *resources.progress);
    manifest.collection_hash = hash_text(hash);
    manifest.docid_base = range.first;
    manifest.shard = whole.manifest;
    // The part of the index's hash that belongs to other shards.
    const std::uint64_t others = documents_hash(index, {0, range.first}, *resources.progress) +
                                 documents_hash(index, {range.end, index.num_documents()}, *resources.progress);
    manifest.shard->input_hash = hash_text(hash_of_text(from.collection_hash).value_or(0) - hash - others);
    assembly.write_documents([&](docid_t first, docid_t end, const IndexAssembly::DocumentVisit& visit) {
      visit_documents(index, first + range.first, end + range.first, visit);
    });
    return assembly.finish(std::move(manifest), in_range(index.pagerank(), range),
                           in_range(index.global_scores(), range));
  });
}

std::vector<docid_t> cut_into_shards(docid_t documents, std::size_t count,
                                     const std::function<std::uint64_t(docid_t)>& postings) {
  std::uint64_t all = documents;
  for (docid_t docid = 0; docid < documents; ++docid) all += postings(docid);
  std::vector<docid_t> firsts = {0};
  std::uint64_t before = 0;  // postings before the current document
  for (docid_t docid = 0; docid < documents && firsts.size() < count; ++docid) {
    // The next shard begins at its share of all postings; the product needs 128 bits.
    while (firsts.size() < count &&
           static_cast<unsigned __int128>(before) * count >= static_cast<unsigned __int128>(all) * firsts.size())
      firsts.push_back(docid);
    before += postings(docid) + 1;
  }
  firsts.resize(count, documents);
  if (documents < count) return firsts;
  // A document of many postings must not leave neighbouring shards empty.
  for (std::size_t i = 1; i < count; ++i) firsts[i] = std::max(firsts[i], firsts[i - 1] + 1);
  for (std::size_t i = count; i-- > 1;) firsts[i] = std::min(firsts[i], static_cast<docid_t>(documents - (count - i)));
  return firsts;
}

std::vector<docid_t> cut_into_shards(std::span<const std::uint32_t> postings, std::span<const docid_t> documents,
                                     std::size_t count) {
  return cut_into_shards(static_cast<docid_t>(documents.size()), count,
                         [&](docid_t docid) { return std::uint64_t{postings[documents[docid]]}; });
}

std::vector<docid_t> cut_into_shards(const RangeCounts& counts, docid_t documents, std::size_t count) {
  std::vector<docid_t> firsts = cut_into_shards(static_cast<docid_t>(counts.postings.size()), count,
                                                [&](docid_t range) { return counts.postings[range]; });
  for (docid_t& first : firsts) first = std::min(documents, first * counts.documents);
  return firsts;
}

std::vector<std::uint32_t> count_postings(const CollectionReader& collection, const Resources& resources) {
  const std::uint64_t bytes = collection.num_documents() * sizeof(std::uint32_t);
  check_order_memory("counting the postings of documents", bytes, resources);
  std::vector<std::uint32_t> counts(collection.num_documents());
  resources.progress->start("count postings", collection.num_documents(), "documents");
  for_each_chunk<ForwardPostings>(collection, posting_reading_bytes(collection), resources.memory_bytes - bytes,
                                  resources, [&](ForwardPostings& forward, std::size_t chunk) {
                                    forward.for_each_document(
                                        collection, chunk, [&](docid_t document, std::span<const Posting> postings) {
                                          counts[document] = static_cast<std::uint32_t>(postings.size());
                                        });
                                  });
  ForwardPostings forward;
  for (const SplitDocument& split : collection.split_documents())
    forward.read_split(collection, split, split.document, [&](std::span<const Posting> postings) {
      counts[split.document] += static_cast<std::uint32_t>(postings.size());
    });
  resources.progress->finish();
  return counts;
}

RangeCounts count_postings(const IndexReader& index) {
  RangeSums sums(index.num_documents());
  tbb::parallel_for(std::uint64_t{0}, index.num_lexicon_blocks(), [&](std::uint64_t block) {
    index.for_each_list(block, [&](std::string_view, const PostingList& list) {
      BlockReader reader(index, list);
      if (reader.num_blocks() < blocks_of_long_list)
        add_decoded(reader, sums);
      else
        add_by_rows(index, reader, sums);
    });
    if (block % blocks_per_release == blocks_per_release - 1) index.container().release();
  });
  return sums.counts();
}

ShardSource::ShardSource(const ShardChoice& choice, const OrderReader& order, StatisticsReader statistics,
                         std::optional<Scales> scales)
    : statistics_(std::move(statistics)), scales_(std::move(scales)) {
  const OrderManifest& manifest = order.manifest();
  if (manifest.shards.size() != choice.count)
    throw InvalidArgument("{}: is cut into {} shards, not {}; create one with: {} {}", order.name(),
                          manifest.shards.size(), choice.count, option_name<"order shards">, choice.count);
  whole_.docids = manifest.shard(choice.number - 1);
  whole_.manifest = {choice.number,
                     choice.count,
                     hash_text(order.container().content_hash()),
                     hash_text(statistics_.container().content_hash()),
                     {}};
  whole_.statistics = statistics_.manifest().statistics();
  if (scales_) whole_.quantize_top = scales_->top;
  whole_.counts = [this] { return counts(); };
}

void ShardSource::check(const CollectionReader& collection, const BuildOptions& options) const {
  statistics_.check_splits(collection.splits(), collection.name());
  if (options.weighting && scales_)
    throw InvalidArgument("the scale of a weighting model follows from the statistics; omit {}", option_name<"scales">);
  if (options.quantize_bits == 0 || options.weighting) return;
  if (!scales_)
    throw InvalidArgument(
        "quantized impacts of a shard need the scale of the whole index: create it with {}, and pass it with {}",
        option_name<"statistics scales">, option_name<"scales">);
  if (scales_->statistics_hash != whole_.manifest.statistics_hash)
    throw InvalidArgument("the scales were computed with different statistics; create them again");
  if (scales_->bm25 != options.bm25)
    throw InvalidArgument("the scales are for k1 {} and b {}; build with these, or create the scales again",
                          scales_->bm25.k1, scales_->bm25.b);
  if (scales_->splits != statistics_.splits())
    throw InvalidArgument("the scales cover {} splits, but the statistics {}; merge the scales of all splits",
                          scales_->splits.size(), statistics_.splits().size());
}

CollectionContext::Counts ShardSource::counts() const {
  struct Place {
    DictionaryScan scan;
    DictionaryEntry entry;
    bool has_entry;
  };
  auto place = std::make_shared<Place>(Place{statistics_.terms(), {}, true});
  return [this, place](std::string_view term) {
    while (place->has_entry && place->entry.term < term) place->has_entry = place->scan.next(place->entry);
    if (!place->has_entry || place->entry.term != term)
      throw InvalidArgument("{}: lacks the term '{}' of the shard", statistics_.name(), term);
    return TermCounts::parse(place->entry.payload, statistics_.name());
  };
}

}  // namespace quern
