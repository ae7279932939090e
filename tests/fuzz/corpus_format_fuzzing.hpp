#pragma once
#include <cstdlib>
#include <string_view>

#include "quern/core/error.hpp"
#include "quern/text/utf8.hpp"

#include "../corpus/record_cutting.hpp"

namespace quern::testing {

/// Cuts the bytes into records with several window sizes and limits, which must agree, and parses each record.
inline void fuzz_corpus_format(const CorpusFormat& format, std::string_view bytes) {
  static RecordScratch scratch;
  scratch.max_document_bytes = 1 << 16;
  const std::vector<std::optional<ImpactSettings>> impact_settings =
      format.gives_weights ? std::vector<std::optional<ImpactSettings>>{std::nullopt, ImpactSettings{8, 10.0}}
                           : std::vector<std::optional<ImpactSettings>>{std::nullopt};
  format.detect(bytes);
  for (const std::uint64_t max_record_bytes : {40, 1 << 20}) {
    const std::vector<Piece> pieces = cut_records(format, bytes, bytes.size() + 1, {max_record_bytes});
    for (const std::size_t max_in_memory : {1 << 20, 16}) {
      if (cut_records(format, bytes, 7, {max_record_bytes, max_in_memory}) != pieces) std::abort();
    }
    std::uint64_t end = 0;
    for (const Piece& piece : pieces) {
      if (piece.offset < end || piece.offset > bytes.size()) std::abort();
      if (!piece.reason.empty()) continue;
      if (bytes.substr(piece.offset, piece.text.size()) != piece.text) std::abort();
      end = piece.offset + piece.text.size();
      DocumentText out;
      const ParsedRecord parsed = format.parse(piece.text, scratch, out);
      format.labels(piece.text);
      for (const std::size_t piece_bytes : {5, 1 << 18}) {
        for (const std::optional<ImpactSettings>& impacts : impact_settings) {
          if (!same_record(parse_record(format, piece.text, scratch.max_document_bytes, impacts),
                           parse_in_pieces(format, piece.text, piece_bytes, scratch.max_document_bytes, impacts))) {
            std::abort();
          }
        }
      }
      if (parsed.kind != RecordKind::document) continue;
      if (out.docno.empty() || !format.labels(piece.text).may_be_document) std::abort();
      for (const std::string& text : {out.docno, out.url, out.title.str(), out.body.str()}) {
        if (!is_valid_utf8(text)) std::abort();
      }
    }
  }
}

}  // namespace quern::testing
