#pragma once
#include "quern/api/index.hpp"

namespace quern::api {

enum class Idf { lucene, robertson };
/// exact: float32; quantized: sums of the integers stored in the index.
enum class Scores { exact, quantized };
enum class Scorer { bm25, bm25_pagerank };
/// automatic: GPUs if the machine has any, otherwise the CPU.
enum class Device { cpu, gpu, automatic };

/// How documents are scored: formats/scores.md.
struct Scoring {
  std::optional<double> k1, b;  ///< none: the index's
  Idf idf = Idf::lucene;
  Scores scores = Scores::exact;
  Scorer scorer = Scorer::bm25;
  std::optional<double> alpha;    ///< of bm25_pagerank; none: the index's, or 0.3
  bool early_termination = true;  ///< if the index allows it
  /// For quantized scores of given weights: queries' weights are multiplied by it and rounded; none: they must be
  /// whole.
  std::optional<double> query_scale;
  /// How queries are expanded with terms of their best documents, such as "rm3" or "bo1:documents=5"; empty: not. The
  /// index needs a forward file.
  std::string expand;
};

/// Where queries run. Results are bit for bit the same on all devices.
struct Placement {
  Device device = Device::cpu;
  unsigned gpu = 0;                               ///< number of the first GPU
  unsigned gpus = 1;                              ///< number of GPUs, from the first one on; 0: all
  std::string strategy;                           ///< how GPUs find results; empty: the default
  std::optional<std::uint64_t> gpu_memory_bytes;  ///< memory limit of each GPU; none: its free memory
  std::vector<std::string> plans;                 ///< paths of cache plans, one for each shard; none: no plan
  /// Called when queries move from a GPU to the CPU, or to fewer GPUs.
  std::function<void(const std::string&)> notice;
};

/// A result.
struct Hit {
  std::uint32_t docid = 0;
  float score = 0;
  bool operator==(const Hit&) const = default;
};

/// Search counters.
struct SearchStatistics {
  std::uint64_t queries = 0;
  std::uint64_t postings = 0, postings_scored = 0;  ///< postings in the queries' lists; those of them that were scored
  std::uint64_t blocks = 0, blocks_decoded = 0;
  std::uint64_t stopped_early = 0;  ///< queries stopped early thanks to global scores
  std::uint64_t on_gpu = 0;         ///< queries answered by GPUs
  std::uint64_t unproven = 0;       ///< queries with a budget whose results are not proven exact
  std::optional<float> bound_left;  ///< of these, the highest upper bound of a document that was left out
};

/// When the search for a query's results stops although they are not proven exact; whichever comes first. Windows of
/// documents are searched by falling upper bound of their scores, at least one, and each result has its exact score.
/// Needs the CPU and the algorithm auto, maxscore or bmp.
struct Budget {
  std::optional<double> time_us = std::nullopt;  ///< time spent on a query, 1 to 60,000,000 microseconds; none: any
  /// Percent of the windows that may contain results, 0 to 100, which are those with the lowest bounds; none: 0. Unlike
  /// a time, it gives the same results each time.
  std::optional<double> blocks_left_out = std::nullopt;
};

/// The results of many queries: those of query i are at [offsets[i], offsets[i + 1]), best first, ties in docID
/// order.
struct BatchResults {
  std::vector<std::uint64_t> offsets;
  std::vector<std::uint32_t> docids;
  std::vector<float> scores;
  SearchStatistics statistics;
  /// Of each query: the highest upper bound of a document that was left out and may be a result; none: the results are
  /// exact. Empty without a budget.
  std::vector<std::optional<float>> bounds_left;
};

/// A query of a program: text, which the index's analyzer turns into terms, or terms as the index has them, with
/// weights in place of their frequencies in a text; weights of a repeated term are added up. Refers to its arguments.
class Query {
 public:
  Query(std::string_view text) : text_(text) {}
  Query(const std::string& text) : text_(text) {}
  Query(const char* text) : text_(text) {}
  Query(std::span<const WeightedTerm> terms) : terms_(terms), is_vector_(true) {}
  Query(const std::vector<WeightedTerm>& terms) : terms_(terms), is_vector_(true) {}

  bool is_vector() const { return is_vector_; }
  std::string_view text() const { return text_; }
  std::span<const WeightedTerm> terms() const { return terms_; }

 private:
  std::string_view text_;
  std::span<const WeightedTerm> terms_;
  bool is_vector_ = false;
};

/// Options of a batch.
struct BatchOptions {
  std::size_t k = 10;     ///< documents per query, at least 1
  std::string algorithm;  ///< one of algorithms(); empty: the first of them
  /// Restricts results to these documents; null: all. A GPU strategy without filters refuses it (invalid_argument), or
  /// the CPU answers if the device is `automatic`.
  const Filter* filter = nullptr;
  Budget budget = {};
};

/// The names of query algorithms and of GPU strategies, each with the default first.
QUERN_API std::vector<std::string> algorithms();
QUERN_API std::vector<std::string> strategies();

/// Answers queries over an index. Many threads may search at once; batches on GPUs take turns. Keeps the index open. A
/// handle: copies share what it has. After a fork, the child may search on the CPU; GPUs stay the parent's.
class QUERN_API Searcher {
 public:
  /// Computes tables of a few bytes per document, and copies the index to the GPUs requested. `work`: its memory limits
  /// the running queries (0: no limit), and its threads are the default for batches; progress and stop apply to the
  /// constructor only. Throws Error: invalid_argument for scores that the index doesn't have and numbers out of range,
  /// gpu and gpu_out_of_memory unless the device is the CPU or `automatic`.
  explicit Searcher(const Index& index, const Scoring& scoring = {}, const Placement& placement = {},
                    const Work& work = {});

  const Index& index() const noexcept;
  /// The k best documents for a query, best first, ties in docID order, found by the calling thread on the CPU.
  /// `algorithm`, `filter` and `budget`: as in BatchOptions. Adds to *statistics unless it is null. Throws Error:
  /// invalid_argument if k is 0, if the query does not fit the memory, if a weight is negative, not finite, or not
  /// an integer where scores are sums of integers, or if the searcher can't keep to the budget; corrupt_file if
  /// postings don't decode.
  std::vector<Hit> search(const Query& query, std::size_t k = 10, std::string_view algorithm = {},
                          SearchStatistics* statistics = nullptr, const Filter* filter = nullptr,
                          const Budget& budget = {}) const;
  /// The terms and weights of a query as they are searched for, in byte order: with Scoring::expand, expanded. The
  /// filter and the algorithm are those of search(). Throws like it.
  std::vector<std::pair<std::string, double>> terms(const Query& query, std::string_view algorithm = {},
                                                    const Filter* filter = nullptr) const;
  /// Answers many queries on the searcher's device. `work`: 0 threads means as many as given to the constructor;
  /// progress counts queries. Throws like search(), and GPU errors.
  BatchResults batch(std::span<const Query> queries, const BatchOptions& options = {}, const Work& work = {}) const;

  struct QUERN_INTERNAL Impl;

 private:
  std::shared_ptr<Impl> impl_;
};

/// Finds all documents that contain every term of a query, without scores. A handle. Many threads may use it at once;
/// batches on GPUs take turns. Keeps the index open.
class QUERN_API Intersector {
 public:
  /// `method`: one of `quern intersect`; empty: the device's first. `placement`: strategy is ignored. `work`: as for
  /// Searcher. Throws Error: invalid_argument if the index is in several shards, wrong_usage for a method of GPUs on
  /// the CPU; gpu and gpu_out_of_memory as Searcher does.
  explicit Intersector(const Index& index, const std::string& method = {}, const Placement& placement = {},
                       const Work& work = {});

  const Index& index() const noexcept;
  /// The documents of each query in docID order, with scores of 0; none if a term is not in the index. Terms of weight
  /// 0 don't count. `filter` and `work`: as for Searcher::batch(). Throws as that does.
  BatchResults batch(std::span<const Query> queries, const Filter* filter = nullptr, const Work& work = {}) const;

 private:
  struct QUERN_INTERNAL Impl;
  std::shared_ptr<Impl> impl_;
};

}  // namespace quern::api
