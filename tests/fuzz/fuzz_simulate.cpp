#include <algorithm>
#include <array>
#include <cstdlib>
#include <string>
#include <vector>

#include "quern/core/error.hpp"
#include "quern/core/random.hpp"
#include "quern/corpus/parse_corpus.hpp"
#include "quern/io/checksum.hpp"
#include "quern/plan/cache_plan.hpp"

#include "../corpus/temporary_folder.hpp"
#include "../index/pipeline/use_collection.hpp"
#include "../index/pipeline/use_index.hpp"
#include "container_fuzzing.hpp"
#include "work_folder.hpp"

namespace {

using namespace quern;

/// A plan's sections, and a query log with a query per line.
constexpr std::array<std::string_view, 5> sections = {"terms", "blocks", "bytes", "manifest", "log"};

/// Pages with words in all, some and one of them, in the order of global scores. Lists have several caching blocks, and
/// queries stop early.
IndexReader make_index() {
  const testing::TemporaryFolder folder;
  const Resources resources = fuzz::fuzz_resources();
  RandomBits random(17);
  std::string corpus;
  for (std::size_t i = 0; i < 600; ++i) {
    corpus += "{\"docno\": \"d" + std::to_string(i) + "\", \"contents\": \"mill flour";
    for (std::uint64_t words = random.below(6); words > 0; --words)
      corpus += " s" + std::to_string(random.below(1 + random.below(600)));
    corpus += "\"}\n";
  }
  ParseOptions options;
  options.corpus = {folder.write("corpus.jsonl", corpus)};
  File file = File::anonymous(resources.tmp_folder);
  parse_corpus(options, resources, file);
  const CollectionReader collection(testing::shared(std::move(file)));
  OrderOptions order_options;
  order_options.by = OrderBy::score;
  BuildOptions build_options;
  build_options.codec_options.block_size = 64;
  return testing::index_of(collection, testing::order_of(collection, order_options, resources), order_options,
                           build_options, resources, true);
}

std::vector<std::string_view> lines_of(std::string_view text) {
  constexpr std::size_t max_lines = 8;
  std::vector<std::string_view> lines;
  while (!text.empty() && lines.size() < max_lines) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    lines.push_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return lines;
}

/// The plan, changed to be for our index.
PlanReader read_plan(const ContainerReader& input, const IndexReader& index) {
  PlanManifest manifest = PlanManifest::from_json(input.manifest(), "fuzz");
  manifest.index_hash = hash_text(index.container().content_hash());
  File file = File::anonymous(fuzz::work_folder());
  ContainerWriter writer(file, FileKind::plan);
  for (const std::string_view name : {"terms", "blocks", "bytes"}) writer.add_section(name, input.view(name));
  writer.add_section("manifest", as_bytes(manifest.to_json()));
  writer.finish();
  return PlanReader(ContainerReader(testing::shared(std::move(file)), FileKind::plan));
}

void require_possible(const CacheFigures& figures, std::size_t queries) {
  if (figures.queries + figures.unknown + figures.empty != queries || figures.served > figures.queries ||
      figures.block_hits > figures.block_requests || figures.list_hits > figures.list_requests)
    std::abort();
}

CacheFigures simulate(const CachePlan& plan, const IndexReader& index, std::span<const std::string_view> log,
                      const Resources& resources) {
  LogQueries queries(index.manifest().analyzer, resources);
  testing::add_all(log, queries);
  return simulate_plan(plan, index, queries, 1 + plan.lists.size() % 3, resources).figures;
}

/// Makes a plan with the settings of another one. The plan can be loaded, and does not exceed its budget.
void plan_with(const PlanManifest& settings, const IndexReader& index, std::span<const std::string_view> log,
               const Resources& resources) {
  ScoringOptions scoring;
  scoring.bm25 = settings.bm25;
  scoring.idf = find_named(idf_names, settings.idf, "IDF").value;
  scoring.scores = find_named(scores_names, settings.scores, "precision of scores").value;
  scoring.alpha = settings.alpha;
  scoring.scorer = find_named(scorer_names, settings.scorer, "scorer").value;
  scoring.early_termination = settings.early_termination;
  const QueryEngine engine(index, scoring);
  const CacheBlocks blocks(index, settings.block, resources, engine.quantizer() != nullptr);
  LogQueries queries(index.manifest().analyzer, resources);
  testing::add_all(log, queries);
  PlanOptions options;
  options.policy = settings.policy;
  options.budget_bytes = settings.budget_bytes;
  options.max_admission = settings.max_admission;
  options.demand = {settings.k, settings.round, find_named(visit_kinds, settings.count, "kind of visits").value};
  const LogDemand demand = measure_demand(engine, blocks, queries, options.demand, resources);
  const CachePlan plan = make_plan(engine, blocks, demand, options);
  File file = File::anonymous(resources.tmp_folder);
  write_plan(file, plan);
  const CachePlan loaded =
      PlanReader(ContainerReader(testing::shared(std::move(file)), FileKind::plan)).load_for(index);
  if (loaded.lists != plan.lists || loaded.manifest.cached_bytes > options.budget_bytes) std::abort();
  require_possible(simulate(loaded, index, log, resources), log.size());
}

}  // namespace

/// For any plan and log, the plan is simulated and a plan with its settings is made, or a library error is thrown.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const IndexReader index = make_index();
  const Resources resources = fuzz::fuzz_resources();
  try {
    const ContainerReader input(fuzz::container_around({data, size}, FileKind::plan, sections), FileKind::plan);
    const auto log = lines_of(as_text(input.view("log")));
    const PlanReader reader = read_plan(input, index);
    try {
      require_possible(simulate(reader.load_for(index), index, log, resources), log.size());
    } catch (const Error&) {
    }
    plan_with(reader.manifest(), index, log, resources);
  } catch (const Error&) {
  }
  return 0;
}
