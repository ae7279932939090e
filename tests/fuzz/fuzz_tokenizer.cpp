#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <string>

#include "quern/text/analyzer.hpp"
#include "quern/text/utf8.hpp"

#include "../text/pieces.hpp"

/// The terms of any bytes are valid UTF-8 of 1 to max_term_bytes bytes, phrase ends are kept, and pieces give the same
/// terms.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  static quern::Analyzer plain{quern::AnalyzerOptions{}};
  static quern::Analyzer stemming{quern::make_analyzer_options("porter2", "english")};
  std::string text;
  quern::repair_utf8(bytes, text);
  if (!quern::is_valid_utf8(text)) std::abort();
  // Repair drops phrase ends; put some back.
  std::replace(text.begin(), text.end(), '|', quern::phrase_end);
  const auto expected_ends = std::count(text.begin(), text.end(), quern::phrase_end);
  for (quern::Analyzer* analyzer : {&plain, &stemming}) {
    std::ptrdiff_t ends = 0;
    std::string terms, terms_in_pieces;
    const auto on_term = [&](std::string_view term) {
      terms.append(term) += ' ';
      if (term.empty() || term.size() > quern::max_term_bytes || !quern::is_valid_utf8(term)) std::abort();
    };
    analyzer->analyze(text, on_term, [&] { ++ends; });
    if (ends != expected_ends) std::abort();
    quern::testing::RandomPieces pieces(text, 1 + size % 40, size);
    analyzer->analyze(
        static_cast<quern::PieceSource&>(pieces), [&](std::string_view term) { terms_in_pieces.append(term) += ' '; },
        [&] { --ends; });
    if (terms_in_pieces != terms || ends != 0) std::abort();
  }
  return 0;
}
