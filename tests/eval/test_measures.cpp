#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>

#include "quern/core/error.hpp"
#include "quern/eval/measure.hpp"

#include "catch.hpp"

namespace quern {
namespace {

/// The value of a named measure for a ranking.
double value_of(std::string_view measure, const std::vector<std::int32_t>& results, std::vector<std::int32_t> judged,
                std::int32_t level = 1) {
  std::sort(judged.begin(), judged.end(), std::greater<>());
  const std::vector<MeasureChoice> choices = measures_named(measure);
  REQUIRE(choices.size() == 1);
  return choices.front().value(judged_ranking(results, judged, level));
}

/// Measures straight from their formulas, with ranks from 1, recomputed at each rank.
class NaiveMeasures {
 public:
  NaiveMeasures(std::vector<std::int32_t> results, std::vector<std::int32_t> judged, std::int32_t level)
      : results_(std::move(results)), judged_(std::move(judged)), level_(level) {}

  bool is_relevant(std::size_t rank) const { return rank <= results_.size() && results_[rank - 1] >= level_; }
  double relevant() const {
    return static_cast<double>(std::count_if(judged_.begin(), judged_.end(), [&](auto r) { return r >= level_; }));
  }
  double found(std::size_t k) const {
    double sum = 0;
    for (std::size_t rank = 1; rank <= k; ++rank) sum += is_relevant(rank);
    return sum;
  }
  double precision(std::size_t k) const { return found(k) / static_cast<double>(k); }
  double recall(std::size_t k) const { return relevant() > 0 ? found(k) / relevant() : 0; }
  double average_precision(std::size_t k) const {
    double sum = 0;
    for (std::size_t rank = 1; rank <= k; ++rank) sum += is_relevant(rank) ? precision(rank) : 0;
    return relevant() > 0 ? sum / relevant() : 0;
  }
  double reciprocal_rank(std::size_t k) const {
    for (std::size_t rank = 1; rank <= k; ++rank)
      if (is_relevant(rank)) return 1.0 / static_cast<double>(rank);
    return 0;
  }
  static double gain(const std::vector<std::int32_t>& relevances, std::size_t k) {
    double sum = 0;
    for (std::size_t rank = 1; rank <= std::min(k, relevances.size()); ++rank)
      sum += std::max(relevances[rank - 1], 0) * std::log(2.0) / std::log(static_cast<double>(rank) + 1);
    return sum;
  }
  double ndcg(std::size_t k) const {
    std::vector<std::int32_t> best = judged_;
    std::sort(best.rbegin(), best.rend());
    return gain(best, k) > 0 ? gain(results_, k) / gain(best, k) : 0;
  }
  double bpref() const {
    const double not_relevant = static_cast<double>(
        std::count_if(judged_.begin(), judged_.end(), [&](auto r) { return r >= 0 && r < level_; }));
    double sum = 0;
    for (std::size_t rank = 1; rank <= results_.size(); ++rank) {
      if (!is_relevant(rank)) continue;
      const double above = static_cast<double>(
          std::count_if(results_.begin(), results_.begin() + rank, [&](auto r) { return r >= 0 && r < level_; }));
      sum += above == 0 ? 1 : 1 - std::min(above, relevant()) / std::min(not_relevant, relevant());
    }
    return relevant() > 0 ? sum / relevant() : 0;
  }

 private:
  std::vector<std::int32_t> results_, judged_;
  std::int32_t level_;
};

}  // namespace

TEST_CASE("Measures have the values of the worked example", "[evaluation]") {
  // The ranking and judgements of formats/queries/measures.md, "A ranking".
  const std::vector<std::int32_t> results{0, 2, -1, 1, 0, 1}, judged{2, 1, 1, 1, 0, 0, 0};
  const auto value = [&](std::string_view measure) { return value_of(measure, results, judged); };
  CHECK(value("num_q") == 1);
  CHECK(value("num_ret") == 6);
  CHECK(value("num_rel") == 4);
  CHECK(value("num_rel_ret") == 3);
  CHECK(value("map") == Approx((1.0 / 2 + 2.0 / 4 + 3.0 / 6) / 4).epsilon(1e-15));
  CHECK(value("map_cut.4") == Approx((1.0 / 2 + 2.0 / 4) / 4).epsilon(1e-15));
  CHECK(value("gm_map") == Approx(std::log(0.375)).epsilon(1e-15));
  CHECK(value("Rprec") == 0.5);
  CHECK(value("bpref") == Approx((2.0 / 3 + 2.0 / 3 + 1.0 / 3) / 4).epsilon(1e-15));
  CHECK(value("recip_rank") == 0.5);
  CHECK(value("P.1") == 0);
  CHECK(value("P.4") == 0.5);
  CHECK(value("P_10") == 0.3);
  CHECK(value("recall.2") == 0.25);
  CHECK(value("recall.100") == 0.75);
  CHECK(value("success.1") == 0);
  CHECK(value("success.2") == 1);
  const double ideal2 = 2 + 1 / std::log2(3.0), ideal = ideal2 + 1 / 2.0 + 1 / std::log2(5.0);
  CHECK(value("ndcg") == Approx((2 / std::log2(3.0) + 1 / std::log2(5.0) + 1 / std::log2(7.0)) / ideal).epsilon(1e-15));
  CHECK(value("ndcg_cut.2") == Approx(2 / std::log2(3.0) / ideal2).epsilon(1e-15));
  CHECK(value("set_P") == 0.5);
  CHECK(value("set_recall") == 0.75);
  CHECK(value("set_F") == Approx(0.6).epsilon(1e-15));
  CHECK(value("set_F.0.5") == Approx(1.5 * 0.5 * 0.75 / (0.5 * 0.5 + 0.75)).epsilon(1e-15));
  CHECK(value("set_map") == Approx(0.375).epsilon(1e-15));
  CHECK(value("set_relative_P") == 0.75);
  CHECK(value("relative_P.2") == 0.5);
  CHECK(value("relative_P.10") == 0.75);
  CHECK(value("utility") == 0);
  CHECK(value("num_nonrel_judged_ret") == 2);
  CHECK(value("gm_bpref") == Approx(std::log(value("bpref"))).epsilon(1e-15));
  CHECK(value("unj.2") == 0);
  CHECK(value("unj.5") == 0.2);
  CHECK(value("ideal_dcg") == Approx(ideal).epsilon(1e-15));
  CHECK(value("dcg") == Approx(value("ndcg") * ideal).epsilon(1e-15));
  // Precisions at relevant results are 1/2, 2/4 and 3/6.
  CHECK(value("iprec_at_recall.0") == 0.5);
  CHECK(value("iprec_at_recall.0.75") == 0.5);
  CHECK(value("iprec_at_recall.0.9") == 0);
  CHECK(value("11pt_avg") == Approx(9 * 0.5 / 11).epsilon(1e-15));
  CHECK(value("Rprec_mult.0.5") == 0.5);
  CHECK(value("Rprec_mult.2") == 3.0 / 8);
  // Gains are divided by 2.
  CHECK(value("rbp") == Approx(0.1 * (0.9 + 0.5 * 0.729 + 0.5 * 0.59049)).epsilon(1e-14));
  CHECK(value("rbp.p=0.5") == Approx(0.5 * (0.5 + 0.5 / 8 + 0.5 / 32)).epsilon(1e-14));
  CHECK(value("rbp_resid.0.5") == Approx(0.5 * 0.25 + 1.0 / 64).epsilon(1e-14));
  // With level 2 only one document is relevant; gains don't change.
  CHECK(value_of("map", results, judged, 2) == 0.5);
  CHECK(value_of("bpref", results, judged, 2) == 0);
  CHECK(value_of("num_rel", results, judged, 2) == 1);
  CHECK(value_of("ndcg", results, judged, 2) == value("ndcg"));
}

TEST_CASE("Measures are 0 without results or without relevant documents", "[evaluation]") {
  for (const Measure& measure : all_measures()) {
    // Those that also count judgements, or results that are not relevant.
    const std::string_view others[] = {"num_q", "num_ret", "num_rel",   "num_nonrel_judged_ret",
                                       "unj",   "utility", "rbp_resid", "ideal_dcg"};
    if (std::find(std::begin(others), std::end(others), measure.name) != std::end(others)) continue;
    INFO(measure.name);
    const double none = measure.summary == MeasureSummary::geometric_mean ? std::log(0.00001) : 0;
    struct Case {
      std::vector<std::int32_t> results, judged;
    };
    for (const auto& [results, judged] :
         {Case{{}, {1, 0, -1}}, Case{{-1, 0, -1}, {0, 0}}, Case{{-1, -1}, {2, 0}}, Case{{}, {}}, Case{{-1}, {-1}}})
      CHECK(measure.value(judged_ranking(results, judged, 1), 10) == none);
  }
}

TEST_CASE("Measures agree with their formulas on random rankings", "[evaluation][property]") {
  std::mt19937 random(5);
  for (int round = 0; round < 2000; ++round) {
    const std::int32_t level = 1 + static_cast<std::int32_t>(random() % 3);
    const auto most = static_cast<std::int32_t>(random() % 4);
    std::vector<std::int32_t> judged(random() % 30), results;
    for (std::int32_t& relevance : judged) relevance = static_cast<std::int32_t>(random() % (most + 2)) - 1;
    for (const std::int32_t relevance : judged)
      if (random() % 2 == 0) results.push_back(relevance);
    results.resize(results.size() + random() % 20, -1);
    std::shuffle(results.begin(), results.end(), random);
    const NaiveMeasures naive(results, judged, level);
    const std::size_t k = 1 + random() % 40;
    const auto check = [&](const std::string& measure, double want) {
      INFO(measure << " of round " << round);
      CHECK(std::abs(value_of(measure, results, judged, level) - want) < 1e-13);
    };
    const auto cut = [k](const std::string& name) { return name + "." + std::to_string(k); };
    const std::size_t all = results.size();
    check("map", naive.average_precision(all));
    check(cut("map_cut"), naive.average_precision(k));
    check("gm_map", std::log(std::max(naive.average_precision(all), 1e-5)));
    check("Rprec", naive.recall(static_cast<std::size_t>(naive.relevant())));
    check("bpref", naive.bpref());
    check("recip_rank", naive.reciprocal_rank(all));
    check("MRR@" + std::to_string(k), naive.reciprocal_rank(k));
    check(cut("P"), naive.precision(k));
    check(cut("recall"), naive.recall(k));
    check(cut("success"), naive.found(k) > 0);
    check("ndcg", naive.ndcg(std::max(all, judged.size())));
    check(cut("ndcg_cut"), naive.ndcg(k));
    check("num_rel_ret", naive.found(all));
    check("set_P", all > 0 ? naive.precision(all) : 0);
    check("set_recall", naive.recall(all));
    const double p = all > 0 ? naive.precision(all) : 0, r = naive.recall(all);
    check("set_F", p + r > 0 ? 2 * p * r / (p + r) : 0);
  }
}

TEST_CASE("Means of queries are from 0 to 1, and 1 for the best ranking", "[evaluation][property]") {
  std::mt19937 random(6);
  for (int round = 0; round < 500; ++round) {
    std::vector<std::int32_t> judged(1 + random() % 20);
    for (std::int32_t& relevance : judged) relevance = static_cast<std::int32_t>(random() % 4) - 1;
    judged.front() = 3;
    std::vector<std::int32_t> results = judged;
    std::shuffle(results.begin(), results.end(), random);
    std::sort(judged.rbegin(), judged.rend());
    for (const MeasureChoice& choice : default_measures()) {
      if (choice.measure->summary != MeasureSummary::mean) continue;
      INFO(choice.name());
      const double value = choice.value(judged_ranking(results, judged, 1));
      const double best = choice.value(judged_ranking(judged, judged, 1));
      CHECK(value >= 0);
      CHECK(value <= best);
      CHECK(best <= 1);
    }
    for (const std::string_view measure : {"map", "Rprec", "bpref", "recip_rank", "ndcg", "ndcg_cut.10"})
      CHECK(value_of(measure, judged, judged) == Approx(1).epsilon(1e-15));
  }
}

TEST_CASE("Measures are named as trec_eval names them", "[evaluation]") {
  const auto names = [](std::string_view text) {
    std::vector<std::string> all;
    for (const MeasureChoice& choice : measures_named(text)) all.push_back(choice.name());
    return all;
  };
  CHECK(names("map") == std::vector<std::string>{"map"});
  CHECK(names("recip_rank") == std::vector<std::string>{"recip_rank"});
  CHECK(names("P.10") == std::vector<std::string>{"P_10"});
  CHECK(names("ndcg_cut_7") == std::vector<std::string>{"ndcg_cut_7"});
  CHECK(names("iprec_at_recall").front() == "iprec_at_recall_0.00");
  CHECK(names("iprec_at_recall").size() == 11);
  CHECK(names("Rprec_mult.0.5") == std::vector<std::string>{"Rprec_mult_0.50"});
  CHECK(names("set_F") == std::vector<std::string>{"set_F"});
  CHECK(names("set_F.0.5") == std::vector<std::string>{"set_F_0.5"});
  CHECK(names("rbp") == std::vector<std::string>{"rbp"});
  CHECK(names("rbp.p=0.8") == std::vector<std::string>{"rbp_p=0.8"});
  CHECK(names("rbp_resid_p=0.8") == std::vector<std::string>{"rbp_resid_p=0.8"});
  CHECK(names("recip_rank_cut.10") == std::vector<std::string>{"recip_rank_cut_10"});
  CHECK(names("success") == std::vector<std::string>{"success_1", "success_5", "success_10"});
  CHECK(names("ndcg_cut").size() == 9);
  for (const MeasureChoice& choice : default_measures()) CHECK(names(choice.name()) == std::vector{choice.name()});
  for (const char* wrong : {"",
                            "map.x",
                            "map@",
                            "bpref@10",
                            "set_P@5",
                            "nDCG@10@5",
                            "MRR@0",
                            "RBP@1",
                            "@10",
                            "P.",
                            "P.0",
                            "P.-1",
                            "P.1e3",
                            "P.05",
                            "P.1000000001",
                            "P.x",
                            "P 10",
                            ".10",
                            "_",
                            "ndcg_cut.10.5",
                            "P.99999999999999999999",
                            "iprec_at_recall.-1",
                            "iprec_at_recall.nan",
                            "set_F.",
                            "rbp.p=",
                            "rbp.1",
                            "rbp_resid.1.5",
                            "11pt_avg.0.5"}) {
    INFO(wrong);
    CHECK_THROWS_AS(measures_named(std::string_view(wrong)), InvalidArgument);
  }
  CHECK_THROWS_WITH(measures_named(std::string_view("mpa")),
                    Catch::Contains("'mpa'; did you mean map? Use one of num_q, "));
  const std::pair<const char*, const char*> meant[] = {
      {"NDGC@10", "ndcg@10"},        {"nDCG10", "ndcg@10"}, {"mrr10", "mrr@10"}, {"P10", "P@10"},
      {"recal@1000", "recall@1000"}, {"MAP100", "map@100"}, {"bpref5", "bpref"}, {"rbp0.5", "rbp@0.5"}};
  for (const auto& [wrong, right] : meant) {
    CHECK_THROWS_WITH(measures_named(std::string_view(wrong)),
                      Catch::Contains(std::string("did you mean ") + right + "?"));
    CHECK_FALSE(measures_named(std::string_view(right)).empty());
  }
  CHECK_THROWS_WITH(measures_named(std::string_view("P0.5")), !Catch::Contains("P@0.5"));  // not a cut of P
  CHECK_THROWS_WITH(measures_named(std::string_view("xyz")), Catch::Contains("unknown measure 'xyz'. Use one of"));
  CHECK(measures_named(std::vector<std::string>{"P.1", "P.2", "map"}).size() == 3);
  CHECK_THROWS_WITH(measures_named(std::vector<std::string>{"P.5", "map", "P"}), Catch::Contains("P_5"));
  CHECK_THROWS_WITH(measures_named(std::vector<std::string>{"map", "AP"}), Catch::Contains("map is named twice"));
  CHECK_FALSE(default_measures().empty());
}

TEST_CASE("Measures are known by the names of other programs, in any case", "[evaluation]") {
  const std::pair<const char*, const char*> spellings[] = {{"MRR@10", "recip_rank_cut_10"},
                                                           {"RR@10", "recip_rank_cut_10"},
                                                           {"recip_rank@10", "recip_rank_cut_10"},
                                                           {"recip_rank_10", "recip_rank_cut_10"},
                                                           {"MRR", "recip_rank"},
                                                           {"RR", "recip_rank"},
                                                           {"nDCG@10", "ndcg_cut_10"},
                                                           {"NDCG@10", "ndcg_cut_10"},
                                                           {"ndcg_10", "ndcg_cut_10"},
                                                           {"ndcg_cut.10", "ndcg_cut_10"},
                                                           {"nDCG", "ndcg"},
                                                           {"P@5", "P_5"},
                                                           {"p.5", "P_5"},
                                                           {"Precision@5", "P_5"},
                                                           {"R@1000", "recall_1000"},
                                                           {"Recall@1000", "recall_1000"},
                                                           {"recall_1000", "recall_1000"},
                                                           {"MAP", "map"},
                                                           {"AP", "map"},
                                                           {"map@100", "map_cut_100"},
                                                           {"AP@100", "map_cut_100"},
                                                           {"map.100", "map_cut_100"},
                                                           {"GMAP", "gm_map"},
                                                           {"rprec", "Rprec"},
                                                           {"R-Prec", "Rprec"},
                                                           {"Bpref", "bpref"},
                                                           {"Success@1", "success_1"},
                                                           {"IPrec@0.1", "iprec_at_recall_0.10"},
                                                           {"SetP", "set_P"},
                                                           {"SetF", "set_F"},
                                                           {"NumRet", "num_ret"}};
  for (const auto& [spelling, name] : spellings) {
    INFO(spelling);
    const std::vector<MeasureChoice> choices = measures_named(std::string_view(spelling));
    REQUIRE(choices.size() == 1);
    CHECK(choices.front().name() == name);
  }
}

}  // namespace quern
