#include "quern/index/build_index.hpp"

#include <fmt/format.h>
#include <tbb/enumerable_thread_specific.h>
#include <tbb/parallel_pipeline.h>

#include <algorithm>

#include "quern/core/bytes.hpp"
#include "quern/core/checksum.hpp"
#include "quern/core/external_sort.hpp"
#include "quern/core/size_text.hpp"
#include "quern/core/sorted_spool.hpp"
#include "quern/index/forward_postings.hpp"
#include "quern/index/list_encoder.hpp"

namespace quern {
namespace {

struct DocnoHash {
  std::uint64_t hash;
  std::uint64_t docid;
  bool operator<(const DocnoHash& other) const { return std::tie(hash, docid) < std::tie(other.hash, other.docid); }
};

/// Names the docIDs' big-endian bytes, which sort as the docIDs do.
std::string_view docid_key(docid_t docid, char (&bytes)[4]) {
  store_le(bytes, __builtin_bswap32(docid));
  return {bytes, sizeof bytes};
}

class IndexBuilder {
 public:
  IndexBuilder(const CollectionReader& collection, const DocumentOrder& order, const OrderOptions& order_options,
               const BuildOptions& options, const Resources& resources, File& out)
      : collection_(collection),
        order_(order),
        order_options_(order_options),
        options_(options),
        resources_(resources),
        out_(out),
        writer_(out, resources.tmp_folder) {}

  BuildReport run() {
    check_memory();
    check_free_space(resources_.tmp_folder, collection_.manifest().postings * 2, "building the index");
    prepare_tables();
    write_lists();
    write_documents();
    writer_.add_scores(order_.pagerank, order_.global_scores);
    BuildReport report;
    writer_.finish(manifest());
    const IndexReader written(
        ContainerReader(std::make_shared<const File>(out_.duplicate()), FileKind::index, index_version));
    report.manifest = written.manifest();
    report.index_bytes = out_.size();
    report.spilled_runs = spilled_runs_;
    return report;
  }

 private:
  std::uint64_t table_bytes() const { return std::uint64_t{collection_.num_documents()} * 16; }

  void check_memory() const {
    const std::uint64_t needed = table_bytes() + (16 << 20);
    if (needed > resources_.memory_bytes) {
      throw InvalidArgument(fmt::format("an index of {} documents needs {} of memory, but --memory allows {}; raise it",
                                        collection_.num_documents(), size_text(needed),
                                        size_text(resources_.memory_bytes)));
    }
  }

  /// What is left for sorting, merging and encoding.
  std::uint64_t working_bytes() const { return resources_.memory_bytes - table_bytes(); }

  void prepare_tables() {
    const docid_t documents = collection_.num_documents();
    if (order_.documents.size() != documents) throw InvalidArgument("the order is of another number of documents");
    const std::vector<std::uint32_t> lengths = collection_.lengths();
    docids_.resize(documents);
    lengths_.resize(documents);
    constants_.resize(documents);
    statistics_ = {documents, collection_.manifest().tokens};
    const double average = statistics_.average_length();
    for (docid_t docid = 0; docid < documents; ++docid) {
      const docid_t document = order_.documents[docid];
      docids_[document] = docid;
      lengths_[docid] = lengths[document];
      constants_[docid] = document_constant(lengths[document], average, options_.bm25);
    }
  }

  void write_lists() {
    Inverter inverter(resources_.tmp_folder, working_bytes() / 2, resources_.threads);
    invert(inverter);
    const auto lists = inverter.finish();
    spilled_runs_ = inverter.num_runs();
    encode(*lists);
    writer_.end_lists();
  }

  void invert(Inverter& inverter) {
    resources_.progress->start("invert", collection_.manifest().postings, "postings");
    tbb::enumerable_thread_specific<ForwardPostings> readers;
    std::size_t next_chunk = 0;
    const auto next = [&](tbb::flow_control& control) -> std::size_t {
      if (next_chunk == collection_.num_chunks()) control.stop();
      return next_chunk++;
    };
    const auto read = [&](std::size_t chunk) { return readers.local().read(collection_, chunk, docids_); };
    const auto add = [&](const std::vector<Posting>& postings) {
      inverter.add(postings);
      resources_.progress->add(postings.size());
    };
    tbb::parallel_pipeline(jobs_in_flight(),
                           tbb::make_filter<void, std::size_t>(tbb::filter_mode::serial_in_order, next) &
                               tbb::make_filter<std::size_t, std::vector<Posting>>(tbb::filter_mode::parallel, read) &
                               tbb::make_filter<std::vector<Posting>, void>(tbb::filter_mode::serial_in_order, add));
    resources_.progress->finish();
  }

  std::size_t jobs_in_flight() const {
    constexpr std::uint64_t job_bytes = 4 << 20;
    return std::clamp<std::uint64_t>(working_bytes() / 4 / job_bytes, 1, resources_.threads * 2);
  }

  void encode(ListSource& lists) {
    resources_.progress->start("lists", collection_.manifest().postings, "postings");
    const EncodingContext context{&codec_named(options_.codec), options_.codec_options, collection_.num_documents(),
                                  constants_};
    tbb::enumerable_thread_specific<ListEncoding> encodings(context);
    DictionaryScan lexicon = collection_.lexicon();
    DictionaryEntry entry;
    std::uint64_t terms_read = 0;
    const auto next = [&](tbb::flow_control& control) -> std::shared_ptr<ListBatch> {
      auto batch = std::make_shared<ListBatch>();
      if (!lists.next(*batch)) control.stop();
      return batch;
    };
    const auto encode_batch = [&](const std::shared_ptr<ListBatch>& batch) {
      auto encoded = std::make_shared<EncodedBatch>();
      encodings.local().encode(*batch, *encoded);
      return encoded;
    };
    const auto write = [&](const std::shared_ptr<EncodedBatch>& batch) {
      for (const EncodedBatch::Item& item : batch->items) {
        for (; terms_read <= item.term; ++terms_read)
          if (!lexicon.next(entry)) throw CorruptFile(collection_.name() + ": the lexicon ends too early");
        writer_.add_list(entry.term, batch->list(item));
      }
      bits_.docid_bits += batch->bits.docid_bits;
      bits_.freq_bits += batch->bits.freq_bits;
      postings_ += batch->postings;
      resources_.progress->add(batch->postings);
    };
    using BatchPointer = std::shared_ptr<ListBatch>;
    using EncodedPointer = std::shared_ptr<EncodedBatch>;
    tbb::parallel_pipeline(
        jobs_in_flight(), tbb::make_filter<void, BatchPointer>(tbb::filter_mode::serial_in_order, next) &
                              tbb::make_filter<BatchPointer, EncodedPointer>(tbb::filter_mode::parallel, encode_batch) &
                              tbb::make_filter<EncodedPointer, void>(tbb::filter_mode::serial_in_order, write));
    resources_.progress->finish();
  }

  void write_documents() {
    resources_.progress->start("documents", collection_.num_documents(), "documents");
    ExternalSort rows(resources_.tmp_folder, working_bytes() / 2);
    SortedSpool<DocnoHash> hashes(resources_.tmp_folder);
    ChunkBuffers buffers;
    Bytes payload;
    char key[4];
    for (std::size_t chunk = 0; chunk < collection_.num_chunks(); ++chunk) {
      docid_t document = collection_.first_document(chunk);
      for (const DocumentRow& row : collection_.documents(chunk, buffers)) {
        const docid_t docid = docids_[document++];
        payload.clear();
        put_string(payload, row.docno);
        put_string(payload, row.url);
        put_string(payload, row.title);
        rows.add(docid_key(docid, key), payload);
        hashes.add({docno_hash(row.docno), docid});
      }
      resources_.progress->add(collection_.chunk(chunk).documents);
    }
    rows.merge([&](std::string_view, ByteView bytes) {
      ByteReader reader(bytes, "work file of documents");
      const std::string_view docno = reader.string(), url = reader.string();
      writer_.add_document(docno, url, reader.string());
    });
    writer_.end_documents(lengths_);
    writer_.begin_docno_lookup();
    hashes.for_each_sorted(working_bytes() / 2, [&](std::span<const DocnoHash> part) {
      std::vector<docid_t> docids;
      for (const DocnoHash& row : part) docids.push_back(static_cast<docid_t>(row.docid));
      writer_.add_docno_lookup(docids);
    });
    writer_.end_docno_lookup();
    resources_.progress->finish();
  }

  IndexManifest manifest() const {
    const CollectionManifest& from = collection_.manifest();
    if (postings_ != from.postings)
      throw CorruptFile(collection_.name() + ": holds other postings than its manifest says");
    IndexManifest manifest;
    manifest.analyzer = from.analyzer;
    manifest.corpus_format = from.corpus_format;
    manifest.max_document_bytes = from.max_document_bytes;
    manifest.duplicates = from.duplicates;
    manifest.order = order_options_.by;
    manifest.order_seed = order_options_.seed;
    manifest.codec = options_.codec;
    manifest.codec_options = options_.codec_options;
    manifest.bm25 = options_.bm25;
    manifest.statistics = statistics_;
    manifest.documents = from.documents;
    manifest.empty_documents = from.empty_documents;
    manifest.postings = postings_;
    manifest.tokens = from.tokens;
    manifest.coded = bits_;
    manifest.collection_hash = hash_text(collection_.container().content_hash());
    return manifest;
  }

  const CollectionReader& collection_;
  const DocumentOrder& order_;
  const OrderOptions& order_options_;
  const BuildOptions& options_;
  const Resources& resources_;
  File& out_;
  IndexWriter writer_;
  std::vector<docid_t> docids_;  ///< of each document of the collection
  std::vector<std::uint32_t> lengths_;
  std::vector<float> constants_;
  CollectionStatistics statistics_;
  CodedBits bits_;
  std::uint64_t postings_ = 0;
  std::size_t spilled_runs_ = 0;
};

}  // namespace

void check_build_options(const BuildOptions& options) {
  codec_named(options.codec);
  check_codec_options(options.codec_options);
  if (!(options.bm25.k1 >= 0) || options.bm25.k1 > 1000) throw InvalidArgument("k1 must be 0 to 1000");
  if (!(options.bm25.b >= 0 && options.bm25.b <= 1)) throw InvalidArgument("b must be 0 to 1");
}

BuildReport build_index(const CollectionReader& collection, const DocumentOrder& order,
                        const OrderOptions& order_options, const BuildOptions& options, const Resources& resources,
                        File& out) {
  check_build_options(options);
  return IndexBuilder(collection, order, order_options, options, resources, out).run();
}

}  // namespace quern
