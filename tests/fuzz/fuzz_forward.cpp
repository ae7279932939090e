#include <cstdlib>
#include <vector>

#include "quern/codec/kernels.hpp"
#include "quern/core/error.hpp"
#include "quern/formats/forward_file.hpp"
#include "quern/rank/features/document_hits.hpp"

#include "container_fuzzing.hpp"
#include "ignore_corruption.hpp"

/// For any contents of a forward file's sections, finding a query's terms in its documents stays in bounds, and the
/// hits are in their stream, in ascending order.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace quern;
  constexpr docid_t max_read = 300;
  FeatureQuery query;
  for (const term_t number : {0u, 1u, 2u, 5u, 17u}) {
    query.texts.push_back("t" + std::to_string(number));
    query.numbers.emplace_back(number);
  }
  for (const char* literal : {"http", "example"}) {
    query.texts.emplace_back(literal);
    query.numbers.emplace_back();
  }
  query.terms.resize(query.texts.size());
  query.prepare();
  try {
    const ForwardReader forward(ContainerReader(
        fuzz::container_around({data, size}, FileKind::forward, fuzz::forward_sections), FileKind::forward));
    DocumentHits hits;
    for (docid_t docid = 0; docid < std::min(forward.num_documents(), max_read); ++docid) {
      fuzz::ignore_corruption([&] {
        hits.read(forward, docid, query);
        for (const DocumentHits::StreamHits& stream : hits.streams()) {
          if (stream.phrases > stream.length) std::abort();
          for (std::size_t i = 0; i < stream.hits.size(); ++i) {
            const WordHit& hit = stream.hits[i];
            if (hit.word >= query.terms.size() || hit.offset >= stream.length || hit.phrase >= stream.phrases)
              std::abort();
            if (i > 0 && hit.offset < stream.hits[i - 1].offset) std::abort();
          }
        }
      });
      fuzz::ignore_corruption([&] {
        std::vector<term_t> numbers;
        std::vector<std::string_view> literals;
        forward.for_each_segment(docid, [&](const ForwardSegment& segment) {
          segment.read_terms(numbers, literals, "a segment");
          // Terms in valid segments are found.
          ForwardSegment::NumberSearch search;
          for (std::size_t i = 0; i < numbers.size(); ++i)
            if (segment.id_of(numbers[i]) != i + 1 || segment.id_of(numbers[i], search) != i + 1) std::abort();
          std::size_t found = 0;
          segment.find_literals(
              literals.size(), [&](std::size_t i) { return literals[i]; },
              [&](std::size_t i, std::uint32_t id) {
                if (i != found++ || id != numbers.size() + i + 1 || segment.id_of(literals[i]) != id) std::abort();
              });
          if (found != literals.size()) std::abort();
        });
      });
    }
  } catch (const Error&) {
  }
  return 0;
}
