#include <cstdint>
#include <cstdlib>
#include <string>
#include <vector>

#include "quern/core/error.hpp"

#include "../formats/parsed_lines.hpp"

/// A run that can be read survives a write and a re-read. The bytes are also read as judgements, and written in the
/// output formats for people and programs.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  try {
    quern::testing::parse_qrels(bytes, "fuzz");
  } catch (const quern::Error&) {
  }
  std::string out;
  const quern::RunResult odd{bytes, 1.5f, bytes, bytes};
  for (const quern::RunFormat& format : quern::all_run_formats()) format.append(out, bytes, bytes, {&odd, 1}, bytes);
  try {
    for (const quern::testing::RunLine& line : quern::testing::parse_run(bytes, "fuzz")) {
      std::string text;
      const quern::RunResult result{line.docno, line.score, "", ""};
      quern::run_format_named("trec").append(text, line.qid, "", {&result, 1}, line.tag);
      const std::vector<quern::testing::RunLine> again = quern::testing::parse_run(text, "written");
      const bool same_score = again.size() == 1 && (again[0].score == line.score || line.score != line.score);
      if (!same_score) std::abort();
    }
  } catch (const quern::Error&) {
  }
  return 0;
}
