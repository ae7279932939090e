#include "quern/index/forward/text_segments.hpp"

#include "quern/core/error.hpp"

namespace quern {

void TextSegments::begin_chunk(std::span<const term_t> chunk_terms) {
  chunk_terms_ = chunk_terms;
  keys_.assign(chunk_terms.size(), {});
}

SegmentBuilder::Key TextSegments::key_of(std::uint32_t chunk_term) {
  Keyed& keyed = keys_[chunk_term];
  if (keyed.segment != segment_) {
    const term_t in_collection = chunk_terms_[chunk_term];
    const auto number = terms_.number(in_collection);
    keyed = {segment_, number ? builder_.add_term(*number) : add_literal(terms_.term(in_collection))};
  }
  return keyed.key;
}

SegmentBuilder::Key TextSegments::add_literal(std::string_view term) {
  return builder_.add_literal(term, terms_.whole_has_list(term));
}

void TextSegments::add_stream(DocumentStream stream, ByteView tokens, std::string_view what, Bytes& out) {
  for (TokenCursor cursor(tokens); !cursor.done();) {
    const std::uint32_t token = cursor.next();
    if (token > chunk_terms_.size()) throw CorruptFile(std::string(what) + ": an unknown term");
    builder_.add_place(stream,
                       token == TokenCursor::phrase_end_token ? SegmentBuilder::phrase_end_key : key_of(token - 1));
    if (builder_.is_full()) end_document(out);
  }
}

void TextSegments::end_document(Bytes& out) {
  builder_.encode(terms_.size(), out);
  ++segment_;
}

void AnchorSegments::add_place(SegmentBuilder::Key key, Bytes& out) {
  builder_.add_place(DocumentStream::anchor, key);
  if (builder_.is_full()) end_document(out);
}

void AnchorSegments::add(std::string_view text, Bytes& out) {
  const auto on_phrase_end = [&] { add_place(SegmentBuilder::phrase_end_key, out); };
  const auto on_term = [&](std::string_view term) {
    const auto [place, is_new] = keys_.try_emplace(std::string(term));
    if (is_new) {
      const auto number = numbers_.number(term, [&](std::string_view unknown) { return terms_.number(unknown); });
      place->second = number ? builder_.add_term(*number) : builder_.add_literal(term, terms_.whole_has_list(term));
    }
    add_place(place->second, out);
  };
  analyzer_.analyze(text, on_term, on_phrase_end);
  on_phrase_end();
}

void AnchorSegments::end_document(Bytes& out) {
  builder_.encode(terms_.size(), out);
  keys_.clear();
}

}  // namespace quern
