#include "quern/gpu/device/index_view.hpp"

#include "quern/formats/index_file.hpp"

namespace quern::gpu {

ListView coded_view(const IndexReader& index, const PostingList& list) {
  ListView view;
  view.df = static_cast<std::uint32_t>(list.df);
  view.first_word = list.first_word;
  view.first_row = list.first_row;
  view.first_impact_word = list.first_impact_word;
  view.words = view.front_words = view.tail_begin = static_cast<std::uint32_t>(list.words.size());
  view.rows = static_cast<std::uint32_t>(list.block_last.size());
  view.header_words = static_cast<std::uint16_t>(index.codec().header_words(index.manifest().codec_options));
  view.impact_width = static_cast<std::uint8_t>(list.impact_width);
  return view;
}

}  // namespace quern::gpu
