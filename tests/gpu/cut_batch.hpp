#pragma once
#include "quern/gpu/worker/fronts.hpp"

#include "gpu/host_index.hpp"

/// Batches that read only the fronts of some lists, for an emulated GPU: include gpu/emulated_gpu.hpp first.
namespace quern::testing {

/// Numbers of queries by how they ended. A query with too many candidates would run again.
struct QueryEnds {
  unsigned whole = 0, ended_on_front = 0, resumed = 0, run_again = 0;
};

/// A batch of `and` over random fronts, and some whole lists that another batch has loaded.
class CutBatch {
 public:
  /// Changes the index's arenas. With `for_windows`, they contain only fronts, so windows load the rest. `passing`: the
  /// documents to which results are restricted; null: all.
  CutBatch(HostIndex& index, const std::vector<std::vector<std::string>>& queries, std::size_t k, RandomBits& random,
           bool for_windows = false, const DocumentSet* passing = nullptr)
      : index_(index), k_(k) {
    asked_.passing = passing;
    const gpu::QueryBatch whole = batch_of(index.engine(), queries, true, k, asked_);
    if (for_windows) {
      cache_.emplace(index.keep_fronts(whole.batch_lists(), random));
      make_batch();
      return;
    }
    gpu::ListCopies copies;
    cache_.emplace(index.cache_of_fronts(whole, random, copies));
    bring_some(whole, random, copies);
    make_batch();
    std::vector<gpu::WantedList> wanted;
    for (const auto& [number, list] : batch_->coded) {
      if (batch_->fronts()->is_cut(*list))
        cache_->use_front(*list, batch_->lists[number]);
      else
        wanted.push_back({list, &batch_->lists[number]});
    }
    REQUIRE(cache_->acquire(0, wanted, copies));
    index.use_arenas(copies);
  }

  gpu::QueryBatch& batch() { return *batch_; }
  gpu::ListCache& cache() { return *cache_; }

  /// Resumes all queries after the emulated GPU's results, and compares the final results with the CPU's.
  template <class Batch>
  void check(const Batch& found, QueryEnds& ends) const {
    const QueryEngine& engine = index_.engine();
    Analyzer analyzer = engine.make_analyzer();
    for (std::size_t i = 0; i < asked_.texts.size(); ++i) {
      const auto& lists = asked_.lists[i];
      const gpu::QueryEnd end = gpu::end_of_query(*batch_, i, lists);
      INFO("k " << k_ << ", query " << asked_.texts[i] << ", on the CPU from " << end.from_cpu);
      if (found.min_units_again(i)) {
        ++ends.run_again;
        continue;
      }
      std::vector<ScoredDocument> results = found.results(i);
      for (const ScoredDocument& document : results) REQUIRE(document.docid < end.from_cpu);
      ends.whole += !end.on_front;
      if (gpu::is_complete(engine, end, results, k_)) {
        ends.ended_on_front += end.on_front;
      } else {
        ++ends.resumed;
        results = engine.resume(lists, k_, end.from_cpu, results, nullptr, asked_.passing);
      }
      require_same(results, engine.search(terms_of_text(asked_.texts[i], analyzer), algorithm_named("and"), k_, nullptr,
                                          asked_.passing));
    }
  }

 private:
  void make_batch() {
    batch_.emplace(index_.engine(), *cache_);
    for (const auto& lists : asked_.lists)
      batch_->add(std::vector<gpu::UnbatchedQuery>{{lists}}, {.intersect = true, .k = k_, .passing = asked_.passing});
  }
  void bring_some(const gpu::QueryBatch& whole_lists, RandomBits& random, gpu::ListCopies& copies) {
    std::vector<gpu::ListView> unused(whole_lists.coded.size());
    std::vector<gpu::WantedList> some;
    for (std::size_t i = 0; i < unused.size(); ++i)
      if (random.below(4) == 0) some.push_back({whole_lists.coded[i].second, &unused[i]});
    REQUIRE(cache_->acquire(1, some, copies));
  }

  HostIndex& index_;
  const std::size_t k_;
  BatchQueries asked_;
  std::optional<gpu::ListCache> cache_;
  std::optional<gpu::QueryBatch> batch_;
};

}  // namespace quern::testing
