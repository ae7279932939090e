#include "quern/index/build_index.hpp"

#include <algorithm>
#include <memory>

#include "quern/collection/forward_postings.hpp"
#include "quern/core/check_range.hpp"
#include "quern/core/job_pipeline.hpp"
#include "quern/core/run_stage.hpp"
#include "quern/index/index_assembly.hpp"
#include "quern/index/inverter.hpp"
#include "quern/io/checksum.hpp"

namespace quern {
namespace {

IndexTables tables_of(const CollectionReader& collection, unsigned scores) {
  return {collection.num_documents(), scores, collection.table_bytes()};
}

/// Scores of each document.
unsigned num_scores(const DocumentOrder& order) {
  return unsigned{!order.pagerank.empty()} + unsigned{!order.global_scores.empty()};
}

BuildOptions options_for(const CollectionReader& collection, BuildOptions options) {
  options.impacts = collection.manifest().impacts;
  check_build_options(options);
  return options;
}

/// A chunk on its way to the inverter.
struct InvertJob {
  std::size_t chunk = 0;
  ForwardPostings reader;
  std::vector<Posting> postings;
};

/// How chunks share the memory that the inverter leaves.
struct InvertPlan {
  std::size_t jobs_in_flight;
  std::size_t postings_per_job;

  InvertPlan(const CollectionReader& collection, std::uint64_t memory_bytes, unsigned threads) {
    // Fewer would be read again and again by a single thread.
    constexpr std::uint64_t least_postings = 64 << 10;
    std::uint64_t chunk_bytes = 0;
    for (std::size_t chunk = 0; chunk < collection.num_chunks(); ++chunk)
      chunk_bytes = std::max(chunk_bytes, ForwardPostings::memory_bytes(collection, chunk));
    const std::uint64_t job_bytes = chunk_bytes + least_postings * sizeof(Posting);
    jobs_in_flight = std::clamp<std::uint64_t>(memory_bytes / job_bytes, 1, threads * 2);
    const std::uint64_t bytes = std::max(memory_bytes / jobs_in_flight, job_bytes);
    postings_per_job = (bytes - chunk_bytes) / sizeof(Posting);
  }
};

class IndexBuilder {
 public:
  IndexBuilder(const CollectionReader& collection, const DocumentOrder& order, const OrderOptions& order_options,
               const BuildOptions& options, const Resources& resources, File& out)
      : collection_(collection),
        order_(order),
        order_options_(order_options),
        options_(options_for(collection, options)),
        resources_(resources),
        assembly_({tables_of(collection, num_scores(order)), options_, resources, out, collection.name()}) {}

  BuildReport run() {
    check_free_space(resources_.tmp_folder, collection_.manifest().postings * 2, "building the index");
    std::vector<std::uint32_t> lengths = prepare_tables();
    DocumentSort documents(assembly_.plan());
    AssembledLists lists = write_lists(std::move(lengths));
    IndexManifest manifest = this->manifest(lists);
    sort_documents(documents);
    AssembledDocuments written = std::move(lists).write_documents(std::move(documents));
    resources_.progress->finish();
    BuildReport report = std::move(written).finish(std::move(manifest), order_.pagerank, order_.global_scores);
    report.spilled_runs = spilled_runs_;
    return report;
  }

 private:
  /// Returns the documents' lengths in docID order.
  std::vector<std::uint32_t> prepare_tables() {
    const docid_t documents = collection_.num_documents();
    if (order_.documents.size() != documents)
      throw InvalidArgument(collection_.name() + ": has another number of documents than the order");
    const std::vector<std::uint32_t> collection_lengths = collection_.lengths();
    docids_.resize(documents);
    std::vector<std::uint32_t> lengths(documents);
    for (docid_t docid = 0; docid < documents; ++docid) {
      const docid_t document = order_.documents[docid];
      docids_[document] = docid;
      lengths[docid] = collection_lengths[document];
    }
    return lengths;
  }

  AssembledLists write_lists(std::vector<std::uint32_t> lengths) {
    Inverter inverter(resources_.tmp_folder, assembly_.working_bytes() / 2, resources_.threads);
    inverter.expect(collection_.manifest().postings);
    invert(inverter);
    const auto lists = inverter.finish(assembly_.jobs_in_flight());
    spilled_runs_ = inverter.num_runs();
    LexiconScan lexicon = collection_.lexicon();
    LexiconEntry entry;
    std::uint64_t terms_read = 0;
    const CollectionStatistics statistics{collection_.num_documents(), collection_.manifest().tokens};
    return std::move(assembly_).write_lists(
        std::move(lengths), statistics, *lists, collection_.manifest().postings, [&](term_t term) {
          for (; terms_read <= term; ++terms_read)
            if (!lexicon.next(entry)) throw CorruptFile(collection_.name() + ": the lexicon ends too early");
          return entry.term;
        });
  }

  void invert(Inverter& inverter) {
    resources_.progress->start("invert", collection_.manifest().postings, "postings");
    const auto add = [&](std::span<const Posting> postings) {
      inverter.add(postings);
      resources_.progress->add(postings.size());
    };
    const InvertPlan plan(collection_, assembly_.working_bytes() / 2, resources_.threads);
    std::size_t next_chunk = 0;
    const auto next = [&](InvertJob& job) {
      job.chunk = next_chunk++;
      return job.chunk < collection_.num_chunks();
    };
    const auto read = [&](InvertJob& job) {
      job.reader.begin_chunk(collection_, job.chunk);
      job.reader.next(docids_, plan.postings_per_job, job.postings);
    };
    const auto put = [&](InvertJob& job) {
      // Most often the first ones are all.
      do {
        add(job.postings);
      } while (job.reader.next(docids_, plan.postings_per_job, job.postings));
    };
    run_jobs(
        plan.jobs_in_flight, [] { return std::make_unique<InvertJob>(); }, next, read, put);
    ForwardPostings reader;
    for (const SplitDocument& split : collection_.split_documents())
      reader.read_split(collection_, split, docids_[split.document], add);
    resources_.progress->finish();
  }

  /// Starts the step that ends when the documents are written.
  void sort_documents(DocumentSort& documents) {
    resources_.progress->start("documents", collection_.num_documents(), "documents");
    ChunkBuffers buffers;
    for (std::size_t chunk = 0; chunk < collection_.num_chunks(); ++chunk) {
      docid_t document = collection_.first_document(chunk);
      for (const DocumentRow& row : collection_.documents(chunk, buffers))
        documents.add(docids_[document++], row.docno, row.url, row.title);
      resources_.progress->add(collection_.chunk(chunk).documents);
    }
  }

  IndexManifest manifest(const AssembledLists& lists) const {
    const CollectionManifest& from = collection_.manifest();
    if (lists.postings() != from.postings || lists.tokens() != from.tokens)
      throw CorruptFile(collection_.name() + ": contains other counts of postings or tokens than its manifest");
    IndexManifest manifest;
    manifest.analyzer = from.analyzer;
    manifest.libraries = from.libraries;
    manifest.corpus_format = from.corpus_format;
    manifest.max_document_bytes = from.max_document_bytes;
    manifest.field_names = from.field_names;
    manifest.duplicates = from.duplicates;
    manifest.pages = from.pages;
    manifest.order = name_of_value(order_names, order_options_.by);
    manifest.order_seed = order_options_.seed;
    if (!order_.pagerank.empty() || !order_.global_scores.empty()) {
      manifest.scores = order_options_.scores;
      manifest.scores->origin = order_.pagerank_origin;
    }
    manifest.collection_hash = hash_text(collection_.container().content_hash());
    return manifest;
  }

  const CollectionReader& collection_;
  const DocumentOrder& order_;
  const OrderOptions& order_options_;
  const BuildOptions options_;
  const Resources& resources_;
  IndexAssembly assembly_;
  std::vector<docid_t> docids_;  ///< of each document of the collection
  std::size_t spilled_runs_ = 0;
};

}  // namespace

void check_build_options(const BuildOptions& options) {
  codec_named(options.codec);
  check_codec_options(options.codec_options);
  check_bm25(options.bm25);
  if (options.quantize_bits != 0)
    check_range("bits of quantized impacts", options.quantize_bits, min_quantize_bits, max_quantize_bits);
  if (!options.impacts) return;
  check_impact_settings(*options.impacts);
  if (options.quantize_bits != 0)
    throw InvalidArgument("impacts that the corpus gives are integers already; leave out --quantize");
  if (options.bm25 != Bm25Parameters())
    throw InvalidArgument("impacts that the corpus gives depend on neither k1 nor b; leave out --k1 and --b");
}

void check_build_memory(const CollectionReader& collection, unsigned scores, const Resources& resources) {
  tables_of(collection, scores).check(collection.name(), resources);
}

BuildReport build_index(const CollectionReader& collection, const DocumentOrder& order,
                        const OrderOptions& order_options, const BuildOptions& options, const Resources& resources,
                        File& out) {
  return run_stage(resources, [&] {
    check_score_settings(order_options.scores);
    return IndexBuilder(collection, order, order_options, options, resources, out).run();
  });
}

}  // namespace quern
