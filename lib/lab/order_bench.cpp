#include "quern/lab/order_bench.hpp"

#include <tbb/enumerable_thread_specific.h>

#include <map>

#include "quern/formats/posting_reader.hpp"
#include "quern/index/build_index.hpp"
#include "quern/index/index_assembly.hpp"
#include "quern/lab/measuring.hpp"

namespace quern {
namespace {

/// Makes the order, and sets time and memory in `figures`. Computes PageRank only if the order depends on it.
DocumentOrder make_measured(const CollectionReader& collection, const OrderOptions& options,
                            const PagerankInput& pagerank, const Resources& resources, OrderFigures& figures) {
  const bool is_measured = reset_peak_memory();
  const auto start = WallClock::now();
  const bool is_needed = order_method(options.by).needs_pagerank;
  DocumentOrder order = make_order(collection, options, is_needed ? pagerank : PagerankInput{}, resources);
  figures.seconds = seconds_since(start);
  if (is_measured) figures.peak_bytes = peak_memory_bytes();
  return order;
}

double gap_entropy_bits(const IndexReader& index) {
  Histogram gaps;
  for (std::uint64_t block = 0; block < index.num_lexicon_blocks(); ++block) {
    index.for_each_list(block, [&](std::string_view, const PostingList& list) {
      docid_t before = end_docid;
      for_each_block(index, list, [&](const BlockReader& reader) {
        for (const docid_t docid : reader.docids()) {
          gaps.add(docid - before - 1);
          before = docid;
        }
      });
    });
  }
  return gaps.bits_per_value();
}

CodecBits bits_of(const IndexReader& index) {
  const IndexFigures figures = index_figures(index);
  constexpr double row_bits = 64;
  const IndexManifest& manifest = index.manifest();
  const double directory =
      manifest.postings == 0 ? 0
                             : row_bits * static_cast<double>(manifest.blocks) / static_cast<double>(manifest.postings);
  return {&index.codec(), figures.docid_bits_per_posting, figures.freq_bits_per_posting, directory};
}

}  // namespace

OrderFigures measure_order(const CollectionReader& collection, const OrderOptions& options,
                           const PagerankInput& pagerank, unsigned block_size, const Resources& resources) {
  OrderFigures figures;
  figures.by = name_of_value(order_names, options.by);
  const DocumentOrder order = make_measured(collection, options, pagerank, resources, figures);
  for (const Codec* codec : all_codecs()) {
    BuildOptions build;
    build.codec = codec->name;
    build.codec_options.block_size = block_size;
    build.bm25 = options.scores.bm25;
    const auto file = std::make_shared<File>(File::anonymous(resources.tmp_folder));
    build_index(collection, order, options, build, resources, *file);
    const IndexReader index(ContainerReader(file, FileKind::index));
    figures.codecs.push_back(bits_of(index));
    if (figures.codecs.size() == 1) figures.gap_entropy_bits = gap_entropy_bits(index);
  }
  return figures;
}

PagerankFigures measure_pagerank(const PageGraph& graph, const PagerankOptions& options, unsigned repeats,
                                 const Resources& resources) {
  PagerankFigures figures;
  std::vector<double> seconds;
  for (unsigned i = 0; i < repeats; ++i) {
    const auto start = WallClock::now();
    const Pagerank pagerank = compute_pagerank(graph, options, resources);
    seconds.push_back(seconds_since(start));
    figures.iterations = pagerank.iterations;
    figures.last_change = pagerank.last_change;
  }
  figures.seconds = median(seconds);
  figures.memory_bytes = peak_memory_bytes().value_or(0);
  return figures;
}

namespace {

/// A query's visits and cost.
struct VisitAnswer {
  std::vector<ListVisit> visits;
  QueryStatistics counts;
};

/// The ends of queries' visits of a term's list.
using VisitEnds = std::vector<docid_t>;

/// docIDs at evenly spaced places of a list.
std::vector<docid_t> sampled_docids(const IndexReader& index, const PostingList& list) {
  std::vector<docid_t> docids;
  std::uint64_t place = 0;
  for (PostingCursor cursor(index, list); cursor.docid() != end_docid; cursor.next(), ++place)
    while (docids.size() < visit_curve_points && place == docids.size() * (list.df - 1) / (visit_curve_points - 1))
      docids.push_back(cursor.docid());
  return docids;
}

VisitCurve curve_of(const IndexReader& index, const std::map<term_t, VisitEnds>& terms) {
  const auto fewer = [](const auto& a, const auto& b) { return a.second.size() < b.second.size(); };
  const auto most_frequent = std::max_element(terms.begin(), terms.end(), fewer);
  if (most_frequent == terms.end()) return {};
  const PostingList list = index.list(most_frequent->first);
  VisitCurve curve{index.term(most_frequent->first), list.df, most_frequent->second.size(), {}};
  for (const docid_t docid : sampled_docids(index, list)) {
    const VisitEnds& ends = most_frequent->second;
    curve.visits.push_back(
        static_cast<std::uint64_t>(std::count_if(ends.begin(), ends.end(), [&](docid_t end) { return docid < end; })));
  }
  return curve;
}

}  // namespace

TerminationFigures measure_termination(const QueryEngine& engine, std::span<const std::string_view> texts,
                                       std::size_t k, const Resources& resources) {
  TerminationFigures figures;
  figures.k = k;
  std::map<term_t, VisitEnds> terms;
  tbb::enumerable_thread_specific<Analyzer> analyzers([&] { return engine.make_analyzer(); });
  resources.progress->start("count visits", texts.size(), "queries");
  answer_in_batches<VisitAnswer>(
      texts.size(), resources.threads, resources.memory_bytes / 8,
      [&](std::size_t i, VisitAnswer& answer) {
        answer.visits =
            engine.visits(terms_of_text(texts[i], analyzers.local()), k, engine.index().block_size(), &answer.counts);
      },
      [](const VisitAnswer& answer) { return visit_bytes(answer.visits); },
      [&](std::size_t, const VisitAnswer& answer) {
        figures.queries += !answer.visits.empty();
        figures.counts += answer.counts;
        for (const ListVisit& visit : answer.visits)
          if (visit.df >= visit_curve_points) terms[visit.term].push_back(visit.end);
        resources.progress->add(1);
      });
  resources.progress->finish();
  if (figures.queries == 0)
    throw InvalidArgument("no query has all of its terms in the index; use queries for its collection");
  figures.curve = curve_of(engine.index(), terms);
  return figures;
}

}  // namespace quern
