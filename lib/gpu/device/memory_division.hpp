#pragma once
#include <array>
#include <cstdint>
#include <limits>
#include <mutex>
#include <optional>
#include <string>

#include "quern/core/named.hpp"
#include "quern/formats/plan_file.hpp"
#include "quern/search/query_engine.hpp"

/// How a GPU's memory is divided among what the engine keeps there. Host code.
namespace quern::gpu {

/// Which lists stay on a GPU when no batch uses them, besides a plan's, and which of these go first.
enum class ListRetention : std::uint8_t {
  none,  ///< none
  lru,   ///< those that were used least recently go first
  lfu,   ///< those that batches have used least often since they came go first; uses long ago count for less
};

inline constexpr NamedValue<ListRetention> list_retentions[] = {
    {"lfu", ListRetention::lfu, "lists stay after a batch; those used least often recently are evicted first"},
    {"lru", ListRetention::lru, "lists stay after a batch; those used least recently are evicted first"},
    {"none", ListRetention::none, "only the plan's lists stay"},
};

/// What happens to a list of which a GPU has only the front that a plan keeps, in a query for documents with all terms.
enum class ListTails : std::uint8_t {
  automatic,  ///< cpu if queries can end early, else copy
  copy,       ///< the rest of the list is copied to the GPU
  cpu,        ///< the GPU answers the query as far as all fronts go, and the CPU goes on from there
};

inline constexpr NamedValue<ListTails> list_tails[] = {
    {"auto", ListTails::automatic, "cpu if queries can end early by global scores, else copy"},
    {"copy", ListTails::copy, "it is copied to the GPU when a batch needs it"},
    {"cpu", ListTails::cpu, "the GPU answers as far as its parts of the lists go, and the CPU continues from there"},
};

/// How lists come to a GPU that does not keep them.
enum class ListTransfers : std::uint8_t {
  automatic,  ///< staged, until they have been copied so often that direct would have taken less time
  staged,     ///< threads of the host gather them in pinned memory, from where they are copied
  direct,     ///< the GPU reads them where the index's file is mapped, for which they are pinned there
};

inline constexpr NamedValue<ListTransfers> list_transfers[] = {
    {"auto", ListTransfers::automatic,
     "staged until enough has been copied to make direct worthwhile, if direct is possible"},
    {"staged", ListTransfers::staged, "host threads gather them in pinned memory"},
    {"direct", ListTransfers::direct, "the GPU reads them from the index's file, whose lists are pinned in memory"},
};

/// How much of a GPU's memory the engine may take, and what it keeps there if that is less than the index needs.
struct GpuMemoryOptions {
  std::optional<std::uint64_t> bytes;  ///< of all that it allocates; default: what is free, less a margin
  /// Of one GPU's free memory, what other work may take.
  struct Reserved {
    unsigned gpu = 0;
    std::uint64_t bytes = 0;
  };
  Reserved reserved = {};
  /// Of the coded lists with impacts, the share that may be in the memory; what else is needed comes on top.
  std::optional<double> list_share;
  const CachePlan* plan = nullptr;  ///< fronts of lists that stay; must belong to the index
  ListRetention retention = ListRetention::lfu;
  ListTails tails = ListTails::automatic;  ///< only with a plan
  ListTransfers transfers = ListTransfers::automatic;
  /// Of host memory, what copies to and from all GPUs may pin; default: whatever they need.
  std::optional<std::uint64_t> pinned_bytes;

  /// These options for each of several GPUs.
  GpuMemoryOptions of_each(std::size_t gpus) const {
    GpuMemoryOptions options = *this;
    if (pinned_bytes) options.pinned_bytes = *pinned_bytes / gpus;
    return options;
  }
};

/// Sizes in bytes, as an index would take them on a GPU.
struct IndexSizes {
  std::uint64_t tables = 0;  ///< numbers per document
  std::uint64_t rows = 0;    ///< block rows
  std::uint64_t lists = 0;   ///< coded words, and impacts if scores are quantized
};

struct MemoryDivision {
  bool whole_index = true;      ///< all lists and rows are there from the start
  bool resident_rows = true;    ///< all rows are
  std::uint64_t lists = 0;      ///< of the arena for words and impacts, unless all lists are there
  std::uint64_t rows = 0;       ///< of the arena for rows, unless all rows are there
  std::uint64_t staging = 0;    ///< of each of staging_buffers
  std::uint64_t per_batch = 0;  ///< for queries, results and the strategy, of each of two batches
};

/// The arenas that hold lists if the whole index is not there.
struct ListArenas {
  std::uint64_t words = 0;  ///< of 32 bits, for coded words and impacts
  std::uint64_t rows = 0;   ///< block rows; 0: all rows of the index are elsewhere on the GPU

  /// What the fronts of a plan may take: three quarters. The rest is for lists that batches need.
  ListArenas for_fronts() const { return {words / 4 * 3, rows / 4 * 3}; }
};
ListArenas arenas_of(const MemoryDivision& division);

/// Pieces in which lists travel.
inline constexpr std::uint64_t staging_buffers = 4;

/// How pinned host memory is divided: what copies of a GPU take at most, in pieces, and the rest for batches.
struct PinnedDivision {
  std::uint64_t limit = 0;
  std::uint64_t staging = 0;  ///< of each of staging_buffers
  std::uint64_t upload =
      0;  ///< of each of two pieces in which what stays on a GPU travels; they go before batches come
};

/// Divides what may be pinned for a GPU: an eighth for lists on their way, as much for what stays, the rest for
/// batches. Throws OutOfMemory, with what would do, if that is too little.
PinnedDivision divide_pinned(std::optional<std::uint64_t> limit);

/// Divides `limit` bytes. The whole index is there if that leaves a fifth; else rows are, if they take at most half of
/// what the tables leave, and lists get half of what is left then, or `list_share` of all. Throws GpuOutOfMemory, with
/// what would do, if too little is left for one batch. `name`: the index's, for messages.
MemoryDivision divide_memory(std::uint64_t limit, const IndexSizes& sizes, std::optional<double> list_share,
                             const std::string& name);

// What an index takes of a GPU's memory. Host code.

/// What decoding needs, and what scores need if `scores` is not null: numbers per document and, for quantized scores,
/// impacts.
IndexSizes sizes_of(const IndexReader& index, const QueryEngine* scores);

// What a GPU's memory, and the host memory that copies pin, is used for, and how much may be. Host code.

enum class MemoryUse : std::uint8_t {
  tables,
  rows,
  lists,
  staging,
  entries,
  batch,
  working,
  documents,
  rankers,
  pinned
};

inline constexpr std::array<NamedValue<MemoryUse>, 10> memory_uses = {{
    {"tables", MemoryUse::tables, "numbers per document"},
    {"rows", MemoryUse::rows, "block rows"},
    {"lists", MemoryUse::lists, "coded lists and impacts"},
    {"staging", MemoryUse::staging, "lists being copied"},
    {"entries", MemoryUse::entries, "decoded lists"},
    {"batch", MemoryUse::batch, "queries and results"},
    {"working", MemoryUse::working, "working memory of the strategy"},
    {"documents", MemoryUse::documents, "documents of the forward file"},
    {"rankers", MemoryUse::rankers, "learned models"},
    {"pinned", MemoryUse::pinned, "host memory for copies to and from GPUs"},
}};

/// Bytes by what they are used for.
using MemoryTable = std::array<std::uint64_t, memory_uses.size()>;

/// The GPU's memory in a table: all but what is pinned on the host.
std::uint64_t on_gpu(const MemoryTable& table);

/// Counts allocations, all of a GPU's memory or all of pinned memory, and refuses those beyond a limit. Several threads
/// may allocate: one that brings windows of documents needs pinned memory while results of another batch are taken.
class MemoryAccount {
 public:
  explicit MemoryAccount(std::uint64_t limit = std::numeric_limits<std::uint64_t>::max()) : limit_(limit) {}
  MemoryAccount(const MemoryAccount&) = delete;
  MemoryAccount& operator=(const MemoryAccount&) = delete;

  /// The bytes that an allocation of `bytes` takes.
  static constexpr std::uint64_t rounded(std::uint64_t bytes) {
    constexpr std::uint64_t granularity = 512;
    return (bytes + granularity - 1) / granularity * granularity;
  }

  /// To be called before other threads allocate.
  void set_limit(std::uint64_t limit) { limit_ = limit; }
  std::uint64_t limit() const { return limit_; }
  std::uint64_t taken() const {
    const std::lock_guard lock(mutex_);
    return taken_;
  }
  std::uint64_t left() const { return limit_ - taken(); }
  /// To be read when no other thread allocates.
  const MemoryTable& peak() const { return peak_; }

  /// Counts an allocation. Throws GpuOutOfMemory if the limit does not allow it.
  void take(MemoryUse use, std::uint64_t bytes);
  void give_back(MemoryUse use, std::uint64_t bytes) noexcept;

 private:
  mutable std::mutex mutex_;
  std::uint64_t limit_, taken_ = 0;
  MemoryTable now_{}, peak_{};  ///< by use
};

}  // namespace quern::gpu
