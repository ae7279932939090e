#include "quern/search/intersect.hpp"

#include <tbb/enumerable_thread_specific.h>

#include <algorithm>

#include "quern/core/own_errors.hpp"
#include "quern/core/parallel_batch.hpp"
#include "quern/core/wall_clock.hpp"
#include "quern/search/algorithm.hpp"
#include "quern/search/query_text.hpp"

namespace quern {
namespace {

/// Adds its lifetime to a sum.
class ScopedTimer {
 public:
  explicit ScopedTimer(double& sum_us) : sum_us_(sum_us), begun_(WallClock::now()) {}
  ~ScopedTimer() { sum_us_ += us_since(begun_); }
  ScopedTimer(const ScopedTimer&) = delete;
  ScopedTimer& operator=(const ScopedTimer&) = delete;

 private:
  double& sum_us_;
  WallClock::time_point begun_;
};

}  // namespace

bool Intersection::find_lists(std::string_view text, WorkSpace& space, FoundTerms* remembered) const {
  std::vector<std::string> terms = terms_of_query(text, options_.text, space.analyzer);
  space.lists.clear();
  const auto add = [&](const PostingList& list, std::uint32_t) { space.lists.push_back(list); };
  if (!(remembered ? quern::find_lists(*remembered, terms, true, add) : quern::find_lists(index_, terms, true, add)))
    return false;
  std::sort(space.lists.begin(), space.lists.end(), summed_before);
  return !space.lists.empty();
}

void Intersection::decode(const PostingList& list, QueryStatistics& statistics, std::vector<docid_t>& docids) const {
  docids.clear();
  docids.reserve(list.df);
  const auto append = [&](const BlockReader& block) {
    docids.insert(docids.end(), block.docids().begin(), block.docids().end());
  };
  for_each_block(index_, list, append, &statistics.blocks_decoded);
}

void Intersection::answer(std::string_view text, WorkSpace& space, IntersectionAnswer& answer) const {
  HeldTotal total(default_held_bytes);
  HeldAnswer alone(total);
  answer_unless_full(text, space, answer, alone);
}

bool Intersection::answer_unless_full(std::string_view text, WorkSpace& space, IntersectionAnswer& answer,
                                      HeldAnswer& held) const {
  return with_own_errors([&] {
    answer.documents.clear();
    IntersectionStatistics& statistics = answer.statistics = {};
    const ScopedTimer whole(statistics.time_us);
    QueryMemory::Claim claim(memory_);
    claim.raise_to_words_of(text);
    if (!find_lists(text, space)) return true;
    const std::uint64_t decoded = method_.intersect_coded || space.lists.size() == 1 ? 0 : space.lists.back().df;
    claim.raise_to((space.lists.front().df + decoded) * sizeof(docid_t));
    // It may have waited for others that are as large.
    if (claim.is_alone() && held.is_full()) return false;
    QueryStatistics read;
    {
      const ScopedTimer timer(statistics.decode_us);
      decode(space.lists.front(), read, answer.documents);
    }
    for (std::size_t i = 1; i < space.lists.size() && !answer.documents.empty(); ++i) {
      if (method_.intersect_coded) {
        const ScopedTimer timer(statistics.intersect_us);
        BlockReader reader(index_, space.lists[i], &read.blocks_decoded);
        method_.intersect_coded(answer.documents, reader);
        continue;
      }
      {
        const ScopedTimer timer(statistics.decode_us);
        decode(space.lists[i], read, space.decoded);
      }
      const ScopedTimer timer(statistics.intersect_us);
      method_.intersect_decoded(answer.documents, space.decoded, options_);
    }
    // Lists that did not need to be read count too: rates are of whole queries.
    for (const PostingList& list : space.lists) {
      statistics.counts.postings += list.df;
      statistics.counts.blocks += list.num_blocks(index_.block_size());
    }
    statistics.counts.blocks_decoded = read.blocks_decoded;
    if (claim.is_alone()) {
      space.decoded = {};
      answer.documents.shrink_to_fit();
    }
    // Before the claim ends, and another large query begins.
    held.add(answer.documents.capacity() * sizeof(docid_t));
    return true;
  });
}

void intersect_batch(const Intersection& intersection, std::span<const std::string_view> texts, unsigned threads,
                     const std::function<void(std::size_t, const IntersectionAnswer&)>& take,
                     std::uint64_t held_bytes) {
  return with_own_errors([&] {
    tbb::enumerable_thread_specific<Intersection::WorkSpace> spaces(
        [&] { return Intersection::WorkSpace(intersection); });
    answer_or_put_off_in_batches<IntersectionAnswer>(
        texts.size(), threads, held_bytes,
        [&](std::size_t i, IntersectionAnswer& answer, HeldAnswer& held) {
          return intersection.answer_unless_full(texts[i], spaces.local(), answer, held);
        },
        take);
  });
}

}  // namespace quern
