#pragma once
#include <mutex>
#include <unordered_map>
#include <variant>

#include "quern/core/parallel_batch.hpp"
#include "quern/formats/collection.hpp"
#include "quern/order/page_links.hpp"
#include "quern/order/page_names.hpp"
#include "quern/text/url.hpp"

/// Graphs of links by target (compressed sparse rows), 4 bytes per edge: in memory, or in a work file.
namespace quern {

/// A graph in memory.
struct InLinks {
  std::vector<std::uint64_t> begins;       ///< start of each document's row in `sources`, and the end
  std::vector<docid_t> sources;            ///< for each row, the documents that link to it: distinct, increasing
  std::vector<std::uint32_t> out_degrees;  ///< of each document

  docid_t documents() const { return static_cast<docid_t>(out_degrees.size()); }
  std::uint64_t edges() const { return sources.size(); }
  std::span<const docid_t> row(docid_t document) const {
    return {sources.data() + begins[document], sources.data() + begins[document + std::size_t{1}]};
  }
};

/// A graph in a work file: the same rows, read sequentially, each run of them (row_runs()) separately.
struct SpooledInLinks {
  RecordSpool<docid_t> rows;               ///< sources of the first document, end_docid, sources of the second …
  std::vector<docid_t> runs;               ///< the first row of each run, and the end
  std::vector<std::uint64_t> run_begins;   ///< start of each run in `rows`, and the end
  std::vector<std::uint32_t> out_degrees;  ///< of each document

  docid_t documents() const { return static_cast<docid_t>(out_degrees.size()); }
  std::uint64_t edges() const { return rows.count() - documents(); }
};

using PageGraph = std::variant<InLinks, SpooledInLinks>;

/// The graph of these edges between documents below `documents`, without duplicate edges.
InLinks make_in_links(const EdgeSpool& edges, docid_t documents, const Resources& resources);
SpooledInLinks spool_in_links(const EdgeSpool& edges, docid_t documents, const Resources& resources);

/// The graph in memory if the budget holds it together with compute_pagerank(), otherwise in a work file. Throws
/// InvalidArgument like check_pagerank_memory(); messages call the source of the edges `name`.
PageGraph make_page_graph(const std::string& name, const EdgeSpool& edges, docid_t documents,
                          const Resources& resources);

/// Throws InvalidArgument, with the name and the size, if PageRank of `documents` documents, 20 bytes each, does not
/// fit in the memory budget.
void check_pagerank_memory(const std::string& name, std::uint64_t documents, const Resources& resources);

/// Divides the rows into runs with about the same number of edges and rows, one per task: the first row of each run,
/// and the end. The runs depend only on the graph, so that sums over them do too.
std::vector<docid_t> row_runs(const InLinks& graph);

/// A thread's buffers for reading links.
struct LinkReading {
  ChunkBuffers buffers;
  std::vector<std::optional<Hash128>> row_urls;  ///< URL hashes of the chunk's rows; none for documents without a URL
  std::string url_buffer;
};

/// A link of a page to any other page.
struct PageLink {
  docid_t from;          ///< the collection's document
  std::uint32_t chunk;   ///< the chunk with the link
  std::uint32_t number;  ///< index among the chunk's links
  std::string_view anchor;
  Hash128 to_url;  ///< NameTable::hash_of() of the target's page_url()
};

/// A question about a link, returned with the target document.
template <class Question>
struct LinkQuestion {
  Question question;
  ByteView payload;
};

/// Finds the target documents of links by sorting. Links of a page to itself are only counted. Several threads may add
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

  /// Adds the documents that end in the chunk, and a question for each of its links: make(PageLink) returns the
  /// LinkQuestion, or nothing to skip the link.
  template <class Make>
  void add_chunk(std::size_t chunk, LinkReading& reading, Make&& make) {
    read_row_urls(chunk, reading);
    const docid_t first = collection_.first_document(chunk);
    LinkCounts counts;
    std::vector<Asked> asked;
    std::uint32_t number = 0;
    collection_.links(chunk, reading.buffers, [&](std::uint32_t row, std::string_view url, std::string_view anchor) {
      ++counts.links;
      const PageLink link{first + row, static_cast<std::uint32_t>(chunk), number++, anchor,
                          NameTable::hash_of(page_url_of_resolved(url, reading.url_buffer))};
      if (reading.row_urls[row] == link.to_url) {
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

  /// Counts of all links so far, and of links from pages to themselves.
  const LinkCounts& counts() const { return counts_; }

  /// Calls visit(document, question, is_repeated, payload) as NameJoin::answer() does. Call once.
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
  void read_row_urls(std::size_t chunk, LinkReading& reading) {
    reading.row_urls.clear();
    for (const DocumentRow& row : collection_.documents(chunk, reading.buffers))
      reading.row_urls.push_back(hash_of(row));
    docid_t document = collection_.first_document(chunk);
    if (collection_.chunk(chunk).unfinished)
      reading.row_urls.push_back(split_urls_.at(document + collection_.chunk(chunk).documents));
    with_isolated_lock(adding_, [&] {
      for (std::uint32_t row = 0; row < collection_.chunk(chunk).documents; ++row, ++document)
        if (reading.row_urls[row]) join_.add_document(*reading.row_urls[row], document);
    });
  }

  void ask(std::vector<Asked>& asked) {
    with_isolated_lock(adding_, [&] {
      for (const auto& [url, about] : asked) join_.ask(url, about.question, about.payload);
    });
    asked.clear();
  }

  const CollectionReader& collection_;
  std::unordered_map<docid_t, std::optional<Hash128>> split_urls_;  ///< of documents that span several chunks
  std::mutex adding_;
  NameJoin<Question> join_;
  LinkCounts counts_;
};

/// A graph of links and its source.
struct ReadGraph {
  PageGraph graph;
  docid_t documents = 0;
  LinkCounts counts;
  std::string file_hash;  ///< hash_text() of a link file's bytes, decompressed; empty for a collection
};

/// The links between a collection's documents, from their pages.
ReadGraph graph_of_collection(const CollectionReader& collection, const Resources& resources);

/// The links of a file (formats/tables/link_file.md) between a collection's documents.
ReadGraph graph_of_link_file(const std::string& path, const CollectionReader& collection, const Resources& resources);

/// The links of a file without a collection: its names become documents 0, 1, 2 … in order of first occurrence. The
/// graph has `documents` documents, or one per name if there are more names.
ReadGraph graph_of_link_file(const std::string& path, docid_t documents, const Resources& resources);

}  // namespace quern
