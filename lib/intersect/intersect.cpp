#include "quern/intersect/intersect.hpp"

#include <tbb/enumerable_thread_specific.h>

#include <algorithm>

#include "quern/core/parallel_batch.hpp"
#include "quern/core/wall_clock.hpp"

namespace quern {
namespace {

/// Adds the time of its life to a sum.
class Stopwatch {
 public:
  explicit Stopwatch(double& sum_us) : sum_us_(sum_us), begun_(WallClock::now()) {}
  ~Stopwatch() { sum_us_ += us_since(begun_); }
  Stopwatch(const Stopwatch&) = delete;
  Stopwatch& operator=(const Stopwatch&) = delete;

 private:
  double& sum_us_;
  WallClock::time_point begun_;
};

}  // namespace

bool Intersection::find_lists(std::string_view text, WorkSpace& space) const {
  std::vector<std::string> terms = space.analyzer.terms(text);
  std::sort(terms.begin(), terms.end());
  terms.erase(std::unique(terms.begin(), terms.end()), terms.end());
  space.lists.clear();
  for (const std::string& term : terms) {
    const auto list = index_.find(term);
    if (!list) return false;
    space.lists.push_back(*list);
  }
  std::sort(space.lists.begin(), space.lists.end(), [](const PostingList& a, const PostingList& b) {
    return a.df != b.df ? a.df < b.df : a.number < b.number;
  });
  return !space.lists.empty();
}

void Intersection::decode(const PostingList& list, QueryStatistics& statistics, std::vector<docid_t>& docids) const {
  docids.clear();
  BlockReader reader(index_, list, &statistics);
  for (std::size_t block = 0; block < reader.num_blocks(); ++block) {
    reader.load(block);
    docids.insert(docids.end(), reader.docids().begin(), reader.docids().end());
  }
}

void Intersection::answer(std::string_view text, WorkSpace& space, IntersectionAnswer& answer) const {
  answer.documents.clear();
  IntersectionStatistics& statistics = answer.statistics = {};
  const Stopwatch whole(statistics.time_us);
  if (!find_lists(text, space)) return;
  QueryStatistics looked_at;
  {
    const Stopwatch watch(statistics.decode_us);
    decode(space.lists.front(), looked_at, answer.documents);
  }
  for (std::size_t i = 1; i < space.lists.size() && !answer.documents.empty(); ++i) {
    if (method_.thin_out_coded) {
      const Stopwatch watch(statistics.thin_out_us);
      BlockReader reader(index_, space.lists[i], &looked_at);
      method_.thin_out_coded(answer.documents, reader);
      continue;
    }
    {
      const Stopwatch watch(statistics.decode_us);
      decode(space.lists[i], looked_at, space.decoded);
    }
    const Stopwatch watch(statistics.thin_out_us);
    method_.thin_out(answer.documents, space.decoded, options_);
  }
  // Lists that were not read any more count too: the effective rate is that of the query.
  for (const PostingList& list : space.lists) {
    statistics.counts.postings += list.df;
    statistics.counts.blocks += list.num_blocks(index_.block_size());
  }
  statistics.counts.blocks_decoded = looked_at.blocks_decoded;
}

void intersect_batch(const Intersection& intersection, std::span<const std::string_view> texts, unsigned threads,
                     const std::function<void(std::size_t, const IntersectionAnswer&)>& take) {
  tbb::enumerable_thread_specific<Intersection::WorkSpace> spaces(
      [&] { return Intersection::WorkSpace(intersection); });
  answer_in_batches<IntersectionAnswer>(
      texts.size(), threads,
      [&](std::size_t i, IntersectionAnswer& answer) { intersection.answer(texts[i], spaces.local(), answer); }, take);
}

}  // namespace quern
