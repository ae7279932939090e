#include <numeric>

#include "quern/order/orders.hpp"

namespace quern {
namespace {

class NaturalOrder : public OrderMethod {
 public:
  std::string_view name() const override { return "natural"; }
  std::string_view description() const override { return "as the documents stand in the corpus"; }
  DocumentOrder compute(const OrderInput& input) const override {
    check_order_memory(input.collection.num_documents(), permutation_bytes, input.resources);
    DocumentOrder order;
    order.documents.resize(input.collection.num_documents());
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
