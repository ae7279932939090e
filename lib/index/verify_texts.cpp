#include "quern/index/verify_texts.hpp"

#include <fmt/format.h>
#include <tbb/enumerable_thread_specific.h>
#include <tbb/parallel_for.h>

#include <algorithm>

#include "quern/core/run_stage.hpp"
#include "quern/text/spooled_text.hpp"

namespace quern {
namespace {

/// What a thread needs to count tokens.
struct TokenCounter {
  TokenCounter(const AnalyzerOptions& options, const std::string& tmp_folder) : analyzer(options), text(tmp_folder) {}

  std::uint64_t count(const TextsReader& texts, docid_t docid) {
    text.clear();
    texts.read(docid, buffers, [&](std::string_view piece) { text += piece; });
    std::uint64_t tokens = 0;
    analyzer.analyze(
        *text.pieces(), [&](std::string_view) { ++tokens; }, [] {});
    return tokens;
  }

  Analyzer analyzer;
  TextBuffers buffers;
  SpooledText text;
};

/// Whether this program cuts texts into the same tokens as the one that made the index.
bool cuts_as(const IndexManifest& manifest) {
  const TextLibraries ours = text_libraries(manifest.analyzer), &theirs = manifest.libraries;
  return manifest.lengths == Lengths::exact && ours.analyzer == theirs.analyzer && ours.unicode == theirs.unicode &&
         ours.utf8proc == theirs.utf8proc;
}

void check_tokens(const TextsReader& texts, const IndexReader& index, const Resources& resources) {
  constexpr docid_t documents_per_step = 64;
  tbb::enumerable_thread_specific<TokenCounter> counters(index.manifest().analyzer, resources.tmp_folder);
  const docid_t documents = index.num_documents();
  tbb::parallel_for(docid_t{0}, (documents + documents_per_step - 1) / documents_per_step, [&](docid_t step) {
    TokenCounter& counter = counters.local();
    const std::uint64_t from = std::uint64_t{step} * documents_per_step;
    const std::uint64_t to = std::min<std::uint64_t>(from + documents_per_step, documents);
    for (std::uint64_t each = from; each < to; ++each) {
      const auto docid = static_cast<docid_t>(each);
      if (counter.count(texts, docid) != index.length(docid))
        texts.container().fail("texts", fmt::format("the text of docID {} has another number of tokens than its length "
                                                    "in the index",
                                                    docid));
    }
  });
}

}  // namespace

void verify_texts(const TextsReader& texts, const IndexReader& index, const Resources& resources) {
  return run_stage(resources, [&] {
    texts.check_belongs_to(index);
    texts.verify_contents(resources);
    if (cuts_as(index.manifest())) check_tokens(texts, index, resources);
  });
}

}  // namespace quern
