#include "quern/order/pagerank.hpp"

#include <tbb/parallel_for.h>
#include <tbb/parallel_sort.h>

#include <bit>
#include <cmath>
#include <numeric>
#include <variant>

#include "quern/formats/tables/document_tables.hpp"
#include "quern/formats/tables/text_lines.hpp"
#include "quern/io/byte_source.hpp"
#include "quern/io/external_sort.hpp"
#include "quern/order/order.hpp"
#include "quern/order/page_names.hpp"

namespace quern {
namespace {

/// Sums the shares of the documents that link to each row of a run, row by row.
class RowsInMemory {
 public:
  RowsInMemory(const InLinks& graph, docid_t first, std::size_t) : graph_(graph), document_(first) {}
  double next_sum(std::span<const double> shares) {
    double sum = 0;
    for (const docid_t source : graph_.row(document_)) sum += shares[source];
    ++document_;
    return sum;
  }

 private:
  const InLinks& graph_;
  docid_t document_;
};

class RowsInFile {
 public:
  RowsInFile(const SpooledInLinks& graph, docid_t, std::size_t run)
      : sources_(graph.rows, graph.run_begins[run], graph.run_begins[run + 1]) {}
  double next_sum(std::span<const double> shares) {
    double sum = 0;
    for (docid_t source = next(); source != end_docid; source = next()) sum += shares[source];
    return sum;
  }

 private:
  docid_t next() {
    const docid_t* source = sources_.peek();
    if (source == nullptr) return end_docid;
    sources_.pop();
    return *source;
  }

  RecordSpool<docid_t>::Reader sources_;
};

RowsInMemory rows_in_run(const InLinks& graph, docid_t first, std::size_t run) { return {graph, first, run}; }
RowsInFile rows_in_run(const SpooledInLinks& graph, docid_t first, std::size_t run) { return {graph, first, run}; }

const std::vector<docid_t>& row_runs(const SpooledInLinks& graph) { return graph.runs; }

/// Power iteration by pulling: each document sums the shares of the documents that link to it. Threads take runs of
/// documents; sums over all documents add the runs' sums in order.
template <class Graph>
class PowerIteration {
 public:
  PowerIteration(const Graph& graph, double damping)
      : graph_(graph),
        damping_(damping),
        runs_(row_runs(graph)),
        run_sums_(runs_.size() - 1),
        ranks_(graph.documents(), 1.0 / graph.documents()),
        shares_(graph.documents()) {}

  /// Returns the sum of the absolute changes.
  double step() {
    const double idle = over_runs([this](std::size_t run) { return set_shares(runs_[run], runs_[run + 1]); });
    const double base = ((1 - damping_) + damping_ * idle) / graph_.documents();
    return over_runs([this, base](std::size_t run) { return pull(run, base); });
  }

  std::vector<double> take_ranks() { return std::move(ranks_); }

 private:
  template <class Work>
  double over_runs(Work&& work) {
    tbb::parallel_for(std::size_t{0}, run_sums_.size(), [&](std::size_t run) { run_sums_[run] = work(run); });
    return std::accumulate(run_sums_.begin(), run_sums_.end(), 0.0);
  }

  /// Computes each document's share for each of its targets; returns the total rank of documents without links.
  double set_shares(docid_t begin, docid_t end) {
    double idle = 0;
    for (docid_t document = begin; document < end; ++document) {
      const std::uint32_t degree = graph_.out_degrees[document];
      if (degree == 0) idle += ranks_[document];
      shares_[document] = degree == 0 ? 0 : ranks_[document] / degree;
    }
    return idle;
  }

  /// Computes the new ranks from the shares; returns the sum of the absolute changes.
  double pull(std::size_t run, double base) {
    double change = 0;
    auto rows = rows_in_run(graph_, runs_[run], run);
    for (docid_t document = runs_[run]; document < runs_[run + 1]; ++document) {
      const double rank = base + damping_ * rows.next_sum(shares_);
      change += std::abs(rank - ranks_[document]);
      ranks_[document] = rank;
    }
    return change;
  }

  const Graph& graph_;
  double damping_;
  std::vector<docid_t> runs_;
  std::vector<double> run_sums_;
  std::vector<double> ranks_, shares_;
};

void scale_linear(std::span<float> ranks) {
  const float max_rank = *std::max_element(ranks.begin(), ranks.end());
  for (float& rank : ranks) rank = max_rank > 0 ? rank / max_rank : 1.0f;
}

/// The smallest positive rank becomes 0, and ranks of 0 stay 0.
void scale_log(std::span<float> ranks) {
  float min_rank = 0, max_rank = 0;
  for (const float rank : ranks) {
    if (rank > 0) min_rank = min_rank == 0 ? rank : std::min(min_rank, rank);
    max_rank = std::max(max_rank, rank);
  }
  const double range = max_rank > min_rank ? std::log(static_cast<double>(max_rank) / min_rank) : 0;
  for (float& rank : ranks) {
    if (range == 0)
      rank = rank == max_rank ? 1.0f : 0.0f;
    else
      rank = rank <= min_rank ? 0.0f : static_cast<float>(std::log(static_cast<double>(rank) / min_rank) / range);
    rank = std::min(rank, 1.0f);
  }
}

/// A rank becomes the fraction of documents with this rank or a lower one.
void scale_rank(std::span<float> ranks) {
  std::vector<float> sorted(ranks.begin(), ranks.end());
  tbb::parallel_sort(sorted.begin(), sorted.end());
  const auto documents = static_cast<double>(sorted.size());
  tbb::parallel_for(std::size_t{0}, ranks.size(), [&](std::size_t i) {
    const auto up_to = std::upper_bound(sorted.begin(), sorted.end(), ranks[i]) - sorted.begin();
    ranks[i] = static_cast<float>(static_cast<double>(up_to) / documents);
  });
}

const std::vector<std::uint32_t>& out_degrees(const PageGraph& graph) {
  return std::visit([](const auto& kind) -> const std::vector<std::uint32_t>& { return kind.out_degrees; }, graph);
}

DocumentPagerank pagerank_of_graph(const ReadGraph& read, PagerankSource source, const Resources& resources) {
  const Pagerank computed = compute_pagerank(read.graph, {}, resources);
  DocumentPagerank pagerank;
  pagerank.ranks.assign(computed.ranks.begin(), computed.ranks.end());
  PagerankReport& report = pagerank.report;
  report.origin = {source, read.file_hash};
  report.links = read.counts;
  const std::vector<std::uint32_t>& degrees = out_degrees(read.graph);
  report.dangling = static_cast<std::uint64_t>(std::count(degrees.begin(), degrees.end(), 0u));
  report.iterations = computed.iterations;
  report.last_change = computed.last_change;
  report.converged = computed.converged;
  return pagerank;
}

/// PageRank from the collection's own links; equal for all documents if no document links to another.
DocumentPagerank pagerank_of_links(const CollectionReader& collection, const Resources& resources) {
  DocumentPagerank uniform;
  if (collection.manifest().links > 0) {
    const ReadGraph read = graph_of_collection(collection, resources);
    if (read.counts.edges > 0) return pagerank_of_graph(read, PagerankSource::links, resources);
    uniform.report.links = read.counts;
  }
  uniform.report.origin.source = PagerankSource::uniform;
  uniform.ranks.assign(collection.num_documents(), 1.0f);
  return uniform;
}

constexpr float no_score = -1;

[[noreturn]] void fail_at_second_score(const ByteSource& source, std::uint64_t line) {
  fail_at_line(source.name(), line, "its document already has a score; keep one line per document");
}

/// Fills `ranks` with the scores of a file; returns the number of lines whose document is not in the collection.
std::uint64_t look_up_scores(ByteSource& source, const CollectionReader& collection, std::vector<float>& ranks) {
  const NamedDocuments names(collection);
  std::uint64_t unknown = 0;
  read_scores(source, [&](const ScoreLine& line) {
    const docid_t document = names.find(line.document);
    if (document == end_docid)
      ++unknown;
    else if (ranks[document] != no_score)
      fail_at_second_score(source, line.number);
    else
      ranks[document] = line.score;
  });
  return unknown;
}

/// As above by sorting, for documents whose names do not fit in memory: first finds the lines' documents, then the
/// scores of each document.
std::uint64_t join_scores(ByteSource& source, const CollectionReader& collection, const Resources& resources,
                          std::vector<float>& ranks) {
  struct AskedLine {
    std::uint64_t number;
    std::uint64_t score_bits;
  };
  NamedJoin<AskedLine> lines(collection, resources, resources.memory_bytes / 2);
  read_scores(source, [&](const ScoreLine& line) {
    lines.ask(NameHashes::from_name(line.document), {line.number, std::bit_cast<std::uint32_t>(line.score)});
  });
  std::uint64_t unknown = 0;
  ExternalSort found(resources.tmp_folder, resources.memory_bytes / 2);
  lines.answer([&](docid_t document, const AskedLine& line) {
    if (document == end_docid)
      ++unknown;
    else
      found.add(SortKey(document, line.number, static_cast<std::uint32_t>(line.score_bits)).view(), {});
  });
  std::optional<std::uint64_t> repeated_line;
  found.merge([&](std::string_view row, ByteView) {
    float& rank = ranks[number_in_key<docid_t>(row, 0)];
    const auto line = number_in_key<std::uint64_t>(row, sizeof(docid_t));
    const auto bits = number_in_key<std::uint32_t>(row, sizeof(docid_t) + sizeof line);
    if (rank == no_score)
      rank = std::bit_cast<float>(bits);
    else
      repeated_line = std::min(repeated_line.value_or(line), line);
  });
  if (repeated_line) fail_at_second_score(source, *repeated_line);
  return unknown;
}

DocumentPagerank pagerank_of_score_file(const std::string& path, const CollectionReader& collection,
                                        const Resources& resources) {
  HashingSource source(ByteSource::open(path, resources));
  DocumentPagerank pagerank;
  std::vector<float>& ranks = pagerank.ranks;
  PagerankReport& report = pagerank.report;
  ranks.assign(collection.num_documents(), no_score);
  const bool fits = NamedDocuments::table_bytes(collection) + ranks.size() * sizeof(float) <= resources.memory_bytes;
  report.unknown = fits ? look_up_scores(source, collection, ranks) : join_scores(source, collection, resources, ranks);
  report.missing = static_cast<std::uint64_t>(std::count(ranks.begin(), ranks.end(), no_score));
  report.scores = ranks.size() - report.missing;
  std::replace(ranks.begin(), ranks.end(), no_score, 0.0f);
  report.origin = {PagerankSource::score_file, hash_text(source.hash())};
  return pagerank;
}

DocumentPagerank pagerank_of(const CollectionReader& collection, const PagerankInput& input,
                             const Resources& resources) {
  switch (input.from) {
    case PagerankFrom::if_needed:
    case PagerankFrom::nothing:
      return {};
    case PagerankFrom::links:
      return pagerank_of_links(collection, resources);
    case PagerankFrom::link_file:
      return pagerank_of_graph(graph_of_link_file(input.file, collection, resources), PagerankSource::link_file,
                               resources);
    case PagerankFrom::score_file:
      return pagerank_of_score_file(input.file, collection, resources);
  }
  return {};
}

}  // namespace

Pagerank compute_pagerank(const PageGraph& graph, const PagerankOptions& options, const Resources& resources) {
  const auto compute = [&]<class Graph>(const Graph& rows) {
    Pagerank result;
    result.converged = rows.documents() == 0;
    if (result.converged) return result;
    resources.progress->start("PageRank", 0, "iterations");
    PowerIteration<Graph> iteration(rows, options.damping);
    while (!result.converged && result.iterations < options.max_iterations) {
      result.last_change = iteration.step();
      ++result.iterations;
      result.converged = result.last_change < options.tolerance;
      resources.progress->add(1);
    }
    resources.progress->finish();
    result.ranks = iteration.take_ranks();
    return result;
  };
  return run_stage(resources, [&] {
    check_range("damping", options.damping, 0, 1);
    check_range("tolerance", options.tolerance, 0, 1);
    return std::visit(compute, graph);
  });
}

void apply_scale(PagerankScale scale, std::span<float> ranks, const Resources& resources) {
  switch (scale) {
    case PagerankScale::rank:
      return run_stage(resources, [&] { scale_rank(ranks); });
    case PagerankScale::log:
      return scale_log(ranks);
    case PagerankScale::linear:
      return scale_linear(ranks);
  }
}

PagerankInput pagerank_input(const std::string& pagerank, const std::string& links) {
  if (!links.empty()) {
    if (!pagerank.empty() && pagerank != "links")
      throw InvalidArgument(std::string(option_name<"links">) + ": already implies " + option_name<"pagerank"> +
                            " links; omit " + option_name<"pagerank"> + " " + pagerank);
    return {PagerankFrom::link_file, links};
  }
  if (pagerank.empty()) return {};
  if (pagerank == "none") return {PagerankFrom::nothing, {}};
  if (pagerank == "links") return {PagerankFrom::links, {}};
  return {PagerankFrom::score_file, pagerank};
}

DocumentPagerank document_pagerank(const CollectionReader& collection, const PagerankInput& input,
                                   const Resources& resources) {
  return run_stage(resources, [&]() -> DocumentPagerank {
    DocumentPagerank pagerank = pagerank_of(collection, input, resources);
    const auto differ = std::adjacent_find(pagerank.ranks.begin(), pagerank.ranks.end(), std::not_equal_to<>());
    pagerank.report.all_the_same = !pagerank.ranks.empty() && differ == pagerank.ranks.end();
    return pagerank;
  });
}

}  // namespace quern
