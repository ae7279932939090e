#include "quern/core/error.hpp"

#include "catch.hpp"
#include "parsed_lines.hpp"

using quern::testing::Judgement;
using quern::testing::parse_qrels;

TEST_CASE("Judgements of TREC and BEIR are parsed", "[format][qrels]") {
  const std::vector<Judgement> want{{"051", "MILL-0007", 2}, {"051", "MILL-0012", 0}, {"52", "MILL-0007", -1}};
  CHECK(parse_qrels("051 0 MILL-0007 2\n051\t0  MILL-0012 0\r\n\n52 Q0 MILL-0007 -1", "qrels") == want);
  CHECK(parse_qrels("query-id\tcorpus-id\tscore\n051\tMILL-0007\t2\n051\tMILL-0012\t0\n52\tMILL-0007\t-1\n", "qrels") ==
        want);
  CHECK(parse_qrels("1 0 d +2\n", "qrels") == std::vector<Judgement>{{"1", "d", 2}});
  CHECK(parse_qrels("", "qrels").empty());
}

TEST_CASE("Lines that are not judgements are reported", "[format][qrels]") {
  for (const std::string_view bad :
       {"1 0 d", "1 0 d x", "1 0 d 1.5", "1 0 d 99999999999", "1 0 d +-1", "1 0 d +", "1"}) {
    INFO(bad);
    try {
      parse_qrels("1 0 d 1\n\n" + std::string(bad) + "\n", "my.qrels");
      FAIL("the line was taken");
    } catch (const quern::CorruptFile& error) {
      CHECK(std::string(error.what()).find("my.qrels, line 3: ") == 0);
    }
  }
}
