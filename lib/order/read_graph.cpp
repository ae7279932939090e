#include "quern/order/read_graph.hpp"

#include <fmt/format.h>
#include <tbb/enumerable_thread_specific.h>
#include <tbb/parallel_for.h>

#include <mutex>

#include "quern/formats/tables/document_tables.hpp"
#include "quern/io/hashing_source.hpp"

namespace quern {
namespace {

/// A page's links are distinct when they come here, a file's are not.
ReadGraph make_graph(const EdgeSpool& edges, docid_t documents, LinkCounts counts, std::string file_hash,
                     const Resources& resources) {
  ReadGraph read{make_in_links(edges, documents, resources), counts, std::move(file_hash)};
  read.counts.edges = read.graph.edges();
  read.counts.duplicates += edges.count() - read.graph.edges();
  return read;
}

/// Spools the edges of a link file. number(name) is a name's document, end_docid where it has none.
template <class Number>
LinkCounts spool_links(ByteSource& source, Number&& number, EdgeSpool& edges, const Resources& resources) {
  constexpr std::uint64_t progress_lines = 1 << 16;
  LinkCounts counts;
  std::string last_name;
  docid_t last = end_docid;
  resources.progress->start("links", 0, "links");
  read_links(source, [&](std::string_view from_name, std::string_view to_name) {
    // Files have a page's links one after the other, mostly.
    if (counts.links == 0 || from_name != last_name) {
      last_name = from_name;
      last = number(from_name);
    }
    if (++counts.links % progress_lines == 0) resources.progress->add(progress_lines);
    const docid_t to = number(to_name);
    if (last == end_docid || to == end_docid) {
      ++counts.unknown;
    } else if (last == to) {
      ++counts.self;
    } else {
      edges.add({last, to});
    }
  });
  resources.progress->finish();
  return counts;
}

}  // namespace

ReadGraph graph_of_collection(const CollectionReader& collection, const Resources& resources) {
  check_free_space(resources.tmp_folder, collection.manifest().links * sizeof(LinkEdge), "the collection's links");
  EdgeSpool edges(resources.tmp_folder);
  LinkCounts counts;
  resources.progress->start("links", collection.num_documents(), "documents");
  {
    const PageUrls urls(collection, resources);
    std::mutex spooling;
    tbb::enumerable_thread_specific<ChunkBuffers> buffers;
    tbb::parallel_for(std::size_t{0}, collection.num_chunks(), [&](std::size_t chunk) {
      std::vector<LinkEdge> of_chunk;
      const auto keep = [&](docid_t document, std::span<const docid_t> targets) {
        for (const docid_t target : targets) of_chunk.push_back({document, target});
      };
      const LinkCounts met = for_each_page_links(collection, chunk, urls, buffers.local(), keep);
      const std::lock_guard lock(spooling);
      for (const LinkEdge edge : of_chunk) edges.add(edge);
      counts += met;
      resources.progress->add(collection.chunk(chunk).documents);
    });
  }
  resources.progress->finish();
  return make_graph(edges, collection.num_documents(), counts, {}, resources);
}

ReadGraph graph_of_link_file(const std::string& path, const CollectionReader& collection, const Resources& resources) {
  EdgeSpool edges(resources.tmp_folder);
  HashingSource source(ByteSource::open(path));
  LinkCounts counts;
  {
    const NamedDocuments names(collection, resources);
    counts = spool_links(
        source, [&](std::string_view name) { return names.find(name); }, edges, resources);
  }
  return make_graph(edges, collection.num_documents(), counts, hash_text(source.hash()), resources);
}

ReadGraph graph_of_link_file(const std::string& path, docid_t documents, const Resources& resources) {
  EdgeSpool edges(resources.tmp_folder);
  HashingSource source(ByteSource::open(path));
  LinkCounts counts;
  {
    NameTable names(documents);
    const auto number = [&](std::string_view name) {
      const std::uint64_t most =
          std::min<std::uint64_t>(resources.memory_bytes / NameTable::growing_name_bytes, end_docid);
      if (names.size() + 1 >= most)
        throw InvalidArgument(
            fmt::format("{}: has more than {} names, for which --memory has room", source.name(), most));
      return names.add(name, static_cast<docid_t>(names.size()));
    };
    counts = spool_links(source, number, edges, resources);
    documents = std::max(documents, static_cast<docid_t>(names.size()));
  }
  return make_graph(edges, documents, counts, hash_text(source.hash()), resources);
}

}  // namespace quern
