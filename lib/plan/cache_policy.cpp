#include "quern/plan/cache_policy.hpp"

#include <cmath>
#include <limits>
#include <numeric>

namespace quern {
namespace {

/// Indices into LogDemand::lists.
using Places = std::vector<std::uint32_t>;

/// Indices of the lists that the log reads, sorted; ties by term.
template <class Before>
Places sorted_places(const LogDemand& demand, Before&& before) {
  Places places(demand.lists.size());
  std::iota(places.begin(), places.end(), 0u);
  std::sort(places.begin(), places.end(), [&](std::uint32_t a, std::uint32_t b) {
    const ListDemand &list_a = demand.lists[a], &list_b = demand.lists[b];
    return before(list_a, list_b) || (!before(list_b, list_a) && a < b);
  });
  return places;
}

bool more_queries(const ListDemand& a, const ListDemand& b) { return a.queries > b.queries; }

/// f_t / length, compared without rounding.
bool more_queries_per_posting(const ListDemand& a, const ListDemand& b) {
  using Wide = unsigned __int128;
  return Wide{a.queries} * b.df > Wide{b.queries} * a.df;
}

/// Calls `admit` for the lists that the log does not read, in the order of terms.
template <class Admit>
void for_other_lists(const LogDemand& demand, const CacheAdmission& admission, Admit&& admit) {
  auto next = demand.lists.begin();
  admission.blocks().for_each_list([&](const PostingList& list) {
    while (next != demand.lists.end() && next->term < list.number) ++next;
    if (next == demand.lists.end() || next->term != list.number) admit(list);
  });
}

PostingList list_of(const CacheAdmission& admission, const ListDemand& demand) {
  return admission.blocks().index().list(demand.term);
}

void admit_whole_lists(const LogDemand& demand, const Places& places, CacheAdmission& admission) {
  for (const std::uint32_t place : places) admission.admit_whole(list_of(admission, demand.lists[place]));
  for_other_lists(demand, admission, [&](const PostingList& list) { admission.admit_whole(list); });
}

void admit_qtf(const LogDemand& demand, CacheAdmission& admission) {
  admit_whole_lists(demand, sorted_places(demand, more_queries), admission);
}

void admit_qtfdf(const LogDemand& demand, CacheAdmission& admission) {
  admit_whole_lists(demand, sorted_places(demand, more_queries_per_posting), admission);
}

/// Consecutive blocks of a list with equally many visits. Lists are numbered by queries.
struct VisitedBlocks {
  std::uint64_t visits;
  std::uint32_t rank, blocks;
};

std::vector<VisitedBlocks> visited_blocks(const LogDemand& demand, const Places& places) {
  std::vector<VisitedBlocks> all;
  all.reserve(demand.visits.size());
  for (std::uint32_t rank = 0; rank < places.size(); ++rank) {
    const auto visits = demand.visits_of(demand.lists[places[rank]]);
    for (std::size_t block = 0; block < visits.size() && visits[block] > 0; ++block)
      if (block > 0 && visits[block] == visits[block - 1])
        ++all.back().blocks;
      else
        all.push_back({visits[block], rank, 1});
  }
  return all;
}

void admit_rest(const PostingList& list, CacheAdmission& admission) {
  while (admission.admit_next(list)) {
  }
}

/// Sorts by (visits descending, f_t descending, term, block): visits never increase along a list, so its blocks come in
/// order.
void admit_vfb(const LogDemand& demand, CacheAdmission& admission) {
  const Places places = sorted_places(demand, more_queries);
  std::vector<VisitedBlocks> visited = visited_blocks(demand, places);
  std::sort(visited.begin(), visited.end(), [](const VisitedBlocks& a, const VisitedBlocks& b) {
    return a.visits != b.visits ? a.visits > b.visits : a.rank < b.rank;
  });
  for (const VisitedBlocks& some : visited) {
    const PostingList list = list_of(admission, demand.lists[places[some.rank]]);
    for (std::uint32_t i = 0; i < some.blocks && admission.admit_next(list); ++i) {
    }
  }
  for (const std::uint32_t place : places) admit_rest(list_of(admission, demand.lists[place]), admission);
  for_other_lists(demand, admission, [&](const PostingList& list) { admit_rest(list, admission); });
}

/// Orders lists from longest to shortest, ties by term.
bool longer(const LengthOfList& a, const LengthOfList& b) {
  return a.length != b.length ? a.length > b.length : a.term < b.term;
}

/// Like Huang et al., whose memory held all such lists: ignores the log.
void admit_longer_than_block(const LogDemand&, CacheAdmission& admission) {
  std::vector<LengthOfList> lists;
  admission.blocks().for_each_list([&](const PostingList& list) {
    if (is_kept(list)) lists.push_back({static_cast<std::uint32_t>(list.df), list.number});
  });
  std::sort(lists.begin(), lists.end(), longer);
  for (const LengthOfList& list : lists) admission.admit_whole(admission.blocks().index().list(list.term));
}

constexpr CachePolicy vfb = {"vfb", "blocks by the number of queries that visit them", admit_vfb};
constexpr CachePolicy qtf = {"qtf", "whole lists by the number of queries with their term", admit_qtf};
constexpr CachePolicy qtfdf = {"qtfdf", "whole lists by the number of queries with their term, per posting",
                               admit_qtfdf};
constexpr CachePolicy longer_than_block = {
    "longer-than-block", "whole lists of more than one block, the longest first, regardless of the log",
    admit_longer_than_block};

}  // namespace

CacheAdmission::CacheAdmission(const CacheBlocks& blocks, std::uint64_t budget_bytes, double max_admission,
                               std::optional<std::uint64_t> budget_rows)
    : blocks_(blocks),
      budget_(budget_bytes),
      budget_rows_(budget_rows.value_or(std::numeric_limits<std::uint64_t>::max())),
      max_admission_(max_admission),
      admitted_(blocks.index().manifest().terms) {
  if (!(max_admission > 0 && max_admission <= 1))
    throw InvalidArgument("the maximum admission (lambda) must be greater than 0 and at most 1");
}

std::uint64_t CacheAdmission::admissible(const PostingList& list) const {
  if (!is_kept(list)) return 0;
  const double postings = std::floor(max_admission_ * static_cast<double>(list.df));
  if (postings >= static_cast<double>(list.df)) return blocks_.count(list);
  return std::max<std::uint64_t>(1, static_cast<std::uint64_t>(postings) / blocks_.size());
}

bool CacheAdmission::admit(const PostingList& list, std::uint64_t blocks) {
  const std::uint64_t bytes = blocks_.bytes(list, blocks) - blocks_.bytes(list, admitted_[list.number]);
  const bool is_new = admitted_[list.number] == 0 && blocks > 0;
  const std::uint64_t rows = is_new ? rows_kept(list) : 0;
  if (bytes > budget_ - bytes_ || rows > budget_rows_ - rows_) return false;
  bytes_ += bytes;
  rows_ += rows;
  num_lists_ += is_new;
  admitted_[list.number] = static_cast<std::uint32_t>(blocks);
  return true;
}

bool CacheAdmission::admit_next(const PostingList& list) {
  const std::uint64_t before = admitted_[list.number];
  return before < admissible(list) && admit(list, before + 1);
}

void CacheAdmission::admit_whole(const PostingList& list) { admit(list, admissible(list)); }

const std::vector<const CachePolicy*>& all_cache_policies() {
  static const std::vector<const CachePolicy*> policies = {&vfb, &qtf, &qtfdf, &longer_than_block};
  return policies;
}

const CachePolicy& cache_policy_named(std::string_view name) {
  return find_named(all_cache_policies(), name, "cache policy");
}

}  // namespace quern
