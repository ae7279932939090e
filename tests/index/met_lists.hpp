#pragma once
#include <vector>

#include "quern/index/list_source.hpp"

namespace quern::testing {

/// A source's output: all postings in order, and their kinds of batches.
struct MetLists {
  std::vector<Posting> postings;
  std::size_t batches = 0, long_lists = 0;
};

inline MetLists met_lists(ListSource& source) {
  MetLists met;
  std::vector<Posting> scratch;
  for (ListBatch batch; source.next(batch);) {
    ++met.batches;
    Lists lists = lists_of(std::move(batch));
    if (const auto* list = std::get_if<LongList>(&lists)) {
      ++met.long_lists;
      std::vector<SpooledPosting> postings(list->size);
      list->postings->read(list->first, postings);
      for (const SpooledPosting& posting : postings) met.postings.push_back({list->term, posting.docid, posting.freq});
      continue;
    }
    if (auto* unsorted = std::get_if<UnsortedLists>(&lists)) {
      sort_postings(unsorted->postings, scratch, 1);
      lists = OwnedLists{std::move(unsorted->postings)};
    }
    const auto* viewed = std::get_if<ViewedLists>(&lists);
    const std::span<const Posting> postings = viewed ? viewed->postings : std::get<OwnedLists>(lists).postings;
    met.postings.insert(met.postings.end(), postings.begin(), postings.end());
  }
  return met;
}

}  // namespace quern::testing
