#pragma once
#include <cstdint>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <variant>
#include <vector>

#include "quern/core/bytes.hpp"
#include "quern/core/parallel_batch.hpp"
#include "quern/core/resources.hpp"
#include "quern/core/types.hpp"
#include "quern/formats/collection.hpp"
#include "quern/order/page_links.hpp"
#include "quern/order/page_names.hpp"
#include "quern/text/url.hpp"

/// Graphs of links by target (compressed sparse rows), 4 bytes per edge: in memory, or in a work file.
namespace quern {

/// In memory.
struct InLinks {
  std::vector<std::uint64_t> begins;       ///< where each document's row begins in `sources`, and the end
  std::vector<docid_t> sources;            ///< row by row, the documents that link to the row's: distinct, rising
  std::vector<std::uint32_t> out_degrees;  ///< of each document

  docid_t documents() const { return static_cast<docid_t>(out_degrees.size()); }
  std::uint64_t edges() const { return sources.size(); }
  std::span<const docid_t> row(docid_t document) const {
    return {sources.data() + begins[document], sources.data() + begins[document + std::size_t{1}]};
  }
};

/// In a work file: the same rows, which are read from front to back, each run of them (row_runs()) by itself.
struct SpooledInLinks {
  RecordSpool<docid_t> rows;               ///< sources of the first document, end_docid, sources of the second …
  std::vector<docid_t> runs;               ///< the first row of each run, and the end
  std::vector<std::uint64_t> run_begins;   ///< where they are in `rows`, and the end
  std::vector<std::uint32_t> out_degrees;  ///< of each document

  docid_t documents() const { return static_cast<docid_t>(out_degrees.size()); }
  std::uint64_t edges() const { return rows.count() - documents(); }
};

using PageGraph = std::variant<InLinks, SpooledInLinks>;

/// The graph of these edges between documents below `documents`, each edge once.
InLinks make_in_links(const EdgeSpool& edges, docid_t documents, const Resources& resources);
SpooledInLinks spool_in_links(const EdgeSpool& edges, docid_t documents, const Resources& resources);

/// The graph in memory if the budget holds it and compute_pagerank(), else in a work file. Throws InvalidArgument as
/// check_pagerank_memory() does; messages call what the edges come from `name`.
PageGraph make_page_graph(const std::string& name, const EdgeSpool& edges, docid_t documents,
                          const Resources& resources);

/// Throws InvalidArgument, with the name and the size, if the memory budget can't hold PageRank of as many documents:
/// 20 bytes each.
void check_pagerank_memory(const std::string& name, std::uint64_t documents, const Resources& resources);

/// Cuts the rows into runs with about the same number of edges and rows, as work for threads: the first row of each
/// run, and the end. The runs depend on the graph alone, so that sums over them do too.
std::vector<docid_t> row_runs(const InLinks& graph);

// Finds the documents that the pages of a collection link to, by sorting.

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
