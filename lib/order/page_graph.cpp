#include "quern/order/page_graph.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "quern/core/error.hpp"
#include "quern/core/option_name.hpp"
#include "quern/core/run_stage.hpp"
#include "quern/formats/tables/document_tables.hpp"
#include "quern/io/byte_source.hpp"
#include "quern/order/page_names.hpp"

namespace quern {

namespace {

/// A page's links are already distinct; those of a file may not be.
ReadGraph make_graph(const std::string& name, const EdgeSpool& edges, docid_t documents, LinkCounts counts,
                     std::string file_hash, const Resources& resources) {
  ReadGraph read{make_page_graph(name, edges, documents, resources), documents, counts, std::move(file_hash)};
  read.counts.edges = std::visit([](const auto& graph) { return graph.edges(); }, read.graph);
  read.counts.duplicates += edges.count() - read.counts.edges;
  return read;
}

/// Calls visit(from, to) with the names in each line of a link file; returns the number of lines.
template <class Visit>
std::uint64_t for_each_line(ByteSource& source, const Resources& resources, Visit&& visit) {
  constexpr std::uint64_t progress_lines = 1 << 16;
  std::uint64_t lines = 0;
  resources.progress->start("links", 0, "links");
  read_links(source, [&](std::string_view from, std::string_view to) {
    visit(from, to);
    if (++lines % progress_lines == 0) resources.progress->add(progress_lines);
  });
  resources.progress->finish();
  return lines;
}

/// Counts a line of a link file, and spools its edge if it has one.
void take_line(docid_t from, docid_t to, LinkCounts& counts, EdgeSpool& edges) {
  if (from == end_docid || to == end_docid) {
    ++counts.unknown;
  } else if (from == to) {
    ++counts.self;
  } else {
    edges.add({from, to});
  }
}

/// Caches the lookup of the last name, since most files list a page's links consecutively.
template <class Found>
class LastName {
 public:
  /// find(name) is called for a new name.
  template <class Find>
  const Found& operator()(std::string_view name, Find&& find) {
    if (!is_set_ || name != name_) {
      name_ = name;
      found_ = find(name);
      is_set_ = true;
    }
    return found_;
  }

 private:
  bool is_set_ = false;
  std::string name_;
  Found found_;
};

/// Spools the edges of a link file. number(name) is the document with that name, end_docid if there is none.
template <class Number>
LinkCounts look_up_links(ByteSource& source, Number&& number, EdgeSpool& edges, const Resources& resources) {
  LinkCounts counts;
  LastName<docid_t> last;
  counts.links = for_each_line(source, resources, [&](std::string_view from_name, std::string_view to_name) {
    const docid_t from = last(from_name, number);
    take_line(from, number(to_name), counts, edges);
  });
  return counts;
}

/// As above by sorting, for documents whose names do not fit in memory: first finds the lines' sources, then their
/// targets.
LinkCounts join_links(ByteSource& source, const CollectionReader& collection, EdgeSpool& edges,
                      const Resources& resources) {
  LinkCounts counts;
  NamedJoin<std::uint64_t> targets(collection, resources, resources.memory_bytes / 2);
  NamedJoin<NameHashes> sources(collection, resources, resources.memory_bytes / 2);
  LastName<NameHashes> last;
  counts.links = for_each_line(source, resources, [&](std::string_view from, std::string_view to) {
    sources.ask(last(from, NameHashes::from_name), NameHashes::from_name(to));
  });
  sources.answer([&](docid_t from, const NameHashes& to) {
    if (from == end_docid) {
      ++counts.unknown;
    } else {
      targets.ask(to, from);
    }
  });
  targets.answer([&](docid_t to, std::uint64_t from) { take_line(static_cast<docid_t>(from), to, counts, edges); });
  return counts;
}

}  // namespace

ReadGraph graph_of_collection(const CollectionReader& collection, const Resources& resources) {
  return run_stage(resources, [&]() -> ReadGraph {
    EdgeSpool edges(resources.tmp_folder);
    const LinkCounts counts = spool_page_links(collection, resources, edges);
    return make_graph(collection.name(), edges, collection.num_documents(), counts, {}, resources);
  });
}

ReadGraph graph_of_link_file(const std::string& path, const CollectionReader& collection, const Resources& resources) {
  return run_stage(resources, [&]() -> ReadGraph {
    EdgeSpool edges(resources.tmp_folder);
    HashingSource source(ByteSource::open(path, resources));
    LinkCounts counts;
    if (NamedDocuments::table_bytes(collection) <= resources.memory_bytes) {
      const NamedDocuments names(collection);
      counts = look_up_links(
          source, [&](std::string_view name) { return names.find(name); }, edges, resources);
    } else {
      counts = join_links(source, collection, edges, resources);
    }
    return make_graph(collection.name(), edges, collection.num_documents(), counts, hash_text(source.hash()),
                      resources);
  });
}

ReadGraph graph_of_link_file(const std::string& path, docid_t documents, const Resources& resources) {
  return run_stage(resources, [&]() -> ReadGraph {
    EdgeSpool edges(resources.tmp_folder);
    HashingSource source(ByteSource::open(path, resources));
    LinkCounts counts;
    {
      NameTable names(documents);
      const auto number = [&](std::string_view name) {
        const std::uint64_t max_names =
            std::min<std::uint64_t>(resources.memory_bytes / NameTable::growing_name_bytes, end_docid);
        if (names.size() + 1 >= max_names)
          throw InvalidArgument(fmt::format("{}: has more than {} names, the most that fit in {}; raise it",
                                            source.name(), max_names, option_name<"memory">));
        return names.add(name, static_cast<docid_t>(names.size()));
      };
      counts = look_up_links(source, number, edges, resources);
      documents = std::max(documents, static_cast<docid_t>(names.size()));
    }
    return make_graph(source.name(), edges, documents, counts, hash_text(source.hash()), resources);
  });
}

}  // namespace quern
