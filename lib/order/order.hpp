#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "quern/core/resources.hpp"
#include "quern/formats/collection.hpp"
#include "quern/formats/order_file.hpp"

/// docID orders: which document of a collection gets which docID.
namespace quern {

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
