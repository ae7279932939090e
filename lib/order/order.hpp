#pragma once
#include "quern/formats/collection.hpp"
#include "quern/formats/order_file.hpp"
#include "quern/order/pagerank.hpp"

/// Memory for computing an order.
namespace quern {

/// Bytes per document of a permutation, and of a second one while it is computed or inverted.
inline constexpr std::uint64_t permutation_bytes = 2 * sizeof(docid_t);

/// Bytes per document of PageRank by document number, and by docID.
inline constexpr std::uint64_t ranks_bytes = 2 * sizeof(float);

/// Throws InvalidArgument if the `needed_bytes` of `what` do not fit in the memory budget.
void check_order_memory(const std::string& what, std::uint64_t needed_bytes, const Resources& resources);

/// The input of an order.
struct OrderInput {
  const CollectionReader& collection;
  const OrderOptions& options;
  std::span<const float> pagerank;  ///< of each document, in [0, 1]; empty if there is none
  const Resources& resources;

  /// Memory left besides PageRank and `document_bytes` per document.
  std::uint64_t free_bytes(std::uint64_t document_bytes) const;
};

/// A docID order: decides which document of a collection gets which docID.
struct OrderMethod {
  OrderBy by;
  bool needs_pagerank = false;
  /// One line for help texts.
  std::string_view description;
  /// Minimum memory, besides PageRank.
  std::uint64_t (*needed_bytes)(const CollectionManifest& collection);
  /// The order of the collection's documents. The same for any number of threads and any memory.
  DocumentOrder (*compute)(const OrderInput& input);

  /// Its name in options and manifests.
  std::string_view name() const { return name_of_value(order_names, by); }
};

/// All orders, in the order of help texts. To add an order, extend this list.
std::span<const OrderMethod> all_orders();

/// The method that computes this order.
const OrderMethod& order_method(OrderBy by);

/// The default order of a collection: `url` if all documents have a URL, otherwise `natural`.
OrderBy automatic_order(const CollectionManifest& collection);

/// Lexicographic by reversed host, then path; documents without a URL last, in the order of the corpus.
DocumentOrder order_by_url(const OrderInput& input);

/// By decreasing global score, ties by URL, then by docno.
DocumentOrder order_by_score(const OrderInput& input);
std::uint64_t score_order_bytes(const CollectionManifest& collection);

/// Documents that share terms near each other (bisection.hpp); starts from the URL order.
DocumentOrder order_by_bisection(const OrderInput& input);
std::uint64_t bisection_order_bytes(const CollectionManifest& collection);

/// Throws InvalidArgument, with the size, if the order that make_order() would compute, PageRank included, does not fit
/// in the memory budget, or if the order needs PageRank and `pagerank` excludes it. Messages call the collection
/// `name`.
void check_order(const std::string& name, const CollectionManifest& collection, const OrderOptions& options,
                 const PagerankInput& pagerank, const Resources& resources);

/// Computes the order that `options` name, with the documents' PageRank by docID if `pagerank` requests it or the order
/// needs it. Fills `report` with the source of PageRank. Throws like check_order().
DocumentOrder make_order(const CollectionReader& collection, const OrderOptions& options, const PagerankInput& pagerank,
                         const Resources& resources, PagerankReport* report = nullptr);

// Global scores (Wang et al.: Efficient GPU-based Query Processing with Pruned List Caching in Search Engines, 3.2):
// GS(d) = alpha · PR(d) + (1 - alpha) · max over the terms t of d of IR(d, t), both terms in [0, 1]. No query with the
// same alpha, k1 and b scores d higher, since a score is alpha · PR(d) and (1 - alpha) times a weighted mean of IR(d,
// t).

/// GS+: an upper bound of d's float32 score in every query. `pagerank` is PR(d), `best_impact` the greatest float32 f /
/// (K_d + f) of d's postings, `terms` their number.
///
/// A query's score sums, in float32, alpha' ⊗ PR and w_t ⊗ impact for each query term t in d, with alpha' =
/// float(alpha), w_t = float((1 - alpha) · share_t), and shares that sum to 1 over all terms of the query. Let u =
/// 2^-24. Each of these addends exceeds its exact value by at most the factor (1 + u)^2: one rounding of alpha' or w_t,
/// one of the product. There are at most n + 1 addends for n = `terms`, hence n additions, each with a factor of at
/// most 1 + u. The exact addends sum to at most GS, so the score is at most GS · (1 + u)^(n + 2), which is less than GS
/// · (1 + 2 (n + 4) u) as long as (n + 2) u < 1. Shares and GS itself are computed in double, with a total error below
/// n · 2^-52; the slack's two spare terms cover it, and the final rounding upwards covers its own error.
float global_score_bound(float pagerank, float best_impact, std::uint32_t terms, double alpha);

}  // namespace quern
