#include "quern/order/page_links.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "quern/core/run_stage.hpp"
#include "quern/core/size_text.hpp"
#include "quern/text/url.hpp"

namespace quern {

namespace {

template <class Value>
void sort_unique(std::vector<Value>& values) {
  std::sort(values.begin(), values.end());
  values.erase(std::unique(values.begin(), values.end()), values.end());
}

/// Collects the links of one page.
class OnePage {
 public:
  explicit OnePage(const PageUrls& urls) : urls_(urls) {}

  void add(docid_t document, std::string_view url) {
    ++counts_.links;
    const Hash128 hash = NameTable::hash_of(page_url_of_resolved(url, buffer_));
    const docid_t target = urls_.find(hash);
    if (target == end_docid) {
      leaving_.push_back(hash);
    } else if (target == document || target == urls_.first_with_url_of(document)) {
      ++counts_.self;
    } else {
      targets_.push_back(target);
    }
  }

  /// Ends the page: counts its links and returns the distinct targets, which are valid until clear().
  std::span<const docid_t> finish() {
    const std::size_t met = leaving_.size() + targets_.size();
    sort_unique(leaving_);
    sort_unique(targets_);
    counts_.leaving += leaving_.size();
    counts_.edges += targets_.size();
    counts_.duplicates += met - leaving_.size() - targets_.size();
    return targets_;
  }

  void clear() {
    leaving_.clear();
    targets_.clear();
  }

  const LinkCounts& counts() const { return counts_; }

 private:
  const PageUrls& urls_;
  std::string buffer_;
  std::vector<Hash128> leaving_;
  std::vector<docid_t> targets_;
  LinkCounts counts_;
};

}  // namespace

LinkCounts& LinkCounts::operator+=(const LinkCounts& other) {
  links += other.links;
  edges += other.edges;
  self += other.self;
  leaving += other.leaving;
  unknown += other.unknown;
  duplicates += other.duplicates;
  return *this;
}

LinkCounts for_each_page_links(const CollectionReader& collection, std::size_t chunk, const PageUrls& urls,
                               ChunkBuffers& buffers,
                               const std::function<void(docid_t, std::span<const docid_t>)>& visit) {
  OnePage page(urls);
  docid_t document = collection.first_document(chunk);
  const auto begin_page = [&](docid_t next) {
    if (next == document) return;
    if (const auto targets = page.finish(); !targets.empty()) visit(document, targets);
    page.clear();
    document = next;
  };
  const docid_t first = collection.first_document(chunk), last = first + collection.chunk(chunk).documents;
  const bool is_continued = collection.is_continued(chunk);
  collection.links(chunk, buffers, [&](std::uint32_t row, std::string_view url, std::string_view) {
    if (row == 0 && is_continued) return;
    begin_page(first + row);
    page.add(document, url);
  });
  if (collection.chunk(chunk).unfinished && !(is_continued && first == last)) {
    begin_page(last);
    for (std::size_t next = chunk + 1; collection.first_document(next) == last; ++next) {
      collection.links(next, buffers, [&](std::uint32_t row, std::string_view url, std::string_view) {
        if (row == 0) page.add(document, url);
      });
      if (collection.chunk(next).documents > 0) break;
    }
  }
  begin_page(end_docid);
  return page.counts();
}

namespace {

/// The names of documents in a list of links.
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
    throw InvalidArgument(fmt::format("{}: its URLs do not fit in {}; raise the memory budget", collection.name(),
                                      size_text(resources.memory_bytes)));
  }

  std::string bytes_;
  std::vector<std::uint64_t> ends_;
};

}  // namespace

LinkCounts list_links(const CollectionReader& collection, const Resources& resources,
                      const std::function<void(std::string_view, std::string_view)>& visit) {
  return run_stage(resources, [&]() -> LinkCounts {
    const PageUrls urls(collection, resources);
    const LinkNames names(collection, resources);
    LinkCounts counts;
    ChunkBuffers buffers;
    for (std::size_t chunk = 0; chunk < collection.num_chunks(); ++chunk)
      counts += for_each_page_links(collection, chunk, urls, buffers,
                                    [&](docid_t document, std::span<const docid_t> targets) {
                                      for (const docid_t target : targets) visit(names[document], names[target]);
                                    });
    return counts;
  });
}

}  // namespace quern
