#pragma once
#include <atomic>
#include <deque>
#include <map>

#include "quern/core/model_parameters.hpp"
#include "quern/formats/forward_file.hpp"
#include "quern/search/query_memory.hpp"
#include "quern/search/search_backend.hpp"

/// Query expansion by pseudo-relevance feedback: queries get terms of their best documents, and new weights.
/// formats/scores.md defines the models and their order of double operations.
namespace quern {

/// An entry of the registry. The first two parameters are the numbers of documents and of terms.
struct ExpansionModel {
  std::string_view name, description;
  std::span<const ModelParameter> parameters;
};

std::span<const ExpansionModel> all_expansion_models();

/// A model with values for its parameters.
struct Expansion {
  const ExpansionModel* model = nullptr;
  std::array<double, 4> values = {};
};

/// Reads a model's name, optionally followed by values: "rm3", "rm3:documents=20,weight=0.6". Throws InvalidArgument
/// for unknown names and values out of range.
Expansion read_expansion(std::string_view text);

/// Expands the queries of an index, or of all its shards. Thread-safe.
class QueryExpander {
 public:
  /// Opens the forward files of all shards. Throws InvalidArgument if the documents have given weights instead of text,
  /// and like ForwardReader::open().
  static std::vector<ForwardReader> open_forwards(const IndexShards& shards);
  /// `engines`: of the shards in their order; `forwards`: their forward files. Both must outlive the object.
  QueryExpander(const Expansion& expansion, std::span<const QueryEngine* const> engines,
                std::span<const ForwardReader> forwards);

  /// The number of a query's best documents that expand() needs.
  std::size_t documents() const { return static_cast<std::size_t>(expansion_.values[0]); }
  /// The expanded query, for documents as the query found them, with docIDs of the whole index. A query without results
  /// or without terms to add stays as it is. Throws CorruptFile if the forward file is damaged, InvalidArgument if the
  /// memory for queries is too small.
  QueryTerms expand(QueryView query, std::span<const ScoredDocument> documents) const;

  /// Queries that were expanded together, and what that cost.
  struct Batch {
    ParsedQueries queries;
    std::vector<QueryAnswer> costs;  ///< of each query's first pass and its expansion, without documents

    /// Adds the cost to that of the second pass.
    void add_cost(std::size_t query, QueryAnswer& answer) const;
  };
  /// Answers all queries of the request with the best documents that expand() needs, and expands them. `pages`, unless
  /// it is null, is told of each query. Throws like run() and expand().
  Batch expand(SearchBackend& backend, SearchRequest request, unsigned threads, IndexPages* pages = nullptr) const;

 private:
  /// A term with the counts of the whole collection.
  struct Term {
    term_t number = 0;
    std::string text;
    double cf = 0;
    bool counts = false;  ///< for RM3
  };
  /// A term's frequency in title and body of a document.
  struct Count {
    term_t number = 0;
    freq_t freq = 0;
  };
  /// Terms of a shard that were looked up, as many as there is space for. Thread-safe without locks.
  class KnownTerms {
   public:
    KnownTerms() = default;
    ~KnownTerms();
    KnownTerms(const KnownTerms&) = delete;
    KnownTerms& operator=(const KnownTerms&) = delete;

    /// The term with this number, or null.
    const Term* find(term_t number) const;
    /// Adds a term and returns it, or the one that another thread added with the same number. Returns null, and leaves
    /// `term` as it is, if the table is full.
    const Term* add(std::unique_ptr<Term>& term) const;

   private:
    static constexpr std::size_t max_terms = 1 << 15, max_probes = 8;

    std::atomic<const Term*>& slot(term_t number, std::size_t probe) const {
      constexpr std::uint32_t spread = 0x9e3779b1;  // 2^32 divided by the golden ratio
      return slots_[((number * spread >> 17) + probe) % max_terms];
    }

    mutable std::vector<std::atomic<const Term*>> slots_ = std::vector<std::atomic<const Term*>>(max_terms);
  };
  struct Shard {
    const QueryEngine* engine = nullptr;
    const ForwardReader* forward = nullptr;
    docid_t first_docid = 0;
    KnownTerms known = {};
  };
  /// A term of one document or of several, or of the query.
  struct Part {
    const Shard* shard = nullptr;
    term_t number = 0;
    double freq = 0;             ///< in the documents
    double value = 0;            ///< r of RM3, or x of Bo1
    const Term* term = nullptr;  ///< null until it is looked up
    std::uint32_t documents = 0;
    bool is_of_query = false;
  };
  /// What a query needs while it is expanded.
  struct Buffers {
    explicit Buffers(const QueryMemory& memory) : claim(memory) {}

    QueryMemory::Claim claim;
    std::vector<Part> parts;
    std::vector<Count> counts;  ///< of a document, by ascending number
    std::vector<std::uint64_t> keys;
    std::vector<term_t> numbers;
    std::vector<std::string_view> literals;
    std::vector<std::uint32_t> ids, freqs;
    std::deque<Term> uncached;
  };
  using Weights = std::map<std::string, double, std::less<>>;
  /// Memory of a term, its count and its part.
  static constexpr std::uint64_t entry_bytes = 160;

  std::size_t terms() const { return static_cast<std::size_t>(expansion_.values[1]); }
  const Shard& shard_of(docid_t docid) const;
  /// A term by its number; `uncached` holds it if there are too many to be cached.
  const Term& term(const Shard& shard, term_t number, std::deque<Term>& uncached) const;
  bool counts(std::string_view text, double df) const;
  /// Sets buffers.counts to those of a document.
  static void count(const Shard& shard, docid_t docid, Buffers& buffers);
  /// Adds those of a segment. `what`: for messages.
  static void count(const ForwardSegment& segment, std::string_view what, Buffers& buffers);
  /// Adds parts for the terms that RM3 uses of the document in buffers.counts, whose score is `score`.
  void add_relevant(const Shard& shard, double score, Buffers& buffers) const;
  /// Adds parts for the query's terms in a shard.
  void add_query(const Shard& shard, QueryView query, Buffers& buffers) const;
  /// Byte order. Numbers of a shard have it, too; terms of several shards must have been looked up.
  static bool is_before(const Part& a, const Part& b);
  /// Adds up equal terms, in the order of the documents, and leaves the terms in byte order.
  static void merge(std::vector<Part>& parts);
  /// merge() if there are twice as many parts as after the last time, and many, so that they take no more memory than
  /// their terms. `merged`: parts after the last time.
  static void merge_if_many(std::vector<Part>& parts, std::size_t& merged);
  /// Keeps the `count` greatest values, by decreasing value, ties in byte order.
  static void keep_greatest(std::vector<Part>& parts, std::size_t count);
  Weights rm3(QueryView query, std::span<const ScoredDocument> documents, Buffers& buffers) const;
  Weights bo1(QueryView query, std::span<const ScoredDocument> documents, Buffers& buffers) const;
  /// Weights that the engines' scores can use.
  QueryTerms usable(const Weights& weights) const;

  const Expansion expansion_;
  const double num_documents_;
  const double integer_scale_;  ///< what the weights of a query sum to where scores are integers; 0 elsewhere
  std::vector<std::unique_ptr<Shard>> shards_;
};

}  // namespace quern
