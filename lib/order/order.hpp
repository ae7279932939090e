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

/// docID orders: which document of a collection gets which docID.
namespace quern {

/// What an order is made from.
struct OrderInput {
  const CollectionReader& collection;
  const OrderOptions& options;
  std::span<const float> pagerank;  ///< of each document, in [0, 1]; empty where there is none
  const Resources& resources;
};

class OrderMethod {
 public:
  virtual ~OrderMethod() = default;
  /// As --by and --order take it.
  virtual std::string_view name() const = 0;
  /// One line for help texts.
  virtual std::string_view description() const = 0;
  /// Where the collection has no links and no file tells, all documents have the same PageRank.
  virtual bool needs_pagerank() const { return false; }
  /// The order of the collection's documents: the same for any number of threads and any memory.
  virtual DocumentOrder compute(const OrderInput& input) const = 0;
};

/// All orders, in the order in which help texts show them. The one place to add an order.
const std::vector<const OrderMethod*>& all_orders();

/// Throws InvalidArgument, with the names there are, where no order is called so.
const OrderMethod& order_named(std::string_view name);

/// What `auto` means for this collection: "url" where all documents have one, else "natural".
std::string_view automatic_order(const CollectionManifest& collection);

/// What a permutation takes for each document, and as much again while it is made or inverted.
inline constexpr std::uint64_t permutation_bytes = 2 * sizeof(docid_t);

/// Throws InvalidArgument where the memory budget has no room for so much of each document.
void check_order_memory(std::uint64_t num_documents, std::uint64_t document_bytes, const Resources& resources);
/// Likewise for so many bytes in all; `what` needs them.
void check_order_memory(const std::string& what, std::uint64_t needed_bytes, const Resources& resources);

/// Documents as they stand in the corpus.
const OrderMethod& natural_order();
/// Lexicographic by reversed host, then path; documents without a URL last, as they stand in the corpus.
const OrderMethod& url_order();
/// By falling global score (global_score.hpp), ties by URL, then by docno.
const OrderMethod& score_order();
/// Documents that share terms near each other (bisection.hpp), where that leaves a choice in the URL order.
const OrderMethod& bisection_order();
/// A permutation drawn with a seed: the order that helps nobody, to compare with.
const OrderMethod& random_order();

/// The order that `options` ask for, with the documents' PageRank by docID where links between the collection's pages
/// or a file give it, and where the order needs it. `report` learns where PageRank came from.
DocumentOrder make_order(const CollectionReader& collection, const OrderOptions& options, const PagerankFiles& files,
                         const Resources& resources, PagerankReport* report = nullptr);

}  // namespace quern
