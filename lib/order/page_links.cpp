#include "quern/order/page_links.hpp"

#include <mutex>

#include "quern/io/external_sort.hpp"
#include "quern/order/document_terms.hpp"
#include "quern/order/in_links.hpp"
#include "quern/order/page_names.hpp"
#include "quern/text/url.hpp"

namespace quern {

LinkCounts& LinkCounts::operator+=(const LinkCounts& other) {
  links += other.links;
  edges += other.edges;
  self += other.self;
  leaving += other.leaving;
  unknown += other.unknown;
  duplicates += other.duplicates;
  return *this;
}

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
    if (target == end_docid)
      leaving_.push_back(hash);
    else if (target == document || target == urls_.first_with_url_of(document))
      ++counts_.self;
    else
      targets_.push_back(target);
  }

  /// Ends the page: counts its links and returns the distinct targets, valid until clear().
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

/// Calls visit(document, targets) for each document that begins in the chunk and links to others: in order, with its
/// distinct targets, increasing.
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

/// Maximum memory of a thread for the links of a page: 16-byte hashes in a table that doubles as it grows, where a link
/// takes about twelve bytes in the collection.
std::uint64_t page_bytes(const CollectionReader& collection) {
  const auto links = static_cast<std::size_t>(ChunkPiece::links);
  std::uint64_t max_bytes = 0;
  for (std::size_t chunk = 0; chunk < collection.num_chunks(); ++chunk)
    max_bytes = std::max<std::uint64_t>(max_bytes, collection.chunk(chunk).raw_sizes[links]);
  for (const SplitDocument& split : collection.split_documents()) {
    std::uint64_t bytes = 0;
    for (std::size_t chunk = split.first_chunk; chunk <= split.last_chunk; ++chunk)
      bytes += collection.chunk(chunk).raw_sizes[links];
    max_bytes = std::max(max_bytes, bytes);
  }
  return 4 * max_bytes;
}

/// Whether the table of URLs and one thread's memory fit in the budget.
bool table_fits(const CollectionReader& collection, const Resources& resources) {
  return PageUrls::table_bytes(collection) + page_bytes(collection) + link_reading_bytes(collection) <=
         resources.memory_bytes;
}

/// The names of a collection's documents in order: URLs, or docnos of documents without one.
class LinkedDocumentNames {
 public:
  explicit LinkedDocumentNames(const CollectionReader& collection) : collection_(collection) {}

  /// The document's name. Calls must be in document order.
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

LinkCounts look_up_page_links(const CollectionReader& collection, const Resources& resources, EdgeSpool& edges) {
  const std::uint64_t left =
      resources.memory_bytes - std::min(PageUrls::table_bytes(collection), resources.memory_bytes);
  const std::uint64_t reading_bytes = page_bytes(collection) + link_reading_bytes(collection);
  const PageUrls urls(collection, std::clamp<std::uint64_t>(left / std::max<std::uint64_t>(reading_bytes, 1), 1,
                                                            std::uint64_t{resources.threads} * 2));
  LinkCounts counts;
  std::mutex spooling;
  const auto read_chunk = [&](ChunkBuffers& buffers, std::size_t chunk) {
    std::vector<LinkEdge> chunk_edges;
    const auto keep = [&](docid_t document, std::span<const docid_t> targets) {
      for (const docid_t target : targets) chunk_edges.push_back({document, target});
    };
    const LinkCounts met = for_each_page_links(collection, chunk, urls, buffers, keep);
    const std::lock_guard lock(spooling);
    edges.add_all(chunk_edges);
    counts += met;
  };
  for_each_chunk<ChunkBuffers>(collection, reading_bytes, left, resources, read_chunk);
  return counts;
}

LinkCounts spool_page_links(const CollectionReader& collection, const Resources& resources, EdgeSpool& edges) {
  return run_stage(resources, [&] {
    check_free_space(resources.tmp_folder, collection.manifest().links * sizeof(LinkEdge), "the collection's links");
    resources.progress->start("read links", collection.num_documents(), "documents");
    const LinkCounts counts = table_fits(collection, resources) ? look_up_page_links(collection, resources, edges)
                                                                : join_page_links(collection, resources, edges);
    resources.progress->finish();
    return counts;
  });
}

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

LinkCounts list_links(const CollectionReader& collection, const Resources& resources,
                      const std::function<void(std::string_view, std::string_view)>& visit) {
  return run_stage(resources, [&] {
    EdgeSpool edges(resources.tmp_folder);
    const LinkCounts counts = spool_page_links(collection, resources, edges);
    // Sorted by target, each edge gets the target's name; sorted by source then, it gets both.
    ExternalSort by_target(resources.tmp_folder, resources.memory_bytes / 2);
    edges.for_each([&](LinkEdge edge) { by_target.add(SortKey(edge.to, edge.from).view(), {}); });
    ExternalSort by_source(resources.tmp_folder, resources.memory_bytes / 2);
    LinkedDocumentNames targets(collection), sources(collection);
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
