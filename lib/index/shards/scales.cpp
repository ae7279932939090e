#include "quern/index/shards/scales.hpp"

#include <fmt/format.h>
#include <tbb/enumerable_thread_specific.h>
#include <tbb/parallel_for.h>

#include <algorithm>

#include "quern/core/quantized.hpp"
#include "quern/core/run_stage.hpp"
#include "quern/corpus/forward_postings.hpp"

namespace quern {
namespace {

/// The weight of each term of the collection; 0 without postings.
std::vector<float> term_weights(const CollectionReader& collection, const StatisticsReader& statistics,
                                const Bm25Parameters& bm25) {
  std::vector<float> weights(collection.manifest().terms);
  LexiconScan lexicon = collection.lexicon();
  DictionaryScan whole = statistics.terms();
  DictionaryEntry in_whole;
  bool has_more = whole.next(in_whole);
  LexiconEntry entry;
  for (std::uint64_t term = 0; lexicon.next(entry); ++term) {
    if (entry.df == 0) continue;
    while (has_more && in_whole.term < entry.term) has_more = whole.next(in_whole);
    if (!has_more || in_whole.term != entry.term)
      throw CorruptFile(fmt::format("{}: lacks the term '{}' of one of its splits", statistics.name(), entry.term));
    const TermCounts counts = TermCounts::parse(in_whole.payload, statistics.name());
    weights[term] = quantized_weight(counts.df, statistics.manifest().statistics(), bm25);
  }
  return weights;
}

/// Tracks the greatest term score.
class TopScore {
 public:
  TopScore(std::span<const float> weights, std::span<const float> constants)
      : weights_(weights), constants_(constants) {}
  void add(docid_t document, std::span<const Posting> postings) {
    for (const Posting& posting : postings)
      top_ = std::max(top_, weights_[posting.term] * impact(posting.freq, constants_[document]));
  }
  float top() const { return top_; }

 private:
  std::span<const float> weights_, constants_;
  float top_ = 0;
};

}  // namespace

Scales find_scales(const CollectionReader& collection, const StatisticsReader& statistics, const Bm25Parameters& bm25,
                   const Resources& resources) {
  return run_stage(resources, [&] {
    check_bm25(bm25);
    if (collection.manifest().impacts)
      throw InvalidArgument(collection.name() + ": has the weights of terms, which are not scaled");
    const CollectionSplit split{collection.content_hash(), collection.num_documents()};
    if (!std::binary_search(statistics.splits().begin(), statistics.splits().end(), split))
      throw InvalidArgument(
          fmt::format("{}: is not among the splits of the statistics {}", collection.name(), statistics.name()));
    const std::vector<float> weights = term_weights(collection, statistics, bm25);
    const double average = statistics.manifest().statistics().average_length();
    std::vector<float> constants;
    for (const std::uint32_t length : collection.lengths())
      constants.push_back(document_constant(length, average, bm25));
    resources.progress->start("find the scale", collection.num_documents(), "documents");
    struct Reading {
      ForwardPostings forward;
      TopScore top;
    };
    tbb::enumerable_thread_specific<Reading> readings([&] { return Reading{{}, TopScore(weights, constants)}; });
    tbb::parallel_for(std::size_t{0}, collection.num_chunks(), [&](std::size_t chunk) {
      Reading& reading = readings.local();
      reading.forward.for_each_document(collection, chunk, [&](docid_t document, std::span<const Posting> postings) {
        reading.top.add(document, postings);
      });
      resources.progress->add(collection.chunk(chunk).documents);
    });
    Reading last{{}, TopScore(weights, constants)};
    for (const SplitDocument& split_document : collection.split_documents())
      last.forward.read_split(
          collection, split_document, split_document.document,
          [&](std::span<const Posting> postings) { last.top.add(split_document.document, postings); });
    Scales scales{bm25, last.top.top(), hash_text(statistics.container().content_hash()), {split}};
    for (const Reading& reading : readings) scales.top = std::max(scales.top, reading.top.top());
    resources.progress->finish();
    return scales;
  });
}

Scales merge_scales(const std::vector<Scales>& inputs, const std::vector<std::string>& names) {
  if (inputs.empty()) throw InvalidArgument("no scales to merge");
  Scales sum = inputs.front();
  for (std::size_t i = 1; i < inputs.size(); ++i) {
    const Scales& input = inputs[i];
    if (input.statistics_hash != sum.statistics_hash)
      throw InvalidArgument(fmt::format("{}: was made with different statistics than {}", names[i], names[0]));
    if (input.bm25 != sum.bm25)
      throw InvalidArgument(fmt::format("{}: was made with a different k1 or b than {}", names[i], names[0]));
    sum.top = std::max(sum.top, input.top);
    sum.splits.insert(sum.splits.end(), input.splits.begin(), input.splits.end());
    std::sort(sum.splits.begin(), sum.splits.end());
    if (std::adjacent_find(sum.splits.begin(), sum.splits.end()) != sum.splits.end())
      throw InvalidArgument(fmt::format("{}: contains a split that was already counted", names[i]));
  }
  return sum;
}

}  // namespace quern
