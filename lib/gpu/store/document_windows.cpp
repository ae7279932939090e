#include "quern/gpu/store/document_windows.hpp"

#include <tbb/blocked_range.h>
#include <tbb/parallel_reduce.h>

#include "quern/codec/bit_packing.hpp"
#include "quern/gpu/device/in_parallel.hpp"
#include "quern/gpu/device/searches.hpp"

namespace quern::gpu {
namespace {

std::uint32_t rows_of(const PostingList& list) { return static_cast<std::uint32_t>(list.block_last.size()); }

std::uint64_t quotient_up(std::uint64_t number, std::uint64_t by) { return by == 0 ? 0 : (number + by - 1) / by; }

}  // namespace

DocumentWindows::DocumentWindows(const IndexReader& index, const BatchLists& lists, const ListCache& cache,
                                 const WindowLimits& limits)
    : lists_(lists),
      num_documents_(index.num_documents()),
      block_size_(index.block_size()),
      with_impacts_(cache.keeps_impacts()) {
  std::vector<bool> is_coded(lists.views.size());
  coded_.reserve(lists.coded.size());
  for (const auto& [number, list] : lists.coded) {
    is_coded[number] = true;
    coded_.push_back({number, list, cache.kept_front(*list)});
  }
  for (std::uint32_t i = 0; i < lists.views.size(); ++i) {
    if (is_coded[i]) continue;
    others_.push_back(i);
    if (lists.views[i].raw) raw_entries_ += entry_words(lists.views[i].df);
  }
  cut(limits);
}

ListCacheCounts DocumentWindows::counts(const ListCache& cache) const {
  ListCacheCounts counts;
  counts.lists = coded_.size();
  for (const Coded& coded : coded_) {
    counts.bytes += cache.bytes_of(*coded.list);
    counts.resident_lists += coded.front.blocks >= rows_of(*coded.list);
  }
  counts.copied_bytes = sizeof(std::uint32_t) * copied_words_;
  counts.bytes = std::max(counts.bytes, counts.copied_bytes);  // a block at the border of two windows is copied twice
  return counts;
}

void DocumentWindows::cut(const WindowLimits& limits) {
  const std::uint32_t ranges = num_ranges(num_documents_);
  const auto begins = std::make_shared<const Places>(coded_.size());
  Places ends(coded_.size());
  for (std::size_t i = 0; i < coded_.size(); ++i) ends[i] = rows_of(*coded_[i].list);
  const WindowSize all = size_of(*begins, ends);
  places_.push_back(begins);
  // Start with windows of equally many ranges, as few as would do if all had the same size; halve large ones.
  std::uint64_t count = std::max(quotient_up(all.words, limits.words), quotient_up(all.entries, limits.entries));
  count = std::max(count + count / 8, quotient_up(ranges, limits.ranges));
  count = std::clamp<std::uint64_t>(count, 1, ranges);
  const auto last = std::make_shared<const Places>(std::move(ends));
  std::uint32_t first_range = 0;
  for (std::uint64_t i = 0; i < count; ++i) {
    const auto end_range = static_cast<std::uint32_t>(ranges * (i + 1) / count);
    const auto end = end_range == ranges ? last : places_of(end_range, *places_.back(), *last);
    add({first_range, end_range - first_range}, end, limits);
    first_range = end_range;
  }
}

void DocumentWindows::add(const DocumentWindow& window, const SharedPlaces& end, const WindowLimits& limits) {
  const WindowSize size = size_of(*places_.back(), *end);
  if (size.words <= limits.words && size.entries <= limits.entries && window.ranges <= limits.ranges) {
    windows_.push_back(window);
    places_.push_back(end);
    copied_words_ += size.words;
    largest_.words = std::max(largest_.words, size.words);
    largest_.entries = std::max(largest_.entries, size.entries);
    largest_.ranges = std::max(largest_.ranges, window.ranges);
    return;
  }
  if (window.ranges == 1)
    throw GpuOutOfMemory("the blocks of a batch in a single range of documents do not fit into the GPU's memory");
  const std::uint32_t half = window.ranges / 2, middle = window.first_range + half;
  const SharedPlaces between = places_of(middle, *places_.back(), *end);
  add({window.first_range, half}, between, limits);
  add({middle, window.ranges - half}, end, limits);
}

DocumentWindows::SharedPlaces DocumentWindows::places_of(std::uint32_t range, const Places& low,
                                                         const Places& high) const {
  Places places(coded_.size());
  const std::uint32_t docid = range * range_documents;
  in_parallel(coded_.size(), [&](std::size_t i) {
    places[i] = lower_bound(coded_[i].list->block_last.data(), low[i], high[i], docid);
  });
  return std::make_shared<const Places>(std::move(places));
}

WindowBlocks DocumentWindows::blocks_of(const Coded& coded, std::uint32_t begin, std::uint32_t next) const {
  const PostingList& list = *coded.list;
  const std::uint32_t rows = rows_of(list);
  WindowBlocks blocks;
  blocks.begin = begin;
  // The first block that ends after the window may begin in it.
  blocks.end = next < rows ? next + 1 : rows;
  blocks.copied = static_cast<std::uint32_t>(std::max<std::uint64_t>(begin, coded.front.blocks));
  if (begin >= blocks.end) return blocks;
  if (coded.front.blocks == 0)
    blocks.header = list.words.first(std::min<std::size_t>(lists_.views[coded.number].header_words, list.words.size()));
  if (blocks.copied >= blocks.end) return blocks;
  const std::uint64_t per_block = with_impacts_ ? impact_words(block_size_, list.impact_width) : 0;
  const std::uint64_t first = list.block_offset[blocks.copied],
                      last = blocks.end < rows ? list.block_offset[blocks.end] : list.words.size();
  const std::uint64_t first_impact = per_block * blocks.copied, last_impact = blocks.end < rows ? per_block * blocks.end
                                                                              : with_impacts_   ? list.impacts.size()
                                                                                                : 0;
  // If the numbers contradict each other, copy nothing; kernels then find no words and count damage.
  if (first > last || last > list.words.size() || first_impact > last_impact || last_impact > list.impacts.size())
    return blocks;
  blocks.first_word = static_cast<std::uint32_t>(first);
  blocks.words = list.words.subspan(first, last - first);
  blocks.impacts = list.impacts.subspan(first_impact, last_impact - first_impact);
  return blocks;
}

std::uint64_t DocumentWindows::entries_of(const Coded& coded, const WindowBlocks& blocks) const {
  if (blocks.begin >= blocks.end) return 0;
  const std::uint64_t end = std::min(coded.list->df, std::uint64_t{blocks.end} * block_size_);
  return entry_words(end - std::min(end, std::uint64_t{blocks.begin} * block_size_));
}

WindowSize DocumentWindows::size_of(const Places& begin, const Places& end) const {
  const auto add = [](const WindowSize& a, const WindowSize& b) {
    return WindowSize{a.words + b.words, a.entries + b.entries, 0};
  };
  const WindowSize coded = tbb::parallel_reduce(
      tbb::blocked_range<std::size_t>(0, coded_.size(), 256), WindowSize{},
      [&](const auto& lists, WindowSize sum) {
        for (std::size_t i = lists.begin(); i < lists.end(); ++i) {
          const WindowBlocks blocks = blocks_of(coded_[i], begin[i], end[i]);
          sum = add(sum, {blocks.copied_words(), entries_of(coded_[i], blocks), 0});
        }
        return sum;
      },
      add);
  return add(coded, {0, raw_entries_, 0});
}

void DocumentWindows::measure(std::size_t window, WindowLists& out) const {
  const std::uint64_t starts = start_words(out.window.ranges);
  out.blocks.resize(coded_.size());
  out.sizes.resize(lists_.views.size());
  in_parallel(coded_.size(), [&](std::size_t i) {
    const WindowBlocks& blocks = out.blocks[i] = blocks_of(coded_[i], (*places_[window])[i], (*places_[window + 1])[i]);
    out.sizes[coded_[i].number] = {blocks.copied_words(), entries_of(coded_[i], blocks) + starts,
                                   blocks.end - std::min(blocks.begin, blocks.end)};
  });
  for (const std::uint32_t number : others_) {
    const EntryPlace place = entry_place(lists_.views[number], 0);
    out.sizes[number] = {0, place.first_start + starts, place.blocks};
  }
}

void DocumentWindows::view(std::size_t window, std::uint64_t first_word, std::uint64_t first_entry,
                           WindowLists& out) const {
  out.window = windows_.at(window);
  measure(window, out);
  // Other threads wrote the sizes, so each read is a cache miss; they are a few words per list.
  WindowSize all{0, first_entry, 0};
  for (WindowSize& size : out.sizes) {
    const WindowSize own = std::exchange(size, all);
    all = {all.words + own.words, all.entries + own.entries, all.blocks + own.blocks};
  }
  out.words = all.words;
  out.entries_of.blocks = all.blocks;
  out.lists.resize(lists_.views.size());
  out.entries_of.lists.resize(lists_.views.size());
  out.copies.resize(copies_per_list * coded_.size());
  const auto place_entries = [&](std::uint32_t number) {
    EntryPlace& place = out.entries_of.lists[number] = entry_place(out.lists[number], out.sizes[number].entries);
    place.first_block = out.sizes[number].blocks;
  };
  in_parallel(coded_.size(), [&](std::size_t i) {
    const std::uint32_t number = coded_[i].number;
    const WindowBlocks& blocks = out.blocks[i];
    std::uint64_t place = out.sizes[number].words;
    ListView& view = out.lists[number] = lists_.views[number];
    set_view(coded_[i], blocks, first_word + place, view);
    WordCopy* copy = &out.copies[copies_per_list * i];
    for (const WordView words : {blocks.header, blocks.words, blocks.impacts})
      *copy++ = {words, std::exchange(place, place + words.size())};
    place_entries(number);
  });
  for (const std::uint32_t number : others_) {
    out.lists[number] = lists_.views[number];
    place_entries(number);
  }
}

EntryPlace DocumentWindows::entry_place(const ListView& view, std::uint64_t first_entry) const {
  EntryPlace place;
  place.first_entry = first_entry;
  place.blocks = 1;
  place.end = view.df;
  if (!view.raw) {
    place.blocks = view.end_block - std::min(view.begin_block, view.end_block);
    place.begin = view.begin_block * block_size_;
    place.end =
        static_cast<std::uint32_t>(std::min<std::uint64_t>(view.df, std::uint64_t{view.end_block} * block_size_));
  }
  // A list without blocks has no postings, and no kernel writes where ranges start in it.
  if (place.blocks == 0) place.begin = place.end = 0;
  place.first_start = first_entry + entry_words(place.end - std::min(place.begin, place.end));
  return place;
}

void DocumentWindows::set_view(const Coded& coded, const WindowBlocks& blocks, std::uint64_t place, ListView& view) {
  view.begin_block = blocks.begin;
  view.end_block = blocks.end;
  view.front_blocks = static_cast<std::uint32_t>(coded.front.blocks);
  if (coded.front.blocks > 0) {
    view.first_word = coded.front.first_word;
    view.front_words = static_cast<std::uint32_t>(coded.front.words);
    view.first_impact_word = coded.front.first_impact_word;
  } else {
    view.first_word = place;
    view.front_words = 0;
  }
  view.tail_word = place + blocks.header.size();
  view.tail_impact_word = view.tail_word + blocks.words.size();
  view.tail_begin = blocks.first_word;
  // The end of the last block, unless it is in the front.
  if (blocks.copied < blocks.end) view.words = blocks.first_word + static_cast<std::uint32_t>(blocks.words.size());
}

}  // namespace quern::gpu
