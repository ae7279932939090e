#include "quern/order/for_each_chunk.hpp"
#include "quern/order/link_questions.hpp"
#include "quern/order/page_links.hpp"

namespace quern {

LinkCounts join_page_links(const CollectionReader& collection, const Resources& resources, EdgeSpool& edges) {
  LinkQuestions<docid_t> questions(collection, resources, resources.memory_bytes / 2);
  for_each_chunk<LinkReading>(collection, link_reading_bytes(collection), resources.memory_bytes / 2, resources,
                              [&](LinkReading& reading, std::size_t chunk) {
                                questions.add_chunk(chunk, reading, [](const PageLink& link) {
                                  return std::optional(LinkQuestion<docid_t>{link.from, {}});
                                });
                              });
  LinkCounts counts = questions.counts();
  questions.answer([&](docid_t to, docid_t from, bool is_repeated, ByteView) {
    if (is_repeated) {
      ++counts.duplicates;
    } else if (to == end_docid) {
      ++counts.leaving;
    } else {
      ++counts.edges;
      edges.add({from, to});
    }
  });
  return counts;
}

}  // namespace quern
