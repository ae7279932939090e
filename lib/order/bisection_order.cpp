#include <fmt/format.h>

#include <utility>

#include "quern/order/bisection.hpp"
#include "quern/order/document_terms.hpp"
#include "quern/order/orders.hpp"

namespace quern {
namespace {

/// The second time, ranges begin with what the first has found: another hundredth of the docIDs' bits. A third saves a
/// quarter of that.
constexpr unsigned rounds = 2;

void check_memory(const OrderInput& input) {
  const CollectionManifest& collection = input.collection.manifest();
  const std::uint64_t needed_bytes = collection.documents * (permutation_bytes + sizeof(TermSet)) +
                                     DocumentTerms::needed_bytes(collection) +
                                     bisection_bytes(collection.documents, collection.terms, input.resources.threads);
  check_order_memory(
      fmt::format("bisection of {} documents with {} postings", collection.documents, collection.postings),
      needed_bytes, input.resources);
}

class BisectionOrder : public OrderMethod {
 public:
  std::string_view name() const override { return "bisection"; }
  std::string_view description() const override {
    return "documents that share terms near each other, by recursive graph bisection from the URL order on";
  }

  DocumentOrder compute(const OrderInput& input) const override {
    check_memory(input);
    DocumentOrder order = url_order().compute(input);
    for (unsigned round = 0; round < rounds; ++round) {
      DocumentTerms terms(input.collection, input.resources);
      std::vector<TermSet> documents;
      documents.reserve(order.documents.size());
      for (const docid_t document : order.documents) documents.push_back(terms.documents()[document]);
      bisect(documents, terms.num_terms(), {}, input.resources);
      for (std::size_t i = 0; i < documents.size(); ++i) order.documents[i] = documents[i].document;
    }
    return order;
  }
};

}  // namespace

const OrderMethod& bisection_order() {
  static const BisectionOrder order;
  return order;
}

}  // namespace quern
