#include <tbb/parallel_for.h>
#include <tbb/task_arena.h>

#include <algorithm>

#include "quern/order/bisection.hpp"

namespace quern {
namespace {

/// Calls visit(i) for 0 <= i < count, in any order.
template <class Visit>
void for_each_number(std::size_t count, bool in_parallel, const Visit& visit) {
  if (in_parallel) {
    // Isolated, so that no thread starts another range while it works on this one.
    tbb::this_task_arena::isolate([&] { tbb::parallel_for(std::size_t{0}, count, visit); });
  } else {
    for (std::size_t i = 0; i < count; ++i) visit(i);
  }
}

/// Adds up in four sums, so that additions don't wait for each other; always in the same order.
float sum_of(std::span<const std::uint32_t> terms, const std::vector<float>& weights) {
  float sums[4] = {};
  std::size_t i = 0;
  for (; i + 4 <= terms.size(); i += 4)
    for (std::size_t lane = 0; lane < 4; ++lane) sums[lane] += weights[terms[i + lane]];
  for (; i < terms.size(); ++i) sums[0] += weights[terms[i]];
  return (sums[0] + sums[1]) + (sums[2] + sums[3]);
}

}  // namespace

std::uint32_t RangeSplit::renumber(std::span<TermSet> documents, std::uint32_t num_terms) {
  total_.assign(num_terms, 0);
  for (const TermSet& document : documents)
    for (const std::uint32_t term : document.view()) ++total_[term];
  numbers_.assign(num_terms, 0);
  std::uint32_t next = 0;
  for (TermSet& document : documents) {
    std::uint32_t kept = 0;
    for (const std::uint32_t term : document.view()) {
      // Not "all" but "at least as many": in a damaged collection a document may have a term twice.
      if (total_[term] < 2 || total_[term] >= documents.size()) continue;
      if (numbers_[term] == 0) numbers_[term] = ++next;
      document.terms[kept++] = numbers_[term] - 1;
    }
    document.size = kept;
  }
  return next;
}

void RangeSplit::split(std::span<TermSet> documents, std::uint32_t num_terms, unsigned iterations, bool in_parallel) {
  second_.assign(documents.size(), 0);
  std::fill(second_.begin() + static_cast<std::ptrdiff_t>(documents.size() / 2), second_.end(), std::uint8_t{1});
  weights_.resize(documents.size());
  count_terms(documents, num_terms);
  for (unsigned i = 0; i < iterations; ++i) {
    weigh_terms(in_parallel);
    weigh_documents(documents, static_cast<float>(i), in_parallel);
    if (!exchange(documents)) break;
  }
  gather(documents);
}

void RangeSplit::count_terms(std::span<const TermSet> documents, std::uint32_t num_terms) {
  first_.assign(num_terms, 0);
  total_.assign(num_terms, 0);
  for (std::size_t i = 0; i < documents.size(); ++i) {
    for (const std::uint32_t term : documents[i].view()) {
      ++total_[term];
      first_[term] += 1u - second_[i];
    }
  }
  in_first_.resize(num_terms);
  in_second_.resize(num_terms);
}

void RangeSplit::weigh_terms(bool in_parallel) {
  for_each_number(total_.size(), in_parallel, [&](std::size_t term) {
    const std::uint32_t first = first_[term], second = total_[term] - first;
    in_first_[term] = first == 0 ? 0 : log_gains_[first - 1] - log_gains_[second];
    in_second_[term] = second == 0 ? 0 : log_gains_[first] - log_gains_[second - 1];
  });
}

void RangeSplit::weigh_documents(std::span<const TermSet> documents, float inertia, bool in_parallel) {
  for_each_number(documents.size(), in_parallel, [&](std::size_t i) {
    const float bits =
        second_[i] ? sum_of(documents[i].view(), in_second_) : sum_of(documents[i].view(), in_first_) + inertia;
    weights_[i] = {bits, static_cast<std::uint32_t>(i)};
  });
}

bool RangeSplit::exchange(std::span<const TermSet> documents) {
  const auto half = weights_.begin() + static_cast<std::ptrdiff_t>(documents.size() / 2);
  std::nth_element(weights_.begin(), half, weights_.end(), [&](const Weight& a, const Weight& b) {
    if (a.bits != b.bits) return a.bits > b.bits;
    return second_[a.place] != second_[b.place] ? second_[a.place] < second_[b.place] : a.place < b.place;
  });
  bool moved = false;
  for (auto weight = weights_.begin(); weight != weights_.end(); ++weight) {
    const std::uint8_t to_second = weight >= half;
    if (second_[weight->place] == to_second) continue;
    moved = true;
    second_[weight->place] = to_second;
    const std::uint32_t change = to_second ? ~std::uint32_t{0} : 1;
    for (const std::uint32_t term : documents[weight->place].view()) first_[term] += change;
  }
  return moved;
}

void RangeSplit::gather(std::span<TermSet> documents) {
  std::size_t firsts = 0;
  seconds_.clear();
  for (std::size_t i = 0; i < documents.size(); ++i) {
    if (second_[i])
      seconds_.push_back(documents[i]);
    else
      documents[firsts++] = documents[i];
  }
  std::copy(seconds_.begin(), seconds_.end(), documents.begin() + static_cast<std::ptrdiff_t>(firsts));
}

}  // namespace quern
