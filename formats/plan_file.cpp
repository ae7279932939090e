#include "quern/formats/plan_file.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "quern/core/bytes.hpp"
#include "quern/core/error.hpp"
#include "quern/core/types.hpp"
#include "quern/formats/manifest_settings.hpp"
#include "quern/io/checksum.hpp"

namespace quern {

std::string PlanManifest::to_json() const {
  ManifestJson json = new_manifest("plan");
  json["settings"] = {{"policy", policy},
                      {"budget_bytes", budget_bytes},
                      {"max_admission", max_admission},
                      {"count", count},
                      {"k", k},
                      {"alpha", alpha},
                      {"k1", bm25.k1},
                      {"b", bm25.b},
                      {"idf", idf},
                      {"scores", scores},
                      {"scorer", scorer},
                      {"early_termination", early_termination},
                      {"round", round},
                      {"block", block}};
  if (budget_rows) json["settings"]["budget_rows"] = *budget_rows;
  json["log"] = {{"queries", queries},
                 {"distinct_queries", distinct_queries},
                 {"unknown_queries", unknown_queries},
                 {"empty_queries", empty_queries},
                 {"hash", log_hash}};
  json["index_hash"] = index_hash;
  json["lists"] = lists;
  json["cached_blocks"] = cached_blocks;
  json["cached_bytes"] = cached_bytes;
  json["index_bytes"] = index_bytes;
  return manifest_text(json);
}

PlanManifest PlanManifest::from_json(const std::string& text, const std::string& what) {
  PlanManifest manifest;
  read_manifest(text, what, [&](const ManifestJson& json) {
    const ManifestJson& settings = json.at("settings");
    settings.at("policy").get_to(manifest.policy);
    settings.at("budget_bytes").get_to(manifest.budget_bytes);
    if (settings.contains("budget_rows")) manifest.budget_rows = settings.at("budget_rows").get<std::uint64_t>();
    settings.at("max_admission").get_to(manifest.max_admission);
    settings.at("count").get_to(manifest.count);
    settings.at("k").get_to(manifest.k);
    settings.at("alpha").get_to(manifest.alpha);
    settings.at("k1").get_to(manifest.bm25.k1);
    settings.at("b").get_to(manifest.bm25.b);
    // Version 1 has neither IDF and scores nor the log's hash.
    manifest.idf = settings.value("idf", manifest.idf);
    manifest.scores = settings.value("scores", manifest.scores);
    settings.at("scorer").get_to(manifest.scorer);
    settings.at("early_termination").get_to(manifest.early_termination);
    settings.at("round").get_to(manifest.round);
    settings.at("block").get_to(manifest.block);
    const ManifestJson& log = json.at("log");
    log.at("queries").get_to(manifest.queries);
    log.at("distinct_queries").get_to(manifest.distinct_queries);
    log.at("unknown_queries").get_to(manifest.unknown_queries);
    log.at("empty_queries").get_to(manifest.empty_queries);
    manifest.log_hash = log.value("hash", manifest.log_hash);
    json.at("index_hash").get_to(manifest.index_hash);
    json.at("lists").get_to(manifest.lists);
    json.at("cached_blocks").get_to(manifest.cached_blocks);
    json.at("cached_bytes").get_to(manifest.cached_bytes);
    json.at("index_bytes").get_to(manifest.index_bytes);
  });
  const bool admits = manifest.max_admission > 0 && manifest.max_admission <= 1;
  if (!admits || manifest.block == 0 || manifest.round == 0 || manifest.k == 0)
    throw CorruptFile(what + ": section 'manifest': impossible settings");
  return manifest;
}

std::uint64_t CachePlan::blocks_of(term_t term) const {
  const auto found = std::lower_bound(lists.begin(), lists.end(), term,
                                      [](const CachedList& list, term_t wanted) { return list.term < wanted; });
  return found == lists.end() || found->term != term ? 0 : found->blocks;
}

void write_plan(File& out, const CachePlan& plan) {
  return with_own_errors([&] {
    PlanManifest manifest = plan.manifest;
    manifest.lists = plan.lists.size();
    manifest.cached_blocks = manifest.cached_bytes = 0;
    std::vector<term_t> terms;
    std::vector<std::uint32_t> blocks;
    std::vector<std::uint64_t> bytes;
    terms.reserve(plan.lists.size());
    blocks.reserve(plan.lists.size());
    bytes.reserve(plan.lists.size());
    for (const CachedList& list : plan.lists) {
      terms.push_back(list.term);
      blocks.push_back(list.blocks);
      bytes.push_back(list.bytes);
      manifest.cached_blocks += list.blocks;
      manifest.cached_bytes += list.bytes;
    }
    ContainerWriter writer(out, FileKind::plan);
    writer.add_array("terms", terms);
    writer.add_array("blocks", blocks);
    writer.add_array("bytes", bytes);
    writer.add_section("manifest", as_bytes(manifest.to_json()));
    writer.finish();
  });
}

PlanReader PlanReader::open(const std::string& path) {
  return with_own_errors([&] { return PlanReader(ContainerReader::open(path, FileKind::plan)); });
}

PlanReader::PlanReader(ContainerReader container) try
    : container_(std::move(container)), manifest_(PlanManifest::from_json(container_.manifest(), container_.name())) {
} catch (...) {
  throw_own_error();
}

void PlanReader::check_belongs_to(const IndexReader& index) const {
  if (manifest_.index_hash != hash_text(index.container().content_hash())) {
    throw InvalidArgument(
        fmt::format("{}: is a plan for another index, not for {}; create one with: quern plan {} -q LOG -o PLAN",
                    name(), index.name(), index.name()));
  }
}

CachePlan PlanReader::load() const {
  return with_own_errors([&]() -> CachePlan {
    const auto terms = container_.load_array<term_t>("terms", manifest_.lists);
    const auto blocks = container_.load_array<std::uint32_t>("blocks", manifest_.lists);
    const auto bytes = container_.load_array<std::uint64_t>("bytes", manifest_.lists);
    CachePlan plan;
    plan.manifest = manifest_;
    plan.lists.reserve(terms.size());
    // Terms ascend, so there are fewer than 2^32 lists and the sum of blocks stays below 2^64; the sum of bytes may
    // not.
    std::uint64_t sum_of_blocks = 0, bytes_left = manifest_.cached_bytes;
    for (std::size_t i = 0; i < terms.size(); ++i) {
      if (i > 0 && terms[i] <= terms[i - 1]) container_.fail("terms", "do not ascend");
      if (blocks[i] == 0) container_.fail("blocks", "has a list without blocks");
      if (bytes[i] > bytes_left) container_.fail("bytes", "its sum differs from the manifest's");
      sum_of_blocks += blocks[i];
      bytes_left -= bytes[i];
      plan.lists.push_back({terms[i], blocks[i], bytes[i]});
    }
    if (sum_of_blocks != manifest_.cached_blocks) container_.fail("blocks", "its sum differs from the manifest's");
    if (bytes_left > 0) container_.fail("bytes", "its sum differs from the manifest's");
    return plan;
  });
}

CachePlan PlanReader::load_for(const IndexReader& index) const {
  return with_own_errors([&] {
    check_belongs_to(index);
    if (manifest_.block % index.block_size() != 0)
      container_.fail("manifest", "a caching block is not a multiple of the index's blocks");
    CachePlan plan = load();
    if (!plan.lists.empty() && plan.lists.back().term >= index.manifest().terms)
      container_.fail("terms", "contains a term that is not in the index");
    // Read only the lexicon blocks that contain cached lists.
    for (auto list = plan.lists.begin(); list != plan.lists.end();) {
      const std::uint64_t lexicon_block = list->term / terms_per_block;
      index.for_each_list(lexicon_block, [&](std::string_view, const PostingList& postings) {
        if (list == plan.lists.end() || list->term != postings.number) return;
        const std::uint64_t blocks_there = (postings.df - 1) / manifest_.block + 1;
        if (list->blocks > blocks_there) container_.fail("blocks", "has more blocks of a list than the index");
        ++list;
      });
      if (list != plan.lists.end() && list->term / terms_per_block == lexicon_block)
        container_.fail("terms", "contains a term that is not in the index");
    }
    return plan;
  });
}

}  // namespace quern
