#include <cstdint>
#include <cstdlib>
#include <string>
#include <vector>

#include "quern/core/error.hpp"
#include "quern/formats/queries/qrels.hpp"
#include "quern/formats/queries/run_file.hpp"

namespace {

/// Line by line, the same run and judgements come as all at once.
void read_by_lines(std::string_view bytes) {
  const auto source = [&] { return quern::ByteSource::from_memory("fuzz", std::string(bytes)); };
  std::vector<quern::RunLine> run;
  std::vector<quern::Judgement> judgements;
  try {
    quern::read_run(*source(), [&](const quern::RunLineText& line, std::uint64_t) {
      run.push_back({std::string(line.qid), std::string(line.docno), line.rank, line.score, std::string(line.tag)});
    });
    const std::vector<quern::RunLine> whole = quern::parse_run(bytes, "fuzz");
    if (run.size() != whole.size()) std::abort();
    for (std::size_t i = 0; i < run.size(); ++i) {
      if (run[i].score != run[i].score) run[i].score = whole[i].score;  // NaN
      if (run[i].score == run[i].score && run[i] != whole[i]) std::abort();
    }
  } catch (const quern::Error&) {
  }
  try {
    quern::read_qrels(*source(), [&](const quern::JudgementLine& line, std::uint64_t) {
      judgements.push_back({std::string(line.qid), std::string(line.docno), line.relevance});
    });
    if (judgements != quern::parse_qrels(bytes, "fuzz")) std::abort();
  } catch (const quern::Error&) {
  }
}

}  // namespace

/// A run that can be read is written and read again; the same bytes as judgements; and as text for people and programs.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  try {
    quern::parse_qrels(bytes, "fuzz");
  } catch (const quern::Error&) {
  }
  const bool is_packed = quern::is_compressed({data, size});
  if (!is_packed) read_by_lines(bytes);
  std::string out;
  const quern::RunResult odd{bytes, 1.5f, bytes, bytes};
  for (const quern::RunFormat* format : quern::all_run_formats()) format->append(out, bytes, bytes, {&odd, 1}, bytes);
  try {
    for (const quern::RunLine& line : quern::parse_run(bytes, "fuzz")) {
      std::string text;
      const quern::RunResult result{line.docno, line.score, "", ""};
      quern::run_format_named("trec").append(text, line.qid, "", {&result, 1}, line.tag);
      const std::vector<quern::RunLine> again = quern::parse_run(text, "written");
      const bool same_score = again.size() == 1 && (again[0].score == line.score || line.score != line.score);
      if (!same_score) std::abort();
    }
  } catch (const quern::Error&) {
  }
  return 0;
}
