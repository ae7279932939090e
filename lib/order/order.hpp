#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "quern/core/resources.hpp"
#include "quern/formats/collection.hpp"
#include "quern/formats/order_file.hpp"
#include "quern/order/document_pagerank.hpp"

/// What making an order needs in memory.
namespace quern {

/// Bytes per document of a permutation, and of a second one while it is computed or inverted.
inline constexpr std::uint64_t permutation_bytes = 2 * sizeof(docid_t);

/// Bytes per document of PageRank by the documents' numbers, and by their docIDs.
inline constexpr std::uint64_t ranks_bytes = 2 * sizeof(float);

/// Throws InvalidArgument if the memory budget can't hold `document_bytes` per document.
void check_order_memory(std::uint64_t num_documents, std::uint64_t document_bytes, const Resources& resources);
/// Throws InvalidArgument if the memory budget can't hold the `needed_bytes` of `what`.
void check_order_memory(const std::string& what, std::uint64_t needed_bytes, const Resources& resources);

// docID orders: which document of a collection gets which docID.

/// What an order is computed from.
struct OrderInput {
  const CollectionReader& collection;
  const OrderOptions& options;
  std::span<const float> pagerank;  ///< of each document, in [0, 1]; empty if there is none
  const Resources& resources;

  /// What the memory budget has besides PageRank and `document_bytes` per document.
  std::uint64_t free_bytes(std::uint64_t document_bytes) const;
};

class OrderMethod {
 public:
  virtual ~OrderMethod() = default;
  /// Which order it is.
  virtual OrderBy by() const = 0;
  /// Its name in options and manifests.
  std::string_view name() const { return name_of_value(order_names, by()); }
  /// One line for help texts.
  virtual std::string_view description() const = 0;
  /// Whether it needs PageRank.
  virtual bool needs_pagerank() const { return false; }
  /// What it can't do without in memory, besides PageRank.
  virtual std::uint64_t needed_bytes(const CollectionManifest& collection) const = 0;
  /// The order of the collection's documents. The same for any number of threads and any memory.
  virtual DocumentOrder compute(const OrderInput& input) const = 0;
};

/// All orders, in the order in which help texts show them. The one place to add an order.
const std::vector<const OrderMethod*>& all_orders();

/// The method that computes this order.
const OrderMethod& order_method(OrderBy by);

/// The default order of a collection: `url` if all documents have a URL, else `natural`.
OrderBy automatic_order(const CollectionManifest& collection);

/// The order of the corpus.
const OrderMethod& natural_order();
/// Lexicographic by reversed host, then path; documents without a URL last, in the order of the corpus.
const OrderMethod& url_order();
/// By falling global score (global_score.hpp), ties by URL, then by docno.
const OrderMethod& score_order();
/// Documents that share terms near each other (bisection.hpp); starts from the URL order.
const OrderMethod& bisection_order();
/// A random permutation from a seed, for comparison.
const OrderMethod& random_order();

/// Throws InvalidArgument, with the size, if the memory budget can't hold what the order that make_order() would
/// compute needs, PageRank included; and if an order that needs PageRank is to have none. Messages call the collection
/// `name`.
void check_order(const std::string& name, const CollectionManifest& collection, const OrderOptions& options,
                 const PagerankInput& pagerank, const Resources& resources);

/// Computes the order that `options` name, with the documents' PageRank by docID where `pagerank` asks for it or the
/// order needs it. Fills `report` with where PageRank came from. Throws as check_order() does.
DocumentOrder make_order(const CollectionReader& collection, const OrderOptions& options, const PagerankInput& pagerank,
                         const Resources& resources, PagerankReport* report = nullptr);

}  // namespace quern
