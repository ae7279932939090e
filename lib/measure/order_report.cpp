#include "quern/measure/order_report.hpp"

#include <memory>

#include "quern/core/wall_clock.hpp"
#include "quern/index/build_index.hpp"
#include "quern/index/index_figures.hpp"
#include "quern/measure/histogram.hpp"
#include "quern/measure/peak_memory.hpp"
#include "quern/query/posting_cursor.hpp"

namespace quern {
namespace {

/// The order, without the PageRank that it would be stored with where it does not go by that.
DocumentOrder make(const CollectionReader& collection, const OrderOptions& options, const PagerankFiles& files,
                   const Resources& resources) {
  const OrderMethod& method = order_named(options.by);
  if (method.needs_pagerank()) return make_order(collection, options, files, resources);
  return method.compute({collection, options, {}, resources});
}

/// Sets how long it took and how much memory.
DocumentOrder make_measured(const CollectionReader& collection, const OrderOptions& options, const PagerankFiles& files,
                            const Resources& resources, OrderFigures& figures) {
  const bool is_measured = reset_peak_memory();
  const auto start = WallClock::now();
  DocumentOrder order = make(collection, options, files, resources);
  figures.seconds = seconds_since(start);
  if (is_measured) figures.peak_bytes = peak_memory_bytes();
  return order;
}

double gap_entropy_bits(const IndexReader& index) {
  Histogram gaps;
  for (std::uint64_t block = 0; block < index.num_lexicon_blocks(); ++block) {
    index.for_each_list(block, [&](std::string_view, const PostingList& list) {
      docid_t before = end_docid;
      for (PostingCursor cursor(index, list); cursor.docid() != end_docid; cursor.next()) {
        gaps.add(cursor.docid() - before - 1);
        before = cursor.docid();
      }
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

OrderFigures measure_order(const CollectionReader& collection, const OrderOptions& options, const PagerankFiles& files,
                           unsigned block_size, const Resources& resources) {
  OrderFigures figures;
  figures.by = options.by;
  const DocumentOrder order = make_measured(collection, options, files, resources, figures);
  for (const Codec* codec : all_codecs()) {
    BuildOptions build;
    build.codec = codec->name();
    build.codec_options.block_size = block_size;
    build.bm25 = options.scores.bm25;
    const auto file = std::make_shared<File>(File::anonymous(resources.tmp_folder));
    build_index(collection, order, options, build, resources, *file);
    const IndexReader index(ContainerReader(file, FileKind::index, index_version));
    figures.codecs.push_back(bits_of(index));
    if (figures.codecs.size() == 1) figures.gap_entropy_bits = gap_entropy_bits(index);
  }
  return figures;
}

}  // namespace quern
