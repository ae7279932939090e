#pragma once
#include "quern/formats/collection.hpp"
#include "quern/formats/container.hpp"
#include "quern/formats/manifest_settings.hpp"

/// The order file: a docID order of one collection. See order.md.
namespace quern {

/// The docID orders; see order/order.hpp.
enum class OrderBy { natural, url, score, bisection, random };
inline constexpr NamedValue<OrderBy> order_names[] = {{"natural", OrderBy::natural},
                                                      {"url", OrderBy::url},
                                                      {"score", OrderBy::score},
                                                      {"bisection", OrderBy::bisection},
                                                      {"random", OrderBy::random}};

/// Options of orders; each order uses some of them.
struct OrderOptions {
  OrderBy by = OrderBy::natural;
  std::uint64_t seed = 1;        ///< of `random`
  DocumentScoreSettings scores;  ///< of orders with PageRank; alpha, k1 and b only for `score`
};

/// Consecutive docIDs of an order.
struct DocidRange {
  docid_t first = 0, end = end_docid;

  bool has(docid_t docid) const { return docid >= first && docid < end; }
  docid_t size() const { return end - first; }
};

/// A docID order, with document scores if it has any.
struct DocumentOrder {
  std::vector<docid_t> documents;    ///< document number in the collection, by docID
  std::vector<float> pagerank;       ///< by docID, in [0, 1]; empty if the order has none
  std::vector<float> global_scores;  ///< by docID, never increasing; empty if the order has none
  PagerankOrigin pagerank_origin = {};
};

struct OrderManifest {
  OrderOptions options;
  std::uint64_t documents = 0;
  std::string collection_hash;  ///< of its collection
  bool has_pagerank = false;
  bool has_global_scores = false;
  std::vector<docid_t> shards;  ///< the first docID of each shard; empty if the order is not cut

  /// The docIDs of shard `number`, from 0.
  DocidRange shard(std::size_t number) const;
  std::string to_json() const;
  static OrderManifest from_json(const std::string& text, const std::string& what);
};

/// Writes an order of `collection`, cut into shards at these first docIDs; no shards if empty.
void write_order(File& out, const DocumentOrder& order, const OrderOptions& options, const CollectionReader& collection,
                 const std::vector<docid_t>& shards = {});

/// An order file, opened and checked.
class OrderReader : public ManifestReader<OrderReader, OrderManifest, FileKind::order> {
 public:
  explicit OrderReader(ContainerReader container);

  /// Throws InvalidArgument if the order belongs to another collection.
  void check_belongs_to(const CollectionReader& collection) const;
  /// Throws CorruptFile if the documents aren't a permutation.
  DocumentOrder load() const;
};

}  // namespace quern
