#include "quern/cache/cache_policy.hpp"

#include <algorithm>
#include <cmath>

#include "quern/core/named.hpp"

namespace quern {
namespace {

using Demands = std::vector<const ListDemand*>;

/// The lists that the log reads, sorted; ties by term.
template <class Before>
Demands sorted_demands(const LogDemand& demand, Before&& before) {
  Demands demands;
  for (const auto& entry : demand.lists) demands.push_back(&entry.second);
  std::stable_sort(demands.begin(), demands.end(),
                   [&](const ListDemand* a, const ListDemand* b) { return before(*a, *b); });
  return demands;
}

bool more_queries(const ListDemand& a, const ListDemand& b) { return a.queries > b.queries; }

/// f_t / length, compared without rounding.
bool more_queries_per_posting(const ListDemand& a, const ListDemand& b) {
  using Wide = unsigned __int128;
  return Wide{a.queries} * b.list.df > Wide{b.queries} * a.list.df;
}

/// The lists that the log does not read, in the order of terms.
template <class Admit>
void for_other_lists(const IndexReader& index, const LogDemand& demand, Admit&& admit) {
  for (std::uint64_t block = 0; block < index.num_lexicon_blocks(); ++block)
    index.for_each_list(block, [&](std::string_view, const PostingList& list) {
      if (demand.lists.count(list.number) == 0) admit(list);
    });
}

void admit_whole_lists(const IndexReader& index, const LogDemand& demand, const Demands& demands,
                       CacheAdmission& admission) {
  for (const ListDemand* of_list : demands) admission.admit_whole(of_list->list);
  for_other_lists(index, demand, [&](const PostingList& list) { admission.admit_whole(list); });
}

void admit_qtf(const IndexReader& index, const LogDemand& demand, CacheAdmission& admission) {
  admit_whole_lists(index, demand, sorted_demands(demand, more_queries), admission);
}

void admit_qtfdf(const IndexReader& index, const LogDemand& demand, CacheAdmission& admission) {
  admit_whole_lists(index, demand, sorted_demands(demand, more_queries_per_posting), admission);
}

/// A block of a list, which is identified by its place when lists are sorted by queries.
struct VisitedBlock {
  std::uint64_t visits;
  std::uint32_t place;
};

void admit_rest(const PostingList& list, CacheAdmission& admission) {
  while (admission.admit_next(list)) {
  }
}

/// By (visits descending, f_t descending, term, block): visits never rise along a list, so its blocks come in order.
void admit_vfb(const IndexReader& index, const LogDemand& demand, CacheAdmission& admission) {
  const Demands demands = sorted_demands(demand, more_queries);
  std::vector<VisitedBlock> blocks;
  for (std::uint32_t place = 0; place < demands.size(); ++place)
    for (const std::uint64_t visits : demands[place]->visits)
      if (visits > 0) blocks.push_back({visits, place});
  std::sort(blocks.begin(), blocks.end(), [](const VisitedBlock& a, const VisitedBlock& b) {
    return a.visits != b.visits ? a.visits > b.visits : a.place < b.place;
  });
  for (const VisitedBlock& block : blocks) admission.admit_next(demands[block.place]->list);
  for (const ListDemand* of_list : demands) admit_rest(of_list->list, admission);
  for_other_lists(index, demand, [&](const PostingList& list) { admit_rest(list, admission); });
}

constexpr CachePolicy vfb = {"vfb", "blocks by how many queries visit them", admit_vfb};
constexpr CachePolicy qtf = {"qtf", "whole lists by how many queries have their term", admit_qtf};
constexpr CachePolicy qtfdf = {"qtfdf", "whole lists by how many queries have their term, per posting", admit_qtfdf};

}  // namespace

CacheAdmission::CacheAdmission(const CacheBlocks& blocks, std::uint64_t budget_bytes, double max_admission)
    : blocks_(blocks), budget_(budget_bytes), max_admission_(max_admission) {
  if (!(max_admission > 0 && max_admission <= 1))
    throw InvalidArgument("the maximum admission (lambda) must be above 0 and at most 1");
}

std::uint64_t CacheAdmission::admissible(const PostingList& list) const {
  const double postings = std::floor(max_admission_ * static_cast<double>(list.df));
  if (postings >= static_cast<double>(list.df)) return blocks_.count(list);
  return std::max<std::uint64_t>(1, static_cast<std::uint64_t>(postings) / blocks_.size());
}

bool CacheAdmission::admit(const PostingList& list, const Prefix& before, std::uint64_t blocks) {
  const std::uint64_t bytes = blocks_.bytes(list, blocks);
  if (bytes - before.bytes > budget_ - bytes_) return false;
  bytes_ += bytes - before.bytes;
  lists_[list.number] = {blocks, bytes};
  return true;
}

bool CacheAdmission::admit_next(const PostingList& list) {
  const auto found = lists_.find(list.number);
  const Prefix before = found == lists_.end() ? Prefix() : found->second;
  return before.blocks < admissible(list) && admit(list, before, before.blocks + 1);
}

void CacheAdmission::admit_whole(const PostingList& list) { admit(list, {}, admissible(list)); }

const std::vector<const CachePolicy*>& all_cache_policies() {
  static const std::vector<const CachePolicy*> policies = {&vfb, &qtf, &qtfdf};
  return policies;
}

const CachePolicy& cache_policy_named(std::string_view name) {
  return find_named(all_cache_policies(), name, "cache policy");
}

}  // namespace quern
