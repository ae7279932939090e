#include "quern/formats/plan_file.hpp"

#include "quern/formats/manifest_settings.hpp"
#include "quern/io/checksum.hpp"

namespace quern {
namespace {

constexpr auto describe_plan = [](const auto& io, auto& plan) {
  io("settings", "policy", plan.policy);
  io("settings", "budget_bytes", plan.budget_bytes);
  io("settings", "max_admission", plan.max_admission);
  io("settings", "count", plan.count);
  io("settings", "k", plan.k);
  io("settings", "alpha", plan.alpha);
  io("settings", "k1", plan.bm25.k1);
  io("settings", "b", plan.bm25.b);
  io("settings", "idf", plan.idf);
  io("settings", "scores", plan.scores);
  io("settings", "scorer", plan.scorer);
  io("settings", "early_termination", plan.early_termination);
  io("settings", "round", plan.round);
  io("settings", "block", plan.block);
  io("settings", "budget_rows", plan.budget_rows);
  io("log", "queries", plan.queries);
  io("log", "distinct_queries", plan.distinct_queries);
  io("log", "unknown_queries", plan.unknown_queries);
  io("log", "empty_queries", plan.empty_queries);
  io("log", "hash", plan.log_hash);
  io("index_hash", plan.index_hash);
  io("lists", plan.lists);
  io("cached_blocks", plan.cached_blocks);
  io("cached_bytes", plan.cached_bytes);
  io("index_bytes", plan.index_bytes);
};

}  // namespace

std::string PlanManifest::to_json() const { return described_manifest("plan", *this, describe_plan); }

PlanManifest PlanManifest::from_json(const std::string& text, const std::string& what) {
  auto manifest = read_described_manifest<PlanManifest>(text, what, describe_plan);
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
  writer.finish(manifest.to_json());
}

PlanReader::PlanReader(ContainerReader container) : ManifestReader(std::move(container)) {}

bool PlanReader::belongs_to(const IndexReader& index) const {
  return manifest_.index_hash == hash_text(index.container().content_hash());
}

void PlanReader::check_belongs_to(const IndexReader& index) const {
  if (!belongs_to(index))
    throw InvalidArgument("{}: is a plan for another index, not for {}; create one with: quern plan {} -q LOG -o PLAN",
                          name(), index.name(), index.name());
}

CachePlan PlanReader::load() const {
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
}

CachePlan PlanReader::load_for(const IndexReader& index) const {
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
}

}  // namespace quern
