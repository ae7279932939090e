#include <utility>

#include "quern/core/random.hpp"
#include "quern/order/orders.hpp"

namespace quern {
namespace {

class RandomOrder : public OrderMethod {
 public:
  std::string_view name() const override { return "random"; }
  std::string_view description() const override { return "a permutation drawn with --seed, to compare with"; }
  DocumentOrder compute(const OrderInput& input) const override {
    DocumentOrder order = natural_order().compute(input);
    RandomBits random(input.options.seed);
    auto& documents = order.documents;
    for (std::size_t i = documents.size(); i > 1; --i) std::swap(documents[i - 1], documents[random.below(i)]);
    return order;
  }
};

}  // namespace

const OrderMethod& random_order() {
  static const RandomOrder order;
  return order;
}

}  // namespace quern
