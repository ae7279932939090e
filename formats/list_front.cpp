#include "quern/formats/list_front.hpp"

#include <algorithm>

#include "quern/codec/impact_packing.hpp"

namespace quern {

ListWords front_of(const PostingList& list, std::uint64_t blocks, unsigned block_size, bool with_impacts) {
  const ListWords whole{list.words.size(), with_impacts ? list.impacts.size() : 0};
  if (blocks >= list.block_last.size()) return whole;
  const std::uint64_t coded = list.block_offset[blocks];
  const std::uint64_t impacts = whole.impacts > 0 ? blocks * impact_words(block_size, list.impact_width) : 0;
  if (coded == 0 || coded > whole.coded || impacts > whole.impacts) return whole;
  return {coded, impacts};
}

PostingList list_of_front(const PostingList& list, std::uint64_t blocks, unsigned block_size, bool with_impacts) {
  const ListWords words = front_of(list, blocks, block_size, with_impacts);
  PostingList front = list;
  front.df = std::min<std::uint64_t>(list.df, blocks * block_size);
  front.words = list.words.first(words.coded);
  if (with_impacts) front.impacts = list.impacts.first(words.impacts);
  front.block_last = list.block_last.first(blocks);
  front.block_offset = list.block_offset.first(blocks);
  front.block_max = list.block_max.first(blocks);
  return front;
}

std::uint64_t coded_list_bytes(const IndexReader& index, bool with_impacts) {
  const ContainerReader& file = index.container();
  const std::uint64_t words = file.array<std::uint32_t>("postings").size_bytes();
  return words + (with_impacts && index.quantizer() ? file.array<std::uint32_t>("impacts").size_bytes() : 0);
}

}  // namespace quern
