#include "catch.hpp"
#include "eval/judged_run.hpp"

/// Values of trec_eval for a run with ties, levels of relevance, and unjudged documents.
namespace quern {
namespace {

const char* const recorded_run =
    "7 Q0 D05 1 -1 t\n7 Q0 D09 2 0.125 t\n7 Q0 D04 3 -1 t\n7 Q0 D11 4 -1 t\n"
    "7 Q0 D06 5 2.5 t\n7 Q0 D01 6 2.5 t\n7 Q0 D07 7 2 t\n7 Q0 D14 8 2 t\n"
    "7 Q0 D02 9 2 t\n7 Q0 D12 10 -1 t\n7 Q0 D03 11 3 t\n7 Q0 D16 12 0.125 t\n"
    "10 Q0 D08 1 2 t\n10 Q0 D20 2 2.5 t\n10 Q0 D19 3 2 t\n10 Q0 D02 4 0.125 t\n"
    "10 Q0 D01 5 -1 t\n10 Q0 D13 6 2.5 t\n10 Q0 D11 7 2 t\n10 Q0 D10 8 0.125 t\n"
    "10 Q0 D05 9 -1 t\na Q0 D01 1 -1 t\na Q0 D11 2 0.125 t\na Q0 D13 3 2 t\n"
    "a Q0 D15 4 3 t\na Q0 D02 5 3 t\na Q0 D14 6 0.125 t\na Q0 D19 7 3 t\n"
    "a Q0 D03 8 3 t\na Q0 D16 9 2 t\n";
const char* const recorded_qrels =
    "7 0 D01 0\n7 0 D02 3\n7 0 D03 0\n7 0 D04 0\n7 0 D07 3\n7 0 D08 0\n"
    "7 0 D13 0\n7 0 D14 2\n7 0 D16 -1\n7 0 D19 -1\n10 0 D04 -1\n10 0 D05 2\n"
    "10 0 D06 -1\n10 0 D07 2\n10 0 D10 0\n10 0 D13 1\n10 0 D17 0\n10 0 D18 0\n"
    "10 0 D19 -1\n10 0 D20 -1\na 0 D01 0\na 0 D02 -1\na 0 D03 3\na 0 D04 3\n"
    "a 0 D09 2\na 0 D10 0\na 0 D13 0\na 0 D15 0\na 0 D16 1\na 0 D20 0\n";

struct RecordedValues {
  const char* measure;
  double values[3];  ///< of the queries 10, 7 and a
};

/// Recorded with pytrec_eval-terrier 0.5.11; from iprec_at_recall on with trec_eval 10.
const RecordedValues recorded_at_level1[] = {
    {"num_ret", {9.0, 12.0, 9.0}},
    {"num_rel", {3.0, 3.0, 4.0}},
    {"num_rel_ret", {2.0, 3.0, 2.0}},
    {"map", {0.25, 0.3833333333333333, 0.18333333333333335}},
    {"gm_map", {-1.3862943611198906, -0.9588503462929511, -1.69644928942373}},
    {"Rprec", {0.3333333333333333, 0.0, 0.25}},
    {"bpref", {0.5555555555555556, 0.3333333333333333, 0.375}},
    {"recip_rank", {0.5, 0.25, 0.3333333333333333}},
    {"P.5", {0.2, 0.4, 0.4}},
    {"recall.5", {0.3333333333333333, 0.6666666666666666, 0.5}},
    {"ndcg", {0.3354350434265105, 0.5244601431410798, 0.2983890260983903}},
    {"ndcg_cut.5", {0.16771752171325524, 0.3431162134593794, 0.2983890260983903}},
    {"map_cut.5", {0.16666666666666666, 0.21666666666666667, 0.18333333333333335}},
    {"success.1", {0.0, 0.0, 0.0}},
    {"set_P", {0.2222222222222222, 0.25, 0.2222222222222222}},
    {"set_recall", {0.6666666666666666, 1.0, 0.5}},
    {"set_F", {0.3333333333333333, 0.4, 0.30769230769230765}},
    {"iprec_at_recall.0.3", {0.5, 0.5, 0.4}},
    {"iprec_at_recall.0", {0.5, 0.5, 0.4}},
    {"Rprec_mult.1.4", {0.2, 0.4, 0.3333333333333333}},
    {"infAP", {0.375, 0.3833343888790742, 0.20833416665000032}},
    {"utility", {-5.0, -6.0, -5.0}},
    {"11pt_avg", {0.3181818181818182, 0.5, 0.2545454545454545}},
    {"dcg", {1.261859507142915, 3.0905330991744777, 1.8868528072345416}},
    {"ideal_dcg", {3.761859507142915, 5.892789260714372, 6.323465818787765}},
    {"relative_P.5", {0.3333333333333333, 0.6666666666666666, 0.5}},
    {"set_relative_P", {0.6666666666666666, 1.0, 0.5}},
    {"set_map", {0.14814814814814814, 0.25, 0.1111111111111111}},
    {"num_nonrel_judged_ret", {1.0, 3.0, 3.0}},
    {"rbp", {0.09282968999999999, 0.173259, 0.10286999999999999}},
    {"rbp.p=0.8", {0.12194304, 0.21572266666666667, 0.15530666666666668}},
    {"rbp_resid", {0.8031213100000001, 0.5900599403910001, 0.661294279}},
    {"unj.5", {0.8, 0.2, 0.4}},
};
/// Recorded with trec_eval 9, where versions differ.
const RecordedValues recorded_as_9[] = {
    {"11pt_avg", {0.27272727272727271, 0.5, 0.21818181818181817}},
    {"iprec_at_recall.0.3", {0.5, 0.5, 0.4}},
};
const RecordedValues recorded_at_level2[] = {
    {"num_ret", {9.0, 12.0, 9.0}},
    {"num_rel", {2.0, 3.0, 3.0}},
    {"num_rel_ret", {1.0, 3.0, 1.0}},
    {"map", {0.0625, 0.3833333333333333, 0.1111111111111111}},
    {"gm_map", {-2.772588722239781, -0.9588503462929511, -2.1972245773362196}},
    {"Rprec", {0.0, 0.0, 0.3333333333333333}},
    {"bpref", {0.0, 0.3333333333333333, 0.22222222222222224}},
    {"recip_rank", {0.125, 0.25, 0.3333333333333333}},
    {"P.5", {0.0, 0.4, 0.2}},
    {"recall.5", {0.0, 0.6666666666666666, 0.3333333333333333}},
    {"ndcg", {0.3354350434265105, 0.5244601431410798, 0.2983890260983903}},
    {"ndcg_cut.5", {0.16771752171325524, 0.3431162134593794, 0.2983890260983903}},
    {"map_cut.5", {0.0, 0.21666666666666667, 0.1111111111111111}},
    {"success.1", {0.0, 0.0, 0.0}},
    {"set_P", {0.1111111111111111, 0.25, 0.1111111111111111}},
    {"set_recall", {0.5, 1.0, 0.3333333333333333}},
    {"set_F", {0.1818181818181818, 0.4, 0.16666666666666666}},
    {"iprec_at_recall.0.3", {0.125, 0.5, 0.3333333333333333}},
    {"infAP", {0.06250124998750012, 0.3833343888790742, 0.11111222220000044}},
    {"utility", {-7.0, -6.0, -7.0}},
    {"11pt_avg", {0.09090909090909091, 0.5, 0.1515151515151515}},
};

}  // namespace

TEST_CASE("A run has the values that trec_eval printed", "[evaluation]") {
  const auto check = [](std::int32_t level, std::span<const RecordedValues> recorded, TrecEval version) {
    EvaluationOptions options;
    options.version = version;
    options.relevance_level = level;
    options.measures.clear();
    for (const RecordedValues& row : recorded)
      options.measures.push_back(measures_named(std::string_view(row.measure)).front());
    const Evaluation evaluation = testing::evaluate_texts({recorded_run}, recorded_qrels, options);
    REQUIRE(evaluation.qids == std::vector<std::string>{"10", "7", "a"});
    for (std::size_t measure = 0; measure < recorded.size(); ++measure) {
      for (std::size_t query = 0; query < 3; ++query) {
        INFO(recorded[measure].measure << " of " << evaluation.qids[query] << " at level " << level);
        // Logarithms may differ in the last bit between C libraries.
        CHECK(evaluation.value(0, query, measure) == Approx(recorded[measure].values[query]).epsilon(1e-14));
      }
    }
  };
  check(1, recorded_at_level1, TrecEval::v10);
  check(2, recorded_at_level2, TrecEval::v10);
  check(1, recorded_as_9, TrecEval::v9);
}

}  // namespace quern
