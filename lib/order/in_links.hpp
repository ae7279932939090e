#pragma once
#include <algorithm>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "quern/core/resources.hpp"
#include "quern/core/types.hpp"
#include "quern/io/file.hpp"

namespace quern {

struct LinkEdge {
  docid_t from, to;
};

/// Edges on their way into a graph: on disk, in a work file, since memory has room for them once only.
class EdgeSpool {
 public:
  explicit EdgeSpool(const std::string& tmp_folder) : file_(File::anonymous(tmp_folder)), out_(file_) {}

  void add(LinkEdge edge) {
    out_.write({reinterpret_cast<const std::uint8_t*>(&edge), sizeof edge});
    ++count_;
  }
  std::uint64_t count() const { return count_; }
  /// Writes out what add() still holds: before the first for_each().
  void flush() { out_.flush(); }
  /// Calls visit(edge) for all edges as they were added.
  template <class Visit>
  void for_each(Visit&& visit) const {
    std::vector<LinkEdge> buffer(std::size_t{1} << 15);
    for (std::uint64_t done = 0; done < count_;) {
      const std::size_t some = std::min<std::uint64_t>(buffer.size(), count_ - done);
      file_.read_at(done * sizeof(LinkEdge), {reinterpret_cast<std::uint8_t*>(buffer.data()), some * sizeof(LinkEdge)});
      for (std::size_t i = 0; i < some; ++i) visit(buffer[i]);
      done += some;
    }
  }

 private:
  File file_;
  FileAppender out_;
  std::uint64_t count_ = 0;
};

/// A graph of links, by target (compressed sparse rows): 4 bytes an edge.
struct InLinks {
  std::vector<std::uint64_t> begins;       ///< for each document and the end: where its row begins in `sources`
  std::vector<docid_t> sources;            ///< in each row the documents that link there: distinct, rising
  std::vector<std::uint32_t> out_degrees;  ///< of each document

  docid_t documents() const { return static_cast<docid_t>(out_degrees.size()); }
  std::uint64_t edges() const { return sources.size(); }
  std::span<const docid_t> row(docid_t document) const {
    return {sources.data() + begins[document], sources.data() + begins[document + std::size_t{1}]};
  }
};

/// The graph of these edges, between documents below `documents`; those that came twice are in it once. Throws
/// InvalidArgument, with the size, where the memory budget has no room for it and for compute_pagerank().
InLinks make_in_links(EdgeSpool& edges, docid_t documents, const Resources& resources);

/// Rows in runs of about as many edges and rows each, for threads to take: first row of each, and the end. They depend
/// on the graph alone, so that sums over them do too.
std::vector<docid_t> row_runs(const InLinks& graph);

}  // namespace quern
