#include <numeric>

#include "quern/order/orders.hpp"

namespace quern {
namespace {

class NaturalOrder : public OrderMethod {
 public:
  std::string_view name() const override { return "natural"; }
  std::string_view description() const override { return "as the documents stand in the corpus"; }
  DocumentOrder compute(const CollectionReader& collection, const OrderOptions&,
                        const Resources& resources) const override {
    check_order_memory(collection.num_documents(), resources);
    DocumentOrder order;
    order.documents.resize(collection.num_documents());
    std::iota(order.documents.begin(), order.documents.end(), docid_t{0});
    return order;
  }
};

}  // namespace

const OrderMethod& natural_order() {
  static const NaturalOrder order;
  return order;
}

}  // namespace quern
