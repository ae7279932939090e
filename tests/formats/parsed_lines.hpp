#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "quern/formats/queries/run_file.hpp"
#include "quern/io/byte_source.hpp"

/// All lines of a run or of judgements.
namespace quern::testing {

struct RunLine {
  std::string qid, docno;
  double rank = 0;
  float score = 0;
  std::string tag;
  bool operator==(const RunLine&) const = default;
};

struct Judgement {
  std::string qid, docno;
  std::int32_t relevance = 0;
  bool operator==(const Judgement&) const = default;
};

inline std::vector<RunLine> parse_run(std::string_view bytes, const std::string& name) {
  std::vector<RunLine> run;
  read_run(*ByteSource::from_memory(name, std::string(bytes)), [&](const RunLineText& line, std::uint64_t) {
    run.push_back({std::string(line.qid), std::string(line.docno), line.rank, line.score, std::string(line.tag)});
  });
  return run;
}

inline std::vector<Judgement> parse_qrels(std::string_view bytes, const std::string& name) {
  std::vector<Judgement> judgements;
  read_qrels(*ByteSource::from_memory(name, std::string(bytes)), [&](const JudgementLine& line, std::uint64_t) {
    judgements.push_back({std::string(line.qid), std::string(line.docno), line.relevance});
  });
  return judgements;
}

}  // namespace quern::testing
