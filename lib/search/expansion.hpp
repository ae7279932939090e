#pragma once
#include <tbb/concurrent_unordered_map.h>

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
    std::string text;
    double cf = 0;
    bool counts = false;  ///< for RM3
  };
  /// A term's frequency in title and body of a document.
  struct Count {
    term_t number = 0;
    freq_t freq = 0;
  };
  struct Shard {
    const QueryEngine* engine = nullptr;
    const ForwardReader* forward = nullptr;
    docid_t first_docid = 0;
    mutable tbb::concurrent_unordered_map<term_t, Term> known = {};  ///< cached terms, at most max_known_terms
  };
  using Weights = std::map<std::string, double, std::less<>>;
  /// Memory of a term, its count and its entry of a map.
  static constexpr std::uint64_t entry_bytes = 160;
  static constexpr std::size_t max_known_terms = 1 << 15;

  std::size_t terms() const { return static_cast<std::size_t>(expansion_.values[1]); }
  const Shard& shard_of(docid_t docid) const;
  /// A term by its number; `unknown` holds it if there are too many to be cached.
  const Term& term(const Shard& shard, term_t number, Term& unknown) const;
  /// A document's terms by ascending number. `held`: terms of others that are in memory.
  std::vector<Count> counts_of(const Shard& shard, docid_t docid, std::size_t held, QueryMemory::Claim& claim) const;
  /// Of a document's terms, those that RM3 uses, with their frequencies.
  std::vector<std::pair<std::string, double>> relevant_terms(const Shard& shard, std::span<const Count> counts) const;
  bool counts(const std::string& text, double df) const;
  Weights rm3(QueryView query, std::span<const ScoredDocument> documents) const;
  Weights bo1(QueryView query, std::span<const ScoredDocument> documents) const;
  /// Weights that the engines' scores can use.
  QueryTerms usable(const Weights& weights) const;

  const Expansion expansion_;
  const double num_documents_;
  const double integer_scale_;  ///< what the weights of a query sum to where scores are integers; 0 elsewhere
  std::vector<std::unique_ptr<Shard>> shards_;
};

}  // namespace quern
