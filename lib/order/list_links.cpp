#include "quern/order/list_links.hpp"

#include <fmt/format.h>

#include "quern/core/size_text.hpp"

namespace quern {
namespace {

/// What documents are called in a list of links.
class LinkNames {
 public:
  LinkNames(const CollectionReader& collection, const Resources& resources) {
    ChunkBuffers buffers;
    ends_.reserve(collection.num_documents());
    for (std::size_t chunk = 0; chunk < collection.num_chunks(); ++chunk) {
      for (const DocumentRow& row : collection.documents(chunk, buffers)) {
        bytes_ += row.url.empty() ? row.docno : row.url;
        ends_.push_back(bytes_.size());
      }
      check(collection, resources);
    }
  }

  std::string_view operator[](docid_t document) const {
    const std::uint64_t begin = document == 0 ? 0 : ends_[document - 1];
    return std::string_view(bytes_).substr(begin, ends_[document] - begin);
  }

 private:
  void check(const CollectionReader& collection, const Resources& resources) const {
    if (bytes_.capacity() + ends_.capacity() * sizeof(std::uint64_t) <= resources.memory_bytes) return;
    throw InvalidArgument(fmt::format("{}: its URLs do not fit in {}; allow more memory with QUERN_MEMORY",
                                      collection.name(), size_text(resources.memory_bytes)));
  }

  std::string bytes_;
  std::vector<std::uint64_t> ends_;
};

}  // namespace

LinkCounts list_links(const CollectionReader& collection, const Resources& resources,
                      const std::function<void(std::string_view, std::string_view)>& visit) {
  const PageUrls urls(collection, resources);
  const LinkNames names(collection, resources);
  LinkCounts counts;
  ChunkBuffers buffers;
  for (std::size_t chunk = 0; chunk < collection.num_chunks(); ++chunk)
    counts +=
        for_each_page_links(collection, chunk, urls, buffers, [&](docid_t document, std::span<const docid_t> targets) {
          for (const docid_t target : targets) visit(names[document], names[target]);
        });
  return counts;
}

}  // namespace quern
