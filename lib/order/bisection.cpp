#include "quern/order/bisection.hpp"

#include <tbb/enumerable_thread_specific.h>
#include <tbb/parallel_for.h>
#include <tbb/parallel_invoke.h>
#include <tbb/task_arena.h>

#include <cmath>

#include "quern/order/order.hpp"

namespace quern {
namespace {

/// Smaller ranges are not worth a task.
constexpr std::size_t task_documents = 256;

/// RangeSplit's log_gains for ranges of at most `documents` documents.
std::vector<float> log_gains(std::size_t documents) {
  std::vector<float> gains(documents + 1);
  double before = 0;
  for (std::size_t i = 0; i <= documents; ++i) {
    const auto count = static_cast<double>(i + 1);
    const double bits = count * std::log2(count + 1);
    gains[i] = static_cast<float>(bits - before);
    before = bits;
  }
  return gains;
}

class Bisection {
 public:
  Bisection(std::size_t documents, const BisectionOptions& options, const Resources& resources)
      : options_(options),
        resources_(resources),
        all_documents_(documents),
        log_gains_(log_gains(documents)),
        splits_([this] { return RangeSplit(log_gains_); }) {}

  void order(std::span<TermSet> documents, std::uint32_t num_terms) {
    if (documents.size() <= options_.smallest_range || documents.size() < 2) return;
    RangeSplit& split = splits_.local();
    num_terms = split.renumber(documents, num_terms);
    // Deeper down there are enough ranges for all threads, and threads that share one would only wait for each other.
    const bool in_parallel = resources_.threads > 1 && documents.size() * resources_.threads > all_documents_;
    split.split(documents, num_terms, options_.iterations, in_parallel);
    resources_.progress->add(documents.size());
    const std::span<TermSet> first = documents.first(documents.size() / 2);
    const std::span<TermSet> second = documents.subspan(first.size());
    if (documents.size() < task_documents) {
      order(first, num_terms);
      order(second, num_terms);
    } else {
      tbb::parallel_invoke([=, this] { order(first, num_terms); }, [=, this] { order(second, num_terms); });
    }
  }

 private:
  const BisectionOptions& options_;
  const Resources& resources_;
  const std::size_t all_documents_;
  const std::vector<float> log_gains_;
  tbb::enumerable_thread_specific<RangeSplit> splits_;
};

/// How often a range of `documents` documents can be halved until ranges have at most `smallest`.
std::uint64_t levels(std::size_t documents, std::size_t smallest) {
  std::uint64_t levels = 0;
  for (; documents > smallest && documents > 1; documents = (documents + 1) / 2) ++levels;
  return levels;
}

/// Maximum memory of bisect() besides the documents.
std::uint64_t bisection_bytes(std::uint64_t documents, std::uint64_t num_terms, unsigned threads) {
  return documents * sizeof(float) +
         threads * (num_terms * RangeSplit::bytes_per_term + documents * RangeSplit::bytes_per_document);
}

/// The second round starts from the first one's result and saves another percent of the docIDs' bits. A third round
/// would save a quarter of that.
constexpr unsigned rounds = 2;

/// Memory independent of the number of threads: the documents' sets of terms, and their orders.
std::uint64_t table_bytes(const CollectionManifest& collection) {
  return collection.documents * (permutation_bytes + sizeof(TermSet)) + DocumentTerms::needed_bytes(collection);
}

/// As many threads as the memory allows.
Resources with_fitting_threads(const OrderInput& input) {
  const CollectionManifest& collection = input.collection.manifest();
  const std::uint64_t free_bytes = input.free_bytes(0) - std::min(table_bytes(collection), input.free_bytes(0));
  Resources resources = input.resources;
  while (resources.threads > 1 &&
         bisection_bytes(collection.documents, collection.terms, resources.threads) > free_bytes)
    --resources.threads;
  return resources;
}

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

/// Uses four partial sums, so that additions don't wait for each other; always in the same order.
float sum_of(std::span<const std::uint32_t> terms, const std::vector<float>& weights) {
  float sums[4] = {};
  std::size_t i = 0;
  for (; i + 4 <= terms.size(); i += 4)
    for (std::size_t lane = 0; lane < 4; ++lane) sums[lane] += weights[terms[i + lane]];
  for (; i < terms.size(); ++i) sums[0] += weights[terms[i]];
  return (sums[0] + sums[1]) + (sums[2] + sums[3]);
}

}  // namespace

void bisect(std::span<TermSet> documents, std::uint32_t num_terms, const BisectionOptions& options,
            const Resources& resources) {
  return run_stage(resources, [&] {
    resources.progress->start("bisect", documents.size() * levels(documents.size(), options.smallest_range),
                              "documents");
    Bisection bisection(documents.size(), options, resources);
    bisection.order(documents, num_terms);
    resources.progress->finish();
  });
}

std::uint64_t bisection_order_bytes(const CollectionManifest& collection) {
  return table_bytes(collection) + bisection_bytes(collection.documents, collection.terms, 1);
}

DocumentOrder order_by_bisection(const OrderInput& input) {
  const CollectionManifest& collection = input.collection.manifest();
  const Resources resources = with_fitting_threads(input);
  // While the terms are read, the memory of bisection is free.
  const std::uint64_t reading_bytes = bisection_bytes(collection.documents, collection.terms, resources.threads);
  DocumentOrder order = order_by_url(input);
  for (unsigned round = 0; round < rounds; ++round) {
    DocumentTerms terms(input.collection, reading_bytes, input.resources);
    std::vector<TermSet> documents;
    documents.reserve(order.documents.size());
    for (const docid_t document : order.documents) documents.push_back(terms.documents()[document]);
    bisect(documents, terms.num_terms(), {}, resources);
    for (std::size_t i = 0; i < documents.size(); ++i) order.documents[i] = documents[i].document;
  }
  return order;
}

std::uint32_t RangeSplit::renumber(std::span<TermSet> documents, std::uint32_t num_terms) {
  total_.assign(num_terms, 0);
  for (const TermSet& document : documents)
    for (const std::uint32_t term : document.view()) ++total_[term];
  numbers_.assign(num_terms, 0);
  std::uint32_t next = 0;
  for (TermSet& document : documents) {
    std::uint32_t kept = 0;
    for (const std::uint32_t term : document.view()) {
      // Not "==" but ">=": in a damaged collection a document may contain a term twice.
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
  for (std::size_t i = 0; i < documents.size(); ++i)
    if (second_[i])
      seconds_.push_back(documents[i]);
    else
      documents[firsts++] = documents[i];
  std::copy(seconds_.begin(), seconds_.end(), documents.begin() + static_cast<std::ptrdiff_t>(firsts));
}

}  // namespace quern
