#include "quern/order/order.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <numeric>
#include <utility>

#include "quern/core/bytes.hpp"
#include "quern/core/error.hpp"
#include "quern/core/job_pipeline.hpp"
#include "quern/core/named.hpp"
#include "quern/core/option_name.hpp"
#include "quern/core/random.hpp"
#include "quern/core/resources.hpp"
#include "quern/core/size_text.hpp"
#include "quern/io/external_sort.hpp"
#include "quern/io/spool.hpp"
#include "quern/order/document_terms.hpp"
#include "quern/order/pagerank.hpp"
#include "quern/text/url.hpp"

namespace quern {

namespace {

class NaturalOrder : public OrderMethod {
 public:
  OrderBy by() const override { return OrderBy::natural; }
  std::string_view description() const override { return "in the order of the corpus"; }
  std::uint64_t needed_bytes(const CollectionManifest& collection) const override {
    return collection.documents * permutation_bytes;
  }
  DocumentOrder compute(const OrderInput& input) const override {
    DocumentOrder order;
    order.documents.resize(input.collection.num_documents());
    std::iota(order.documents.begin(), order.documents.end(), docid_t{0});
    return order;
  }
};

class RandomOrder : public OrderMethod {
 public:
  OrderBy by() const override { return OrderBy::random; }
  std::string_view description() const override { return "a random permutation, for comparison"; }
  std::uint64_t needed_bytes(const CollectionManifest& collection) const override {
    return collection.documents * permutation_bytes;
  }
  DocumentOrder compute(const OrderInput& input) const override {
    DocumentOrder order = natural_order().compute(input);
    RandomBits random(input.options.seed);
    auto& documents = order.documents;
    for (std::size_t i = documents.size(); i > 1; --i) std::swap(documents[i - 1], documents[random.below(i)]);
    return order;
  }
};

/// A chunk whose documents' URLs become sort keys.
struct UrlKeysJob {
  std::size_t chunk = 0;
  ChunkBuffers buffers;
  std::vector<std::string> keys;  ///< empty for a document without a URL

  void read(const CollectionReader& collection) {
    keys.clear();
    for (const DocumentRow& row : collection.documents(chunk, buffers))
      keys.push_back(row.url.empty() ? std::string() : url_order_key(row.url));
  }
};

class UrlOrder : public OrderMethod {
 public:
  OrderBy by() const override { return OrderBy::url; }
  std::string_view description() const override { return "by reversed host, then path; documents without a URL last"; }
  std::uint64_t needed_bytes(const CollectionManifest& collection) const override {
    return collection.documents * permutation_bytes;
  }

  /// Silvestri: Sorting Out the Document Identifier Assignment Problem (ECIR 2007).
  DocumentOrder compute(const OrderInput& input) const override {
    const CollectionReader& collection = input.collection;
    const Resources& resources = input.resources;
    resources.progress->start("order by URL", collection.num_documents(), "documents");
    const std::uint64_t free_bytes = input.free_bytes(permutation_bytes);
    ExternalSort keys(resources.tmp_folder, free_bytes / 2);
    RecordSpool<docid_t> without_url(resources.tmp_folder);
    docid_t document = 0;
    std::size_t next_chunk = 0;
    const auto next = [&](UrlKeysJob& job) {
      job.chunk = next_chunk++;
      return job.chunk < collection.num_chunks();
    };
    const auto add = [&](const UrlKeysJob& job) {
      for (const std::string& key : job.keys) {
        if (key.empty()) {
          without_url.add(document);
        } else {
          keys.add(key, {reinterpret_cast<const std::uint8_t*>(&document), sizeof document});
        }
        ++document;
      }
      resources.progress->add(job.keys.size());
    };
    const std::uint64_t job_bytes = std::max<std::uint64_t>(2 * link_reading_bytes(collection), 1);
    run_jobs(
        std::clamp<std::uint64_t>(free_bytes / 2 / job_bytes, 1, std::uint64_t{resources.threads} * 2),
        [] { return std::make_unique<UrlKeysJob>(); }, next, [&](UrlKeysJob& job) { job.read(collection); }, add);
    DocumentOrder order;
    order.documents.reserve(collection.num_documents());
    keys.merge(
        [&](std::string_view, ByteView payload) { order.documents.push_back(load_le<docid_t>(payload.data())); });
    without_url.for_each([&](docid_t without) { order.documents.push_back(without); });
    resources.progress->finish();
    return order;
  }
};

}  // namespace

const OrderMethod& natural_order() {
  static const NaturalOrder order;
  return order;
}

const OrderMethod& random_order() {
  static const RandomOrder order;
  return order;
}

const OrderMethod& url_order() {
  static const UrlOrder order;
  return order;
}

const std::vector<const OrderMethod*>& all_orders() {
  static const std::vector<const OrderMethod*> orders = {&natural_order(), &url_order(), &score_order(),
                                                         &bisection_order(), &random_order()};
  return orders;
}

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

namespace {

/// `input`, adapted to this order.
PagerankInput pagerank_for(const OrderMethod& method, const PagerankInput& input) {
  if (!method.needs_pagerank()) return input;
  if (input.from == PagerankFrom::nothing)
    throw InvalidArgument(
        fmt::format("the order {} needs PageRank: use {} links, or a file", method.name(), option_name<"pagerank">));
  return input.from == PagerankFrom::if_needed ? PagerankInput{PagerankFrom::links, {}} : input;
}

}  // namespace

void check_order(const std::string& name, const CollectionManifest& collection, const OrderOptions& options,
                 const PagerankInput& pagerank, const Resources& resources) {
  const OrderMethod& method = order_method(options.by);
  const PagerankInput input = pagerank_for(method, pagerank);
  const bool has_ranks = input.from != PagerankFrom::if_needed && input.from != PagerankFrom::nothing;
  if (has_ranks && collection.impacts)
    throw InvalidArgument(fmt::format(
        "{}: scores from given impacts can't include PageRank; omit {} and {}, and choose an order other than score",
        name, option_name<"pagerank">, option_name<"links">));
  check_order_memory(fmt::format("{}: the order {} of {} documents{}", name, method.name(), collection.documents,
                                 has_ranks ? " with PageRank" : ""),
                     method.needed_bytes(collection) + (has_ranks ? collection.documents * ranks_bytes : 0), resources);
  check_pagerank_input_memory(name, collection, input, resources);
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

void check_order_memory(std::uint64_t num_documents, std::uint64_t document_bytes, const Resources& resources) {
  check_order_memory(fmt::format("an order of {} documents", num_documents), num_documents * document_bytes, resources);
}

void check_order_memory(const std::string& what, std::uint64_t needed_bytes, const Resources& resources) {
  if (needed_bytes > resources.memory_bytes) {
    throw InvalidArgument(fmt::format("{} needs {} of memory, but {} allows {}; raise it", what,
                                      size_text(needed_bytes), option_name<"memory">,
                                      size_text(resources.memory_bytes)));
  }
}

}  // namespace quern
