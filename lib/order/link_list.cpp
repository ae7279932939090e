#include "quern/order/link_list.hpp"

#include "quern/core/bytes.hpp"
#include "quern/core/run_stage.hpp"
#include "quern/io/external_sort.hpp"

namespace quern {
namespace {

/// The names of a collection's documents in their order: URLs, or docnos of documents without one.
class DocumentNames {
 public:
  explicit DocumentNames(const CollectionReader& collection) : collection_(collection) {}

  /// The name of the document; a document before the last one that was asked for is not to be asked for.
  std::string_view operator[](docid_t document) {
    while (document - first_ >= rows_.size()) {
      first_ = collection_.first_document(chunk_);
      rows_ = collection_.documents(chunk_++, buffers_);
    }
    const DocumentRow& row = rows_[document - first_];
    return row.url.empty() ? row.docno : row.url;
  }

 private:
  const CollectionReader& collection_;
  ChunkBuffers buffers_;
  std::size_t chunk_ = 0;
  docid_t first_ = 0;
  std::span<const DocumentRow> rows_;
};

}  // namespace

LinkCounts list_links(const CollectionReader& collection, const Resources& resources,
                      const std::function<void(std::string_view, std::string_view)>& visit) {
  return run_stage(resources, [&] {
    EdgeSpool edges(resources.tmp_folder);
    const LinkCounts counts = spool_page_links(collection, resources, edges);
    // Sorted by target, each edge gets the target's name; sorted by source then, it is told with both.
    ExternalSort by_target(resources.tmp_folder, resources.memory_bytes / 2);
    edges.for_each([&](LinkEdge edge) { by_target.add(SortKey(edge.to, edge.from).view(), {}); });
    ExternalSort by_source(resources.tmp_folder, resources.memory_bytes / 2);
    DocumentNames targets(collection), sources(collection);
    by_target.merge([&](std::string_view key, ByteView) {
      const auto to = number_in_key<docid_t>(key, 0), from = number_in_key<docid_t>(key, sizeof to);
      by_source.add(SortKey(from, to).view(), as_bytes(targets[to]));
    });
    by_source.merge(
        [&](std::string_view key, ByteView name) { visit(sources[number_in_key<docid_t>(key, 0)], as_text(name)); });
    return counts;
  });
}

}  // namespace quern
