#include "quern/index/build_index.hpp"

#include "quern/core/job_pipeline.hpp"
#include "quern/corpus/forward_postings.hpp"
#include "quern/formats/index_writer.hpp"
#include "quern/formats/manifest_settings.hpp"
#include "quern/index/index_assembly.hpp"
#include "quern/index/inverter.hpp"
#include "quern/index/weighed_lists.hpp"
#include "quern/io/checksum.hpp"

namespace quern {
namespace {

IndexTables tables_of(const CollectionReader& collection, unsigned scores, const CollectionContext* whole = nullptr) {
  IndexTables tables{collection.num_documents(), scores, collection.table_bytes()};
  if (whole != nullptr) {
    // A shard also reads the order, docIDs and lengths of all documents.
    tables.documents = whole->docids.size();
    tables.other_bytes += (collection.num_documents() - tables.documents) * 4 * (3 + std::uint64_t{scores});
  }
  return tables;
}

/// Number of scores per document.
unsigned num_scores(const DocumentOrder& order) {
  return unsigned{!order.pagerank.empty()} + unsigned{!order.global_scores.empty()};
}

CollectionStatistics statistics_of(const CollectionReader& collection, const CollectionContext* whole) {
  if (whole != nullptr) return whole->statistics;
  return {collection.num_documents(), collection.manifest().tokens, collection.manifest().title_tokens};
}

/// Throws unless the numbers that a model needs are known.
void check_statistics(const Weighting& weighting, const CollectionReader& collection, const CollectionContext* whole) {
  if (weighting.model->factors == nullptr || statistics_of(collection, whole).title_tokens) return;
  throw InvalidArgument("{}: {} how many tokens are in titles, which weights of {} need; parse the corpus again{}",
                        collection.name(), whole != nullptr ? "its statistics do not say" : "does not say",
                        weighting.model->name, whole != nullptr ? " and create its statistics again" : "");
}

BuildOptions options_for(const CollectionReader& collection, BuildOptions options, const CollectionContext* whole) {
  options.impacts = collection.manifest().impacts;
  check_build_options(options);
  if (options.weighting) {
    check_statistics(*options.weighting, collection, whole);
    const unsigned bits = std::exchange(options.quantize_bits, 0);
    options.impacts =
        impacts_of_weighting(*options.weighting, statistics_of(collection, whole), bits > 0 ? bits : usual_weight_bits);
  }
  return options;
}

/// Finds a collection's terms by ascending numbers.
class LexiconPlace {
 public:
  explicit LexiconPlace(const CollectionReader& collection) : collection_(collection), scan_(collection.lexicon()) {}

  const DictionaryEntry& at(term_t term) {
    for (; terms_read_ <= term; ++terms_read_)
      if (!scan_.next(entry_)) throw CorruptFile(collection_.name() + ": the lexicon ends too early");
    return entry_;
  }

 private:
  const CollectionReader& collection_;
  DictionaryScan scan_;
  DictionaryEntry entry_;
  std::uint64_t terms_read_ = 0;
};

/// A chunk to invert.
struct InvertJob {
  explicit InvertJob(const FactorsOf& factors_of) : reader(factors_of) {}

  std::size_t chunk = 0;
  ForwardPostings reader;
  std::vector<Posting> postings;
};

/// Shares the memory left by the inverter among chunks.
struct InvertPlan {
  std::size_t jobs_in_flight;
  std::size_t postings_per_job;

  InvertPlan(const CollectionReader& collection, std::uint64_t memory_bytes, unsigned threads) {
    // With fewer postings, a single thread would read the same chunks repeatedly.
    constexpr std::uint64_t min_postings = 64 << 10;
    std::uint64_t chunk_bytes = 0;
    for (std::size_t chunk = 0; chunk < collection.num_chunks(); ++chunk)
      chunk_bytes = std::max(chunk_bytes, ForwardPostings::memory_bytes(collection, chunk));
    const std::uint64_t job_bytes = chunk_bytes + min_postings * sizeof(Posting);
    jobs_in_flight = std::clamp<std::uint64_t>(memory_bytes / job_bytes, 1, threads * 2);
    const std::uint64_t bytes = std::max(memory_bytes / jobs_in_flight, job_bytes);
    postings_per_job = (bytes - chunk_bytes) / sizeof(Posting);
  }
};

class IndexBuilder {
 public:
  IndexBuilder(const CollectionReader& collection, const DocumentOrder& order, const OrderOptions& order_options,
               const BuildOptions& options, const Resources& resources, File& out, const CollectionContext* whole)
      : collection_(collection),
        order_(order),
        order_options_(order_options),
        options_(options_for(collection, options, whole)),
        resources_(resources),
        whole_(whole),
        factors_of_(options_.weighting ? quern::factors_of(*options_.weighting, statistics_of(collection, whole))
                                       : FactorsOf()),
        range_(whole != nullptr ? whole->docids : DocidRange{0, collection.num_documents()}),
        assembly_(
            {tables_of(collection, num_scores(order), whole), options_, resources, out, collection.name(), whole}) {}

  BuildReport run() {
    // Sorted runs have about 2 bytes for a posting; sums of fields take 5 instead of 1.
    check_free_space(resources_.tmp_folder, collection_.manifest().postings * (factors_of_ ? 6 : 2),
                     "building the index");
    std::vector<std::uint32_t> lengths = prepare_tables();
    DocumentSort documents(assembly_.plan());
    write_lists(std::move(lengths));
    IndexManifest manifest = this->manifest();
    sort_documents(documents);
    assembly_.write_documents(std::move(documents));
    resources_.progress->finish();
    const std::uint64_t input_hash = whole_ == nullptr ? collection_.manifest().input_hash : 0;
    manifest.collection_hash = hash_text(documents_hash_.value() + input_hash);
    BuildReport report =
        assembly_.finish(std::move(manifest), in_range(order_.pagerank), in_range(order_.global_scores));
    report.spilled_runs = spilled_runs_;
    return report;
  }

 private:
  /// Returns the documents' lengths in docID order.
  std::vector<std::uint32_t> prepare_tables() {
    const docid_t documents = collection_.num_documents();
    if (order_.documents.size() != documents)
      throw InvalidArgument(collection_.name() + ": its number of documents differs from the order's");
    const std::vector<std::uint32_t> collection_lengths = collection_.lengths();
    docids_.assign(documents, end_docid);
    std::vector<std::uint32_t> lengths(range_.size());
    for (docid_t docid = range_.first; docid < range_.end; ++docid) {
      const docid_t document = order_.documents[docid];
      docids_[document] = docid - range_.first;
      lengths[docid - range_.first] = collection_lengths[document];
    }
    return lengths;
  }

  std::span<const float> in_range(const std::vector<float>& scores) const {
    return scores.empty() ? std::span<const float>() : std::span(scores).subspan(range_.first, range_.size());
  }

  bool has_document_in_range(std::size_t chunk) const {
    const auto begin = docids_.begin() + collection_.first_document(chunk);
    const auto end = begin + collection_.chunk(chunk).documents;
    return std::any_of(begin, end, [](docid_t docid) { return docid != end_docid; });
  }

  /// Postings of the index; an estimate for shards.
  std::uint64_t expected_postings() const {
    const std::uint64_t all = collection_.manifest().postings;
    if (whole_ == nullptr || docids_.empty()) return all;
    return static_cast<std::uint64_t>(static_cast<double>(all) * range_.size() / static_cast<double>(docids_.size()));
  }

  void write_lists(std::vector<std::uint32_t> lengths) {
    Inverter inverter(resources_.tmp_folder, assembly_.working_bytes() / 2, resources_.threads);
    inverter.expect(expected_postings());
    invert(inverter);
    const auto lists = inverter.finish(assembly_.jobs_in_flight());
    spilled_runs_ = inverter.num_runs();
    const CollectionStatistics statistics = statistics_of(collection_, whole_);
    std::optional<WeighedLists> weighed;
    if (options_.weighting)  // the lengths stay where they are when the assembly takes them
      weighed.emplace(*lists, PostingWeights{*options_.weighting, statistics, *options_.impacts, lengths},
                      whole_ != nullptr ? whole_counts() : WeighedLists::CountsOf(), resources_.tmp_folder);
    LexiconPlace place(collection_);
    assembly_.write_lists(std::move(lengths), statistics, weighed ? *weighed : *lists, expected_postings(),
                          [&](term_t term) -> ListTerm {
                            const DictionaryEntry& entry = place.at(term);
                            return {entry.term, TermCounts::parse(entry.payload, collection_.name()).cf};
                          });
  }

  /// Looks up the counts of terms over all shards.
  WeighedLists::CountsOf whole_counts() const {
    auto place = std::make_shared<LexiconPlace>(collection_);
    return [place, counts = whole_->counts()](term_t term) { return counts(place->at(term).term); };
  }

  void invert(Inverter& inverter) {
    resources_.progress->start("invert", expected_postings(), "postings");
    const auto add = [&](std::span<const Posting> postings) {
      inverter.add(postings);
      resources_.progress->add(postings.size());
    };
    const InvertPlan plan(collection_, assembly_.working_bytes() / 2, resources_.threads);
    std::size_t next_chunk = 0;
    const auto next = [&](InvertJob& job) {
      while (next_chunk < collection_.num_chunks() && !has_document_in_range(next_chunk)) ++next_chunk;
      job.chunk = next_chunk++;
      return job.chunk < collection_.num_chunks();
    };
    const auto read = [&](InvertJob& job) {
      job.reader.begin_chunk(collection_, job.chunk);
      job.reader.next(docids_, plan.postings_per_job, job.postings);
    };
    const auto put = [&](InvertJob& job) {
      // Usually the first postings are all.
      do {
        add(job.postings);
      } while (job.reader.next(docids_, plan.postings_per_job, job.postings));
    };
    run_jobs(
        plan.jobs_in_flight, [&] { return std::make_unique<InvertJob>(factors_of_); }, next, read, put);
    ForwardPostings reader(factors_of_);
    for (const SplitDocument& split : collection_.split_documents())
      if (docids_[split.document] != end_docid) reader.read_split(collection_, split, docids_[split.document], add);
    resources_.progress->finish();
  }

  /// Begins the step that ends after the documents are written.
  void sort_documents(DocumentSort& documents) {
    resources_.progress->start("write documents", range_.size(), "documents");
    ChunkBuffers buffers;
    for (std::size_t chunk = 0; chunk < collection_.num_chunks(); ++chunk) {
      if (!has_document_in_range(chunk)) continue;
      docid_t document = collection_.first_document(chunk);
      for (const DocumentRow& row : collection_.documents(chunk, buffers)) {
        const docid_t docid = docids_[document++];
        if (docid == end_docid) continue;
        documents.add(docid, row.docno, row.url, row.title);
        documents_hash_.add(row.docno, row.url, row.title, row.tokens);
        resources_.progress->add(1);
      }
    }
  }

  IndexManifest manifest() const {
    const CollectionManifest& from = collection_.manifest();
    if (whole_ == nullptr && (assembly_.postings() != from.postings || assembly_.tokens() != from.tokens))
      throw CorruptFile(collection_.name() + ": its counts of postings or tokens differ from its manifest's");
    IndexManifest manifest;
    copy_parse_settings(from, manifest);
    manifest.order = name_of_value(order_names, order_options_.by);
    manifest.order_seed = order_options_.seed;
    if (!order_.pagerank.empty() || !order_.global_scores.empty()) {
      manifest.scores = order_options_.scores;
      manifest.scores->origin = order_.pagerank_origin;
    }
    if (whole_ != nullptr) {
      manifest.docid_base = range_.first;
      manifest.shard = whole_->manifest;
      manifest.shard->input_hash = hash_text(from.input_hash);
    }
    return manifest;
  }

  const CollectionReader& collection_;
  const DocumentOrder& order_;
  const OrderOptions& order_options_;
  const BuildOptions options_;
  const Resources& resources_;
  const CollectionContext* whole_;
  FactorsOf factors_of_;
  DocidRange range_;  ///< range of the order in the index
  IndexAssembly assembly_;
  std::vector<docid_t> docids_;  ///< docID of each document of the collection; end_docid outside the range
  DocumentsHash documents_hash_;
  std::size_t spilled_runs_ = 0;
};

}  // namespace

void check_build_options(const BuildOptions& options) {
  codec_named(options.codec);
  check_codec_options(options.codec_options);
  check_bm25(options.bm25);
  if (options.quantize_bits != 0)
    check_range("bits of quantized impacts", options.quantize_bits, min_quantize_bits, max_quantize_bits);
  if (options.weighting) {
    if (options.impacts)
      throw InvalidArgument("the corpus gives term weights, which take the place of a model's; omit {}",
                            option_name<"weights">);
    if (options.bm25 != Bm25Parameters())
      throw InvalidArgument(
          "weights of {} do not depend on {} and {}; omit them, and name the model's own parameters "
          "like {}",
          options.weighting->model->name, option_name<"k1">, option_name<"b">, "bm25:k1=0.9,b=0.4");
  }
  if (!options.impacts) return;
  check_impact_settings(*options.impacts);
  if (options.quantize_bits != 0)
    throw InvalidArgument("impacts given by the corpus are already integers; omit {}", option_name<"quantize">);
  if (options.bm25 != Bm25Parameters())
    throw InvalidArgument(std::string("impacts given by the corpus do not depend on k1 or b; omit ") +
                          option_name<"k1"> + " and " + option_name<"b">);
}

void check_build_memory(const CollectionReader& collection, unsigned scores, const Resources& resources) {
  tables_of(collection, scores).check(collection.name(), resources);
}

BuildReport build_index(const CollectionReader& collection, const DocumentOrder& order,
                        const OrderOptions& order_options, const BuildOptions& options, const Resources& resources,
                        File& out, const CollectionContext* whole) {
  return run_stage(resources, [&] {
    check_score_settings(order_options.scores);
    if (collection.num_documents() == 0)
      throw InvalidArgument(collection.name() + ": has no documents, so there is nothing to index");
    const std::uint64_t tokens = whole != nullptr ? whole->statistics.tokens : collection.manifest().tokens;
    if (tokens == 0 && !options.allow_empty)
      throw InvalidArgument(
          "no document of the corpus has a term, so every query would find nothing; the warnings of parsing name the "
          "first one; to build the index anyway, use {}",
          option_name<"allow-empty">);
    return IndexBuilder(collection, order, order_options, options, resources, out, whole).run();
  });
}

}  // namespace quern
