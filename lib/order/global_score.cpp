#include "quern/order/global_score.hpp"

#include <bit>
#include <cmath>
#include <limits>

#include "quern/core/bm25.hpp"
#include "quern/core/bytes.hpp"
#include "quern/corpus/forward_postings.hpp"
#include "quern/io/external_sort.hpp"
#include "quern/order/document_terms.hpp"
#include "quern/order/order.hpp"
#include "quern/order/page_names.hpp"
#include "quern/text/url.hpp"

namespace quern {

float global_score_bound(float pagerank, float best_impact, std::uint32_t terms, double alpha) {
  const double score = alpha * static_cast<double>(pagerank) + (1 - alpha) * static_cast<double>(best_impact);
  const double slack = 1.0 + (static_cast<double>(terms) + 4.0) * 0x1p-23;
  return std::nextafter(static_cast<float>(score * slack), std::numeric_limits<float>::max());
}

namespace {

/// Bytes per document: its number and twice its global score, or its length and its global score.
constexpr std::uint64_t sorting_bytes = 12;

/// Computes GS+ of a document from its postings, which may come in several batches.
class BestImpact {
 public:
  explicit BestImpact(float constant) : constant_(constant) {}
  void add(std::span<const Posting> postings) {
    for (const Posting& posting : postings) best_ = std::max(best_, impact(posting.freq, constant_));
    terms_ += static_cast<std::uint32_t>(postings.size());
  }
  float bound(float pagerank, double alpha) const { return global_score_bound(pagerank, best_, terms_, alpha); }

 private:
  float constant_;
  float best_ = 0;
  std::uint32_t terms_ = 0;
};

/// GS+ of each document.
std::vector<float> global_scores(const OrderInput& input) {
  const CollectionReader& collection = input.collection;
  const std::vector<std::uint32_t> lengths = collection.lengths();
  const double average =
      CollectionStatistics{collection.num_documents(), collection.manifest().tokens}.average_length();
  const double alpha = input.options.scores.alpha;
  const auto best_of = [&](docid_t document) {
    return BestImpact(document_constant(lengths[document], average, input.options.scores.bm25));
  };
  std::vector<float> scores(collection.num_documents());
  const auto read_chunk = [&](ForwardPostings& forward, std::size_t chunk) {
    forward.for_each_document(collection, chunk, [&](docid_t document, std::span<const Posting> postings) {
      BestImpact best = best_of(document);
      best.add(postings);
      scores[document] = best.bound(input.pagerank[document], alpha);
    });
  };
  for_each_chunk<ForwardPostings>(collection, posting_reading_bytes(collection), input.free_bytes(sorting_bytes),
                                  input.resources, read_chunk);
  ForwardPostings forward;
  for (const SplitDocument& split : collection.split_documents()) {
    BestImpact best = best_of(split.document);
    forward.read_split(collection, split, split.document, [&](auto postings) { best.add(postings); });
    scores[split.document] = best.bound(input.pagerank[split.document], alpha);
  }
  return scores;
}

/// A key whose byte order is that of decreasing scores (at least 0), ties by URL, documents without a URL last, then by
/// docno.
std::string score_order_key(float score, const DocumentRow& row) {
  // The bits of nonnegative floats increase with the floats.
  const std::uint32_t bits = ~std::bit_cast<std::uint32_t>(score);
  std::string key;
  for (int shift = 24; shift >= 0; shift -= 8) key += static_cast<char>(bits >> shift);
  key += row.url.empty() ? '\1' : '\0';
  if (!row.url.empty()) key += url_order_key(row.url);
  key += '\0';
  key += row.docno;
  return key;
}

}  // namespace

std::uint64_t score_order_bytes(const CollectionManifest& collection) { return collection.documents * sorting_bytes; }

DocumentOrder order_by_score(const OrderInput& input) {
  const CollectionReader& collection = input.collection;
  const Resources& resources = input.resources;
  resources.progress->start("compute global scores", collection.num_documents(), "documents");
  const std::vector<float> scores = global_scores(input);
  resources.progress->finish();
  ExternalSort keys(resources.tmp_folder, input.free_bytes(sorting_bytes));
  for_each_document(collection, [&](docid_t document, const DocumentRow& row) {
    keys.add(score_order_key(scores[document], row),
             {reinterpret_cast<const std::uint8_t*>(&document), sizeof document});
  });
  DocumentOrder order;
  order.documents.reserve(scores.size());
  order.global_scores.reserve(scores.size());
  keys.merge([&](std::string_view, ByteView payload) {
    const auto document = load_le<docid_t>(payload.data());
    order.documents.push_back(document);
    order.global_scores.push_back(scores[document]);
  });
  return order;
}

}  // namespace quern
