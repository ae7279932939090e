#include "quern/order/order.hpp"

#include <fmt/format.h>

#include <bit>
#include <cmath>
#include <limits>
#include <numeric>

#include "quern/core/random.hpp"
#include "quern/corpus/forward_postings.hpp"
#include "quern/io/external_sort.hpp"
#include "quern/io/spool.hpp"
#include "quern/order/document_terms.hpp"
#include "quern/order/page_names.hpp"
#include "quern/text/url.hpp"

namespace quern {
namespace {

std::uint64_t permutation_memory(const CollectionManifest& collection) {
  return collection.documents * permutation_bytes;
}

DocumentOrder natural_order(const OrderInput& input) {
  DocumentOrder order;
  order.documents.resize(input.collection.num_documents());
  std::iota(order.documents.begin(), order.documents.end(), docid_t{0});
  return order;
}

DocumentOrder random_order(const OrderInput& input) {
  DocumentOrder order = natural_order(input);
  RandomBits random(input.options.seed);
  auto& documents = order.documents;
  for (std::size_t i = documents.size(); i > 1; --i) std::swap(documents[i - 1], documents[random.below(i)]);
  return order;
}

constexpr OrderMethod methods[] = {
    {OrderBy::natural, false, "in the order of the corpus", permutation_memory, natural_order},
    {OrderBy::url, false, "by reversed host, then path; documents without a URL last", permutation_memory,
     order_by_url},
    {OrderBy::score, true, "by decreasing global score, so that bm25+pagerank queries can stop early",
     score_order_bytes, order_by_score},
    {OrderBy::bisection, false,
     "recursive graph bisection, starting from the URL order: documents that share terms get nearby docIDs",
     bisection_order_bytes, order_by_bisection},
    {OrderBy::random, false, "a random permutation, for comparison", permutation_memory, random_order},
};

/// `input`, adapted to this order.
PagerankInput pagerank_for(const OrderMethod& method, const PagerankInput& input) {
  if (!method.needs_pagerank) return input;
  if (input.from == PagerankFrom::nothing)
    throw InvalidArgument("the order {} needs PageRank: use {} links, or a file", method.name(),
                          option_name<"pagerank">);
  return input.from == PagerankFrom::if_needed ? PagerankInput{PagerankFrom::links, {}} : input;
}

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

/// Silvestri: Sorting Out the Document Identifier Assignment Problem (ECIR 2007).
DocumentOrder order_by_url(const OrderInput& input) {
  const CollectionReader& collection = input.collection;
  const Resources& resources = input.resources;
  resources.progress->start("order by URL", collection.num_documents(), "documents");
  const std::uint64_t free_bytes = input.free_bytes(permutation_bytes);
  ExternalSort keys(resources.tmp_folder, free_bytes / 2);
  RecordSpool<docid_t> without_url(resources.tmp_folder);
  const std::uint64_t job_bytes = std::max<std::uint64_t>(2 * link_reading_bytes(collection), 1);
  map_documents(
      collection, std::clamp<std::uint64_t>(free_bytes / 2 / job_bytes, 1, std::uint64_t{resources.threads} * 2),
      [](const DocumentRow& row) { return row.url.empty() ? std::string() : url_order_key(row.url); },
      [&](docid_t document, const std::string& key) {
        if (key.empty())
          without_url.add(document);
        else
          keys.add(key, {reinterpret_cast<const std::uint8_t*>(&document), sizeof document});
        resources.progress->add(1);
      });
  DocumentOrder order;
  order.documents.reserve(collection.num_documents());
  keys.merge([&](std::string_view, ByteView payload) { order.documents.push_back(load_le<docid_t>(payload.data())); });
  without_url.for_each([&](docid_t without) { order.documents.push_back(without); });
  resources.progress->finish();
  return order;
}

std::span<const OrderMethod> all_orders() { return methods; }

const OrderMethod& order_method(OrderBy by) {
  return find_named(all_orders(), name_of_value(order_names, by), "docID order");
}

OrderBy automatic_order(const CollectionManifest& collection) {
  return collection.documents_without_url == 0 ? OrderBy::url : OrderBy::natural;
}

std::uint64_t OrderInput::free_bytes(std::uint64_t document_bytes) const {
  const std::uint64_t taken = collection.num_documents() * (document_bytes + (pagerank.empty() ? 0 : ranks_bytes));
  return resources.memory_bytes - std::min(taken, resources.memory_bytes);
}

void check_order(const std::string& name, const CollectionManifest& collection, const OrderOptions& options,
                 const PagerankInput& pagerank, const Resources& resources) {
  const OrderMethod& method = order_method(options.by);
  const PagerankInput input = pagerank_for(method, pagerank);
  const bool has_ranks = input.from != PagerankFrom::if_needed && input.from != PagerankFrom::nothing;
  if (has_ranks && collection.impacts)
    throw InvalidArgument(
        "{}: scores from given impacts can't include PageRank; omit {} and {}, and choose an order other than score",
        name, option_name<"pagerank">, option_name<"links">);
  check_order_memory(fmt::format("{}: the order {} of {} documents{}", name, method.name(), collection.documents,
                                 has_ranks ? " with PageRank" : ""),
                     method.needed_bytes(collection) + (has_ranks ? collection.documents * ranks_bytes : 0), resources);
  if (input.from == PagerankFrom::links || input.from == PagerankFrom::link_file)
    check_pagerank_memory(name, collection.documents, resources);
}

DocumentOrder make_order(const CollectionReader& collection, const OrderOptions& options, const PagerankInput& pagerank,
                         const Resources& resources, PagerankReport* report) {
  return run_stage(resources, [&] {
    check_score_settings(options.scores);
    check_order(collection.name(), collection.manifest(), options, pagerank, resources);
    const OrderMethod& method = order_method(options.by);
    DocumentPagerank found = document_pagerank(collection, pagerank_for(method, pagerank), resources);
    if (!found.ranks.empty()) apply_scale(options.scores.pagerank_scale, found.ranks, resources);
    if (report != nullptr) *report = found.report;
    DocumentOrder order = method.compute({collection, options, found.ranks, resources});
    order.pagerank_origin = found.report.origin;
    order.pagerank.resize(found.ranks.size());
    if (!found.ranks.empty())
      std::transform(order.documents.begin(), order.documents.end(), order.pagerank.begin(),
                     [&](docid_t document) { return found.ranks[document]; });
    return order;
  });
}

void check_order_memory(const std::string& what, std::uint64_t needed_bytes, const Resources& resources) {
  if (needed_bytes > resources.memory_bytes) {
    throw InvalidArgument("{} needs {} of memory, but {} allows {}; raise it", what, size_text(needed_bytes),
                          option_name<"memory">, size_text(resources.memory_bytes));
  }
}

float global_score_bound(float pagerank, float best_impact, std::uint32_t terms, double alpha) {
  const double score = alpha * static_cast<double>(pagerank) + (1 - alpha) * static_cast<double>(best_impact);
  const double slack = 1.0 + (static_cast<double>(terms) + 4.0) * 0x1p-23;
  return std::nextafter(static_cast<float>(score * slack), std::numeric_limits<float>::max());
}

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
