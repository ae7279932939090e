#pragma once
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "quern/core/bytes.hpp"
#include "quern/core/isolated_lock.hpp"
#include "quern/formats/collection.hpp"
#include "quern/order/name_join.hpp"
#include "quern/order/page_links.hpp"
#include "quern/order/page_names.hpp"
#include "quern/text/url.hpp"

/// Finds the documents that the pages of a collection link to, by sorting.
namespace quern {

/// What a thread needs to read links.
struct LinkReading {
  ChunkBuffers buffers;
  std::vector<std::optional<Hash128>> own_urls;  ///< of the chunk's rows, as hashes; none for documents without a URL
  std::string url_buffer;
};

/// A link of a page to another page, wherever that is.
struct PageLink {
  docid_t from;          ///< the collection's document
  std::uint32_t chunk;   ///< that has the link
  std::uint32_t number;  ///< among the chunk's links
  std::string_view anchor;
  Hash128 to_url;  ///< NameTable::hash_of() of the page_url() that it leads to
};

/// What is asked about a link, and comes back with the document that it leads to.
template <class Question>
struct LinkQuestion {
  Question question;
  ByteView payload;
};

/// Asks for the documents that links lead to. Links of a page to itself are counted only. Several threads may add
/// chunks.
template <class Question>
class LinkQuestions {
 public:
  LinkQuestions(const CollectionReader& collection, const Resources& resources, std::uint64_t memory_bytes)
      : collection_(collection), join_(resources.tmp_folder, memory_bytes) {
    for (const SplitDocument& split : collection.split_documents()) {
      ChunkBuffers buffers;
      split_urls_[split.document] = hash_of(collection.documents(split.last_chunk, buffers).front());
    }
  }

  /// Adds the documents that end in the chunk, and asks for the links in it: make(PageLink) makes the LinkQuestion, or
  /// nothing if there is none about the link.
  template <class Make>
  void add_chunk(std::size_t chunk, LinkReading& reading, Make&& make) {
    read_own_urls(chunk, reading);
    const docid_t first = collection_.first_document(chunk);
    LinkCounts counts;
    std::vector<Asked> asked;
    std::uint32_t number = 0;
    collection_.links(chunk, reading.buffers, [&](std::uint32_t row, std::string_view url, std::string_view anchor) {
      ++counts.links;
      const PageLink link{first + row, static_cast<std::uint32_t>(chunk), number++, anchor,
                          NameTable::hash_of(page_url_of_resolved(url, reading.url_buffer))};
      if (reading.own_urls[row] == link.to_url) {
        ++counts.self;
        return;
      }
      const std::optional<LinkQuestion<Question>> question = make(link);
      if (!question) return;
      asked.push_back({link.to_url, *question});
      if (asked.size() == asked_at_once) ask(asked);
    });
    ask(asked);
    const std::lock_guard lock(adding_);
    counts_ += counts;
  }

  /// All links so far, and those of pages to themselves.
  const LinkCounts& counts() const { return counts_; }

  /// Calls visit(document, question, is_repeated, payload) as NameJoin::answer() does. To be called once.
  template <class Visit>
  void answer(Visit&& visit) {
    join_.answer(std::forward<Visit>(visit));
  }

 private:
  struct Asked {
    Hash128 url;
    LinkQuestion<Question> about;
  };
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
    with_isolated_lock(adding_, [&] {
      for (std::uint32_t row = 0; row < collection_.chunk(chunk).documents; ++row, ++document)
        if (reading.own_urls[row]) join_.add_document(*reading.own_urls[row], document);
    });
  }

  void ask(std::vector<Asked>& asked) {
    with_isolated_lock(adding_, [&] {
      for (const auto& [url, about] : asked) join_.ask(url, about.question, about.payload);
    });
    asked.clear();
  }

  const CollectionReader& collection_;
  std::unordered_map<docid_t, std::optional<Hash128>> split_urls_;  ///< of documents that lie in several chunks
  std::mutex adding_;
  NameJoin<Question> join_;
  LinkCounts counts_;
};

}  // namespace quern
