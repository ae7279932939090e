#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "quern/core/resources.hpp"
#include "quern/formats/collection.hpp"

/// docID orders: which document of a collection gets which docID.
namespace quern {

/// What shapes an order besides the collection. Each order uses what concerns it.
struct OrderOptions {
  std::string by = "natural";
  std::uint64_t seed = 1;  ///< of `random`
};

/// A docID order, and scores of documents where it has them.
struct DocumentOrder {
  std::vector<docid_t> documents;    ///< at each docID: the document's number in the collection
  std::vector<float> pagerank;       ///< by docID; empty where the order has none
  std::vector<float> global_scores;  ///< by docID; empty where the order has none
};

class OrderMethod {
 public:
  virtual ~OrderMethod() = default;
  /// As --by and --order take it.
  virtual std::string_view name() const = 0;
  /// One line for help texts.
  virtual std::string_view description() const = 0;
  /// The order of the collection's documents: the same for any number of threads and any memory.
  virtual DocumentOrder compute(const CollectionReader& collection, const OrderOptions& options,
                                const Resources& resources) const = 0;
};

/// All orders, in the order in which help texts show them. The one place to add an order.
const std::vector<const OrderMethod*>& all_orders();

/// Throws InvalidArgument, with the names there are, where no order is called so.
const OrderMethod& order_named(std::string_view name);

/// What `auto` means for this collection: "url" where all documents have one, else "natural".
std::string_view automatic_order(const CollectionManifest& collection);

/// Throws InvalidArgument where a permutation of so many documents does not fit the memory budget.
void check_order_memory(std::uint64_t num_documents, const Resources& resources);

}  // namespace quern
