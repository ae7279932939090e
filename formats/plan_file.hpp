#pragma once
#include "quern/formats/container.hpp"
#include "quern/formats/index_file.hpp"

/// The cache plan: which posting lists of an index a GPU keeps in memory, and how much of each. See plan.md.
namespace quern {

/// The first blocks of a posting list, kept in GPU memory.
struct CachedList {
  term_t term = 0;           ///< number of the list in the index
  std::uint32_t blocks = 0;  ///< caching blocks from the front, at least 1
  std::uint64_t bytes = 0;   ///< their bytes in the GPU's memory for lists
  bool operator==(const CachedList&) const = default;
};

/// The settings of a plan, the log behind it, and its sums.
struct PlanManifest {
  std::string policy;                        ///< its name in lib/plan
  std::uint64_t budget_bytes = 0;            ///< of GPU memory
  std::optional<std::uint64_t> budget_rows;  ///< limit of the lists' block rows; none: unlimited
  double max_admission = 1;                  ///< lambda: the largest share of a list to cache, in (0, 1]
  std::string count = "visited";             ///< which blocks count: visited or probed
  std::uint64_t k = 10;                      ///< results per query
  double alpha = 0.3;                        ///< PageRank's share of scores
  Bm25Parameters bm25;
  std::string idf = "lucene";    ///< lucene, robertson
  std::string scores = "exact";  ///< exact, or quantized: with impacts on the GPU
  std::string scorer = "bm25+pagerank";
  bool early_termination = true;
  std::uint64_t round = 256;           ///< postings of the shortest list between two tests for early termination
  std::uint64_t block = 256;           ///< postings of a caching block
  std::uint64_t queries = 0;           ///< of the log
  std::uint64_t distinct_queries = 0;  ///< of the log
  std::uint64_t unknown_queries = 0;   ///< of the log: with a term not in the index
  std::uint64_t empty_queries = 0;     ///< of the log: without results
  std::string log_hash;                ///< of the log's queries, 16 hexadecimal digits; empty: unknown
  std::string index_hash;              ///< content hash of the index's container, 16 hexadecimal digits
  std::uint64_t lists = 0;             ///< lists with cached blocks
  std::uint64_t cached_blocks = 0;     ///< sum over the lists
  std::uint64_t cached_bytes = 0;      ///< sum over the lists
  std::uint64_t index_bytes = 0;       ///< of all encoded lists: 100 % of a budget

  std::string to_json() const;
  /// Throws CorruptFile, with `what` first, if something is missing, of another type or impossible.
  static PlanManifest from_json(const std::string& text, const std::string& what);
};

/// A plan in memory.
struct CachePlan {
  PlanManifest manifest;
  std::vector<CachedList> lists;  ///< in increasing order of term numbers

  /// Cached blocks of a list; 0 if it has no row. A binary search.
  std::uint64_t blocks_of(term_t term) const;
};

/// Writes a plan and computes the manifest's lists, cached_blocks and cached_bytes. Equal plans give equal bytes.
/// Throws IoError.
void write_plan(File& out, const CachePlan& plan);

/// An open plan file with a checked manifest.
class PlanReader : public ManifestReader<PlanReader, PlanManifest, FileKind::plan> {
 public:
  explicit PlanReader(ContainerReader container);

  bool belongs_to(const IndexReader& index) const;
  /// Throws InvalidArgument if the plan is for another index.
  void check_belongs_to(const IndexReader& index) const;
  /// Loads all lists. Throws CorruptFile unless terms ascend, each list has a block, and the sums match the manifest.
  CachePlan load() const;
  /// Loads all lists of a plan for `index`. Also throws InvalidArgument if the plan is for another index, and
  /// CorruptFile if a term isn't in the index or has fewer blocks than the plan caches.
  CachePlan load_for(const IndexReader& index) const;
};

}  // namespace quern
