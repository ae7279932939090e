#include <tbb/task_arena.h>

#include <mutex>
#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

#include "quern/order/for_each_chunk.hpp"
#include "quern/order/name_join.hpp"
#include "quern/order/page_links.hpp"
#include "quern/order/page_names.hpp"
#include "quern/text/url.hpp"

namespace quern {
namespace {

/// What a thread needs to read links.
struct LinkReading {
  ChunkBuffers buffers;
  std::vector<std::optional<Hash128>> own_urls;  ///< of the chunk's rows, as hashes; none for documents without a URL
  std::string url_buffer;
};

/// Asks for the documents that links lead to. Links of a page to itself are counted only.
class LinkQuestions {
 public:
  LinkQuestions(const CollectionReader& collection, const Resources& resources)
      : collection_(collection), join_(resources.tmp_folder, resources.memory_bytes / 2) {
    for (const SplitDocument& split : collection.split_documents()) {
      ChunkBuffers buffers;
      split_urls_[split.document] = hash_of(collection.documents(split.last_chunk, buffers).front());
    }
  }

  /// Adds the documents that end in the chunk, and asks for the links in it.
  void add_chunk(std::size_t chunk, LinkReading& reading) {
    read_own_urls(chunk, reading);
    const docid_t first = collection_.first_document(chunk);
    LinkCounts counts;
    std::vector<std::pair<Hash128, docid_t>> asked;
    collection_.links(chunk, reading.buffers, [&](std::uint32_t row, std::string_view url, std::string_view) {
      ++counts.links;
      const Hash128 hash = NameTable::hash_of(page_url_of_resolved(url, reading.url_buffer));
      if (reading.own_urls[row] == hash) {
        ++counts.self;
        return;
      }
      asked.emplace_back(hash, first + row);
      if (asked.size() == asked_at_once) ask(asked);
    });
    ask(asked);
    const std::lock_guard lock(adding_);
    counts_ += counts;
  }

  /// Adds the distinct links between documents to `edges`; returns the counts of all links.
  LinkCounts answer(EdgeSpool& edges) {
    join_.answer([&](docid_t to, docid_t from, bool is_repeated) {
      if (is_repeated) {
        ++counts_.duplicates;
      } else if (to == end_docid) {
        ++counts_.leaving;
      } else {
        ++counts_.edges;
        edges.add({from, to});
      }
    });
    return counts_;
  }

 private:
  static constexpr std::size_t asked_at_once = 4096;

  static std::optional<Hash128> hash_of(const DocumentRow& row) {
    if (row.url.empty()) return std::nullopt;
    return NameTable::hash_of(page_url(row.url));
  }

  /// Adds the documents that end in the chunk.
  void read_own_urls(std::size_t chunk, LinkReading& reading) {
    reading.own_urls.clear();
    for (const DocumentRow& row : collection_.documents(chunk, reading.buffers))
      reading.own_urls.push_back(hash_of(row));
    docid_t document = collection_.first_document(chunk);
    if (collection_.chunk(chunk).unfinished)
      reading.own_urls.push_back(split_urls_.at(document + collection_.chunk(chunk).documents));
    add([&] {
      for (std::uint32_t row = 0; row < collection_.chunk(chunk).documents; ++row, ++document)
        if (reading.own_urls[row]) join_.add_document(*reading.own_urls[row], document);
    });
  }

  void ask(std::vector<std::pair<Hash128, docid_t>>& asked) {
    add([&] {
      for (const auto& [url, from] : asked) join_.ask(url, from);
    });
    asked.clear();
  }

  /// work() adds to the join. This may sort on all threads: meanwhile this one must not begin another chunk, since it
  /// holds the lock.
  template <class Work>
  void add(Work&& work) {
    tbb::this_task_arena::isolate([&] {
      const std::lock_guard lock(adding_);
      work();
    });
  }

  const CollectionReader& collection_;
  std::unordered_map<docid_t, std::optional<Hash128>> split_urls_;  ///< of documents that lie in several chunks
  std::mutex adding_;
  NameJoin<docid_t> join_;
  LinkCounts counts_;
};

}  // namespace

LinkCounts join_page_links(const CollectionReader& collection, const Resources& resources, EdgeSpool& edges) {
  LinkQuestions questions(collection, resources);
  for_each_chunk<LinkReading>(collection, link_reading_bytes(collection), resources.memory_bytes / 2, resources,
                              [&](LinkReading& reading, std::size_t chunk) { questions.add_chunk(chunk, reading); });
  return questions.answer(edges);
}

}  // namespace quern
