#include "quern/lab/synth/synth_index.hpp"

#include <tbb/enumerable_thread_specific.h>
#include <tbb/parallel_for.h>

#include <atomic>
#include <cmath>
#include <numeric>

#include "quern/corpus/parse_corpus.hpp"
#include "quern/index/index_assembly.hpp"
#include "quern/index/list_encoder.hpp"
#include "quern/io/checksum.hpp"
#include "quern/io/external_sort.hpp"
#include "quern/lab/synth/document_tree.hpp"
#include "quern/lab/synth/list_generator.hpp"
#include "quern/order/order.hpp"
#include "quern/order/pagerank.hpp"

namespace quern {
namespace {

/// Tokens per distinct term of a document, as in web pages.
constexpr double tokens_per_posting = 2.7, min_mean_length = 16;
/// Approximate disk space per document.
constexpr std::uint64_t document_bytes = 48;

double mean_length(const SynthOptions& options) {
  if (options.mean_length != 0) return options.mean_length;
  return std::max(min_mean_length, tokens_per_posting * static_cast<double>(options.table.postings()) /
                                       static_cast<double>(options.table.documents));
}

DocumentTreeOptions tree_options(const SynthOptions& options) {
  return {options.table.documents, options.clustering, mean_length(options), options.seed};
}

/// The documents by decreasing score, ties in URL order.
std::vector<docid_t> documents_by(std::span<const float> scores) {
  std::vector<docid_t> documents(scores.size());
  std::iota(documents.begin(), documents.end(), docid_t{0});
  std::sort(documents.begin(), documents.end(),
            [&](docid_t a, docid_t b) { return scores[a] != scores[b] ? scores[a] > scores[b] : a < b; });
  return documents;
}

template <class Value>
std::vector<Value> in_order(std::vector<Value> values, std::span<const docid_t> documents) {
  if (documents.empty()) return values;
  std::vector<Value> ordered(documents.size());
  std::transform(documents.begin(), documents.end(), ordered.begin(),
                 [&](docid_t document) { return values[document]; });
  return ordered;
}

/// Lists of up to this many postings are drawn in memory, regardless of the budget.
constexpr std::uint64_t drawn_in_memory = 64 << 10;

/// Returns synthetic lists in the order of their terms; the encoding threads draw them.
class SynthLists : public ListSource {
 public:
  /// `docids`: the docID of each document of the tree; empty if docIDs are the documents' numbers. A list of more than
  /// `list_bytes` goes through a work file in `tmp_folder`. `in_pieces`: allows ListPieces instead, which needs docIDs
  /// that are the documents' numbers. Tree, fields and docIDs must outlive the object.
  SynthLists(const DocumentTree& tree, std::span<const TermField> fields, std::span<const docid_t> docids,
             std::uint64_t list_bytes, std::string tmp_folder, bool in_pieces)
      : fields_(fields),
        docids_(docids),
        list_bytes_(list_bytes),
        tmp_folder_(std::move(tmp_folder)),
        documents_(tree.documents()),
        generators_([&tree] { return ListGenerator(tree); }),
        in_pieces_(in_pieces) {}

  bool next(ListBatch& batch) override {
    if (next_ == fields_.size()) return false;
    if (in_pieces_ && fields_[next_].df > list_piece_postings) {
      batch = next_piece();
      return true;
    }
    const std::size_t from = next_;
    std::uint64_t postings = 0;
    while (next_ < fields_.size() && (next_ == from || postings + fields_[next_].df <= list_batch_postings))
      postings += fields_[next_++].df;
    if (postings > std::max(drawn_in_memory, max_postings()))
      batch = DeferredLists([this, from] { return make_long_list(from); });
    else
      batch = DeferredLists([this, from, end = next_] { return make_lists(from, end); });
    return true;
  }

 private:
  DeferredLists next_piece() {
    const std::size_t term = next_;
    const std::uint64_t first = next_first_;
    next_first_ += list_piece_postings;
    if (next_first_ >= fields_[term].df) {
      next_first_ = 0;
      ++next_;
    }
    return [this, term, first] { return make_piece(term, first); };
  }

  Lists make_piece(std::size_t term, std::uint64_t first) {
    const TermField& field = fields_[term];
    ListPiece piece{static_cast<term_t>(term), field.df, first, {}, {}};
    const std::uint64_t from = first > 0 ? first - 1 : 0, end = std::min(field.df, first + list_piece_postings);
    piece.docids.reserve(end - from);
    piece.freqs.reserve(end - from);
    generators_.local().generate(field, from, end,
                                 [&](std::span<const docid_t> documents, std::span<const freq_t> freqs) {
                                   piece.docids.insert(piece.docids.end(), documents.begin(), documents.end());
                                   piece.freqs.insert(piece.freqs.end(), freqs.begin(), freqs.end());
                                 });
    return piece;
  }

  Lists make_lists(std::size_t from, std::size_t end) {
    std::uint64_t size = 0;
    for (std::size_t term = from; term < end; ++term) size += fields_[term].df;
    std::vector<Posting> postings(size);
    Posting* to = postings.data();
    ListGenerator& generator = generators_.local();
    for (std::size_t term = from; term < end; ++term) {
      generator.generate(fields_[term], [&](std::span<const docid_t> documents, std::span<const freq_t> freqs) {
        for (std::size_t i = 0; i < documents.size(); ++i)
          *to++ = {static_cast<term_t>(term), docids_.empty() ? documents[i] : docids_[documents[i]], freqs[i]};
      });
    }
    if (docids_.empty()) return OwnedLists{std::move(postings)};
    return UnsortedLists{std::move(postings)};
  }

  /// Makes a list that doesn't fit in memory; sorts it there and on disk if docIDs are not the documents' numbers.
  Lists make_long_list(std::size_t term) {
    const TermField& field = fields_[term];
    auto postings = std::make_shared<RecordSpool<SpooledPosting>>(tmp_folder_);
    std::vector<SpooledPosting> chunk;
    std::optional<ExternalSort> sort;
    if (!docids_.empty()) sort.emplace(tmp_folder_, list_bytes_);
    generators_.local().generate(field, [&](std::span<const docid_t> documents, std::span<const freq_t> freqs) {
      chunk.clear();
      for (std::size_t i = 0; i < documents.size(); ++i)
        if (sort)
          sort->add(SortKey(docids_[documents[i]], freqs[i]).view(), {});
        else
          chunk.push_back({documents[i], freqs[i]});
      postings->add_all(chunk);
    });
    if (sort) {
      sort->merge([&](std::string_view key, ByteView) {
        postings->add({number_in_key<docid_t>(key, 0), number_in_key<freq_t>(key, sizeof(docid_t))});
      });
    }
    return LongList{static_cast<term_t>(term), field.df, std::move(postings)};
  }

  /// Sorting takes twice the memory of the postings.
  std::uint64_t max_postings() const { return list_bytes_ / sizeof(Posting) / (docids_.empty() ? 1 : 2); }

  std::span<const TermField> fields_;
  std::span<const docid_t> docids_;
  std::uint64_t list_bytes_;
  std::string tmp_folder_;
  docid_t documents_;
  tbb::enumerable_thread_specific<ListGenerator> generators_;
  bool in_pieces_;
  std::size_t next_ = 0;
  std::uint64_t next_first_ = 0;  ///< the next piece of that list
};

/// PageRank decreases with this power of the rank, as on the web (Pandurangan et al.: Using PageRank to Characterize
/// Web Structure, 2002: density exponent 2.1).
constexpr double rank_exponent = 0.9;
constexpr float site_varies = 0.8f;

constexpr std::uint64_t site_draw = 12;

void raise(std::atomic<float>& to, float value) {
  float before = to.load(std::memory_order_relaxed);
  while (before < value && !to.compare_exchange_weak(before, value, std::memory_order_relaxed)) {
  }
}

/// A synthetic PageRank: it decreases with a power of the document's rank in PopularityRanking, varies between sites,
/// and sums to 1.
std::vector<float> synthetic_pagerank(const DocumentTree& tree, std::uint64_t seed) {
  const auto sites = tree.site_starts();
  std::vector<float> scores(tree.documents());
  for (std::size_t i = 0; i < sites.size(); ++i) {
    const docid_t end = i + 1 < sites.size() ? sites[i + 1] : tree.documents();
    const float factor = portable_exp(site_varies * normal_of(noise_bits(mix_bits(seed + site_draw), i)));
    std::fill(scores.begin() + sites[i], scores.begin() + end, factor);
  }
  const PopularityRanking popular(tree.documents(), seed);
  double sum = 0;
  for (docid_t rank = 0; rank < tree.documents(); ++rank) {
    float& score = scores[popular.at(rank)];
    score *= static_cast<float>(std::pow(rank + 1.0, -rank_exponent));
    sum += score;
  }
  for (float& score : scores) score = static_cast<float>(score / sum);
  return scores;
}

/// GS+ of each document (order/order.hpp). Draws all lists once, in parallel. `pagerank` is scaled.
std::vector<float> global_score_bounds(const DocumentTree& tree, std::span<const TermField> fields,
                                       std::span<const float> constants, std::span<const float> pagerank, double alpha,
                                       Progress& progress) {
  std::vector<std::atomic<float>> max_impacts(tree.documents());
  std::vector<std::atomic<std::uint32_t>> terms(tree.documents());
  tbb::enumerable_thread_specific<ListGenerator> generators([&] { return ListGenerator(tree); });
  tbb::parallel_for(std::size_t{0}, fields.size(), [&](std::size_t term) {
    generators.local().generate(fields[term], [&](std::span<const docid_t> documents, std::span<const freq_t> freqs) {
      for (std::size_t i = 0; i < documents.size(); ++i) {
        raise(max_impacts[documents[i]], impact(freqs[i], constants[documents[i]]));
        terms[documents[i]].fetch_add(1, std::memory_order_relaxed);
      }
    });
    progress.add(fields[term].df);
  });
  std::vector<float> bounds(pagerank.size());
  for (std::size_t i = 0; i < bounds.size(); ++i)
    bounds[i] = global_score_bound(pagerank[i], max_impacts[i], terms[i], alpha);
  return bounds;
}

class IndexSynthesis {
 public:
  IndexSynthesis(const SynthOptions& options, const Resources& resources, File& out)
      : options_(options),
        resources_(resources),
        assembly_({{options.table.documents, num_scores(options), options.table.memory_bytes()},
                   options.build,
                   resources,
                   out}),
        tree_(tree_options(options)),
        fields_(term_fields(options.table, options.clustering, options.seed, options.for_each_query, resources)) {}

  BuildReport run() {
    check_free_space(resources_.tmp_folder, options_.table.postings() * 2 + options_.table.documents * document_bytes,
                     "the index");
    const std::uint64_t tokens = std::accumulate(tree_.lengths().begin(), tree_.lengths().end(), std::uint64_t{0});
    const CollectionStatistics statistics{options_.table.documents, tokens};
    if (options_.pagerank || options_.order_by_score) pagerank_ = synthetic_pagerank(tree_, options_.seed);
    if (!pagerank_.empty()) apply_scale(options_.scores.pagerank_scale, pagerank_, resources_);
    if (options_.order_by_score) order_by_score(statistics);
    write_lists(statistics);
    write_documents();
    return assembly_.finish(manifest(), in_order(std::move(pagerank_), documents_),
                            in_order(std::move(global_scores_), documents_));
  }

 private:
  void order_by_score(const CollectionStatistics& statistics) {
    std::vector<float> constants(tree_.documents());
    for (docid_t document = 0; document < tree_.documents(); ++document)
      constants[document] =
          document_constant(tree_.lengths()[document], statistics.average_length(), options_.build.bm25);
    resources_.progress->start("compute scores", options_.table.postings(), "postings");
    global_scores_ =
        global_score_bounds(tree_, fields_, constants, pagerank_, options_.scores.alpha, *resources_.progress);
    resources_.progress->finish();
    documents_ = documents_by(global_scores_);
  }

  void write_lists(const CollectionStatistics& statistics) {
    std::vector<docid_t> docids(documents_.size());
    for (docid_t docid = 0; docid < documents_.size(); ++docid) docids[documents_[docid]] = docid;
    const std::uint64_t list_bytes = assembly_.working_bytes() / 4 / assembly_.jobs_in_flight();
    const BuildOptions& build = options_.build;
    const bool in_pieces = docids.empty() && encodes_pieces(codec_named(build.codec), build.codec_options);
    SynthLists lists(tree_, fields_, docids, list_bytes, resources_.tmp_folder, in_pieces);
    assembly_.write_lists(in_order(tree_.take_lengths(), documents_), statistics, lists, options_.table.postings(),
                          [&](term_t term) -> std::string_view { return options_.table.terms[term].term; });
  }

  void write_documents() {
    resources_.progress->start("write documents", tree_.documents(), "documents");
    const DocumentNames names(tree_);
    assembly_.write_documents([&](docid_t first, docid_t end, const IndexAssembly::DocumentVisit& visit) {
      for (docid_t docid = first; docid < end; ++docid) {
        const docid_t document = documents_.empty() ? docid : documents_[docid];
        visit({DocumentNames::docno(document), names.url(document), {}});
      }
      resources_.progress->add(end - first);
    });
    resources_.progress->finish();
  }

  IndexManifest manifest() const {
    IndexManifest manifest;
    manifest.analyzer = options_.analyzer;
    manifest.corpus_format = "synth";
    manifest.lengths = Lengths::lossy;
    manifest.order = name_of_value(order_names, options_.order_by_score ? OrderBy::score : OrderBy::url);
    manifest.order_seed = options_.seed;
    if (options_.pagerank || options_.order_by_score) {
      manifest.scores = options_.scores;
      manifest.scores->bm25 = options_.build.bm25;
    }
    manifest.collection_hash = hash_text(content_hash());
    return manifest;
  }

  /// A hash of everything that determines the documents and their lists.
  std::uint64_t content_hash() const {
    Bytes bytes;
    put_varint(bytes, options_.table.documents);
    put_varint(bytes, options_.seed);
    put_le(bytes, options_.clustering);
    put_le(bytes, mean_length(options_));
    std::uint64_t hash = xxh3(bytes);
    for (std::size_t term = 0; term < fields_.size(); ++term) {
      bytes.clear();
      put_le(bytes, hash);
      put_string(bytes, options_.table.terms[term].term);
      put_varint(bytes, fields_[term].df);
      put_le(bytes, fields_[term].shared_key);
      hash = xxh3(bytes);
    }
    return hash;
  }

  /// Of each document.
  static unsigned num_scores(const SynthOptions& options) {
    return unsigned{options.pagerank || options.order_by_score} + unsigned{options.order_by_score};
  }

  const SynthOptions& options_;
  const Resources& resources_;
  IndexAssembly assembly_;
  DocumentTree tree_;
  std::vector<TermField> fields_;
  std::vector<float> pagerank_, global_scores_;
  std::vector<docid_t> documents_;  ///< by docID, if docIDs are not the documents' numbers
};

void check_options(const SynthOptions& options) {
  check_build_options(options.build);
  if (options.mean_length == 0 && mean_length(options) > max_mean_length)
    throw InvalidArgument(
        "{}: its terms would give {} documents {:.0f} tokens each; set {} to at most {:.0f}, or raise the "
        "number of documents with {}",
        options.table.name, options.table.documents, mean_length(options), option_name<"mean-length">, max_mean_length,
        option_name<"docs">);
  check_tree_options(tree_options(options));
  check_range("alpha", options.scores.alpha, 0, 1);
  if (options.mean_length != 0) check_range("mean length", options.mean_length, 1, max_mean_length);
}

}  // namespace

BuildReport synthesize_index(const SynthOptions& options, const Resources& resources, File& out) {
  return run_stage(resources, [&] {
    check_options(options);
    return IndexSynthesis(options, resources, out).run();
  });
}

}  // namespace quern
