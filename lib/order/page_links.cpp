#include "quern/order/page_links.hpp"

#include <algorithm>

#include "quern/text/url.hpp"

namespace quern {
namespace {

template <class Value>
void sort_unique(std::vector<Value>& values) {
  std::sort(values.begin(), values.end());
  values.erase(std::unique(values.begin(), values.end()), values.end());
}

/// The links of one page, gathered one by one.
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

  /// Ends the page: counts its links and gives the distinct targets, which stay until clear().
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
  const auto end_page = [&] {
    if (const auto targets = page.finish(); !targets.empty()) visit(document, targets);
    page.clear();
  };
  collection.links(chunk, buffers, [&](std::uint32_t place, std::string_view url, std::string_view) {
    const docid_t from = collection.first_document(chunk) + place;
    if (from != document) end_page();
    document = from;
    page.add(document, url);
  });
  end_page();
  return page.counts();
}

}  // namespace quern
