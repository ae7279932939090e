#include "quern/index/index_figures.hpp"

#include <bit>

namespace quern {
namespace {

double ratio(double part, std::uint64_t whole) { return whole == 0 ? 0 : part / static_cast<double>(whole); }

}  // namespace

IndexFigures index_figures(const IndexReader& index) {
  const IndexManifest& manifest = index.manifest();
  const auto size_of = [&](std::string_view section) { return index.container().find(section).size; };
  IndexFigures figures;
  figures.postings_bytes = size_of("postings") - over_read_bytes + manifest.short_list_bytes;
  figures.docid_bits_per_posting = ratio(static_cast<double>(manifest.coded.docid_bits), manifest.postings);
  figures.freq_bits_per_posting = ratio(static_cast<double>(manifest.coded.freq_bits), manifest.postings);
  figures.block_max_bytes =
      size_of("block_last") + size_of("block_offset") + size_of("block_max") + manifest.list_bound_bytes;
  figures.block_max_bits_per_posting = ratio(8.0 * static_cast<double>(figures.block_max_bytes), manifest.postings);
  if (manifest.quantize_bits > 0)
    figures.impact_bytes = size_of("impacts") - over_read_bytes + size_of("impact_start") + size_of("impact_width");
  figures.impact_bits_per_posting = ratio(8.0 * static_cast<double>(figures.impact_bytes), manifest.postings);
  figures.lexicon_bytes =
      size_of("lexicon") + size_of("lexicon_blocks") - manifest.short_list_bytes - manifest.list_bound_bytes;
  figures.lexicon_bytes_per_term = ratio(static_cast<double>(figures.lexicon_bytes), manifest.terms);
  figures.file_bytes = index.container().file().size();
  std::uint64_t small_lists = 0;
  for (std::uint64_t block = 0; block < index.num_lexicon_blocks(); ++block) {
    index.for_each_list(block, [&](std::string_view, const PostingList& list) {
      const auto row = static_cast<std::size_t>(std::bit_width(list.df) - 1);
      if (figures.lengths.size() <= row) figures.lengths.resize(row + 1);
      ++figures.lengths[row].lists;
      figures.lengths[row].postings += list.df;
      small_lists += list.df <= index.block_size();
    });
  }
  figures.lists_in_one_block = ratio(static_cast<double>(small_lists), manifest.terms);
  return figures;
}

}  // namespace quern
