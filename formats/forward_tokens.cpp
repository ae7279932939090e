#include "quern/formats/forward_tokens.hpp"

#include <string>
#include <vector>

#include "quern/codec/kernels.hpp"
#include "quern/core/own_errors.hpp"

namespace quern {

void for_each_token(const ForwardReader& forward, const IndexReader& index, docid_t docid, const TokenVisitor& visit) {
  return with_own_errors([&] {
    const std::string what = forward.place(docid);
    std::vector<term_t> numbers;
    std::vector<std::string_view> literals;
    std::vector<std::string> terms;
    std::vector<std::uint32_t> ids;
    forward.for_each_segment(docid, [&](const ForwardSegment& segment) {
      segment.read_terms(numbers, literals, what);
      terms.assign(1, {});
      for (const term_t number : numbers) terms.push_back(index.term(number));
      for (const std::string_view literal : literals) terms.emplace_back(literal);
      ids.resize(segment.places() + unpack_slack);
      segment.unpack(0, segment.places(), ids.data());
      std::uint32_t at = 0;
      for (std::size_t stream = 0; stream < num_document_streams; ++stream) {
        for (const std::uint32_t end = at + segment.stream_places()[stream]; at < end; ++at) {
          if (ids[at] >= terms.size()) throw CorruptFile(what + ": an unknown term");
          visit(static_cast<DocumentStream>(stream), terms[ids[at]]);
        }
      }
    });
  });
}

}  // namespace quern
