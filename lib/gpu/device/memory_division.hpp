#pragma once
#include <mutex>

#include "quern/formats/plan_file.hpp"
#include "quern/search/query_engine.hpp"

/// The division of a GPU's memory. Host code.
namespace quern::gpu {

/// Which lists besides a plan's stay on a GPU when no batch uses them, and the order of eviction.
enum class ListRetention : std::uint8_t { none, lru, lfu };

inline constexpr NamedValue<ListRetention> list_retentions[] = {
    {"lfu", ListRetention::lfu,
     "lists stay after a batch; the least frequently used are evicted first; old uses count less"},
    {"lru", ListRetention::lru, "lists stay after a batch; those used least recently are evicted first"},
    {"none", ListRetention::none, "only the plan's lists stay"},
};

/// The treatment of a list of which a GPU holds only a plan's front, in a query for documents with all terms.
enum class ListTails : std::uint8_t { automatic, copy, cpu };

inline constexpr NamedValue<ListTails> list_tails[] = {
    {"auto", ListTails::automatic, "cpu if queries can end early by global scores, else copy"},
    {"copy", ListTails::copy, "it is copied to the GPU when a batch needs it"},
    {"cpu", ListTails::cpu, "the GPU answers as far as its parts of the lists go, and the CPU continues from there"},
};

/// The transfer of lists to a GPU.
enum class ListTransfers : std::uint8_t { automatic, staged, direct };

inline constexpr NamedValue<ListTransfers> list_transfers[] = {
    {"auto", ListTransfers::automatic,
     "staged until enough has been copied to make direct worthwhile, if direct is possible"},
    {"staged", ListTransfers::staged, "host threads gather them in pinned memory"},
    {"direct", ListTransfers::direct, "the GPU reads them from the index's file, whose lists are pinned in memory"},
};

/// What batches of a kind need of a GPU's memory, each, in bytes.
struct BatchNeeds {
  std::uint64_t least = 0;   ///< the minimum for any batch, besides queries and results
  std::uint64_t useful = 0;  ///< with more, batches would hardly be faster; 0: unknown
  /// Maximum queries of a batch, if batches decode whole lists; 0: they don't.
  std::size_t decoding_queries = 0;
};

/// Limits of a GPU's memory, and its use if the index does not fit.
struct GpuMemoryOptions {
  std::optional<std::uint64_t> bytes;  ///< limit of all allocations; default: the free memory without a margin
  /// The same limit, as a fraction of the index's posting lists on disk, impacts included.
  std::optional<double> share;
  /// Free memory of one GPU that is reserved for other work.
  struct Reserved {
    unsigned gpu = 0;
    std::uint64_t bytes = 0;
  };
  Reserved reserved = {};
  /// For measurements: keep and copy this fraction of the coded lists, instead of what batches leave.
  std::optional<double> list_share;
  std::optional<BatchNeeds> needs;  ///< default: those of the strategy
  /// Bytes for the lists that a batch misses, of each of two batches: a batch ends when they are full (Wang et al.
  /// 2017, section 4.1.1). A plan then gets all of the other memory for lists.
  std::optional<std::uint64_t> list_buffer;
  const CachePlan* plan = nullptr;  ///< fronts of lists that stay; must belong to the index
  ListRetention retention = ListRetention::lfu;
  ListTails tails = ListTails::automatic;  ///< only with a plan
  ListTransfers transfers = ListTransfers::automatic;
  /// Host memory that copies to and from all GPUs may pin; default: no limit.
  std::optional<std::uint64_t> pinned_bytes;

  /// The options for each of several GPUs.
  GpuMemoryOptions per_gpu(std::size_t gpus) const {
    GpuMemoryOptions options = *this;
    if (pinned_bytes) options.pinned_bytes = *pinned_bytes / gpus;
    return options;
  }
  /// The limit for this index; empty: none.
  std::optional<std::uint64_t> limit(const IndexReader& index) const;
};

/// The sizes of an index on a GPU, in bytes.
struct IndexSizes {
  std::uint64_t tables = 0;   ///< numbers per document
  std::uint64_t rows = 0;     ///< block rows
  std::uint64_t lists = 0;    ///< coded words, and impacts if scores are quantized
  std::uint64_t entries = 0;  ///< all decoded lists: see all_entry_bytes()
};

struct MemoryDivision {
  bool whole_index = true;      ///< all lists and rows stay in memory
  bool resident_rows = true;    ///< all rows stay in memory
  std::uint64_t lists = 0;      ///< arena for words and impacts, unless all lists stay in memory
  std::uint64_t windows = 0;    ///< for two windows of documents beside them; 0: batches can't run in windows
  std::uint64_t rows = 0;       ///< arena for rows, unless all rows stay in memory
  std::uint64_t staging = 0;    ///< of each of staging_buffers
  std::uint64_t per_batch = 0;  ///< for queries, results and the strategy, of each of two batches
  std::uint64_t queries = 0;    ///< the part of per_batch that is not for decoded lists, if batches decode any
  bool buffers_lists = false;   ///< windows are as large as GpuMemoryOptions::list_buffer
  bool all_lists = false;       ///< all lists fit `lists`, although the decoded ones don't fit beside them
};

/// The arenas for lists if the index does not fit.
struct ListArenas {
  std::uint64_t words = 0;         ///< of 32 bits, for coded words and impacts
  std::uint64_t window_words = 0;  ///< after these, for two windows
  std::uint64_t rows = 0;          ///< block rows; 0: all rows of the index are elsewhere on the GPU
  bool all_for_fronts = false;     ///< lists that batches need have a buffer of their own

  /// The part for a plan's fronts: three quarters, unless it is all. The rest is for lists that batches need.
  ListArenas for_fronts() const { return {all_for_fronts ? words : words / 4 * 3, 0, rows / 4 * 3}; }
};
ListArenas arenas_of(const MemoryDivision& division);

/// Staging buffers for lists in transfer.
inline constexpr std::uint64_t staging_buffers = 4;

/// The division of pinned host memory: buffers for copies, and the rest for batches.
struct PinnedDivision {
  std::uint64_t limit = 0;
  std::uint64_t staging = 0;  ///< of each of staging_buffers
  std::uint64_t upload = 0;   ///< of each of two upload buffers, which are freed before batches begin
};

/// Divides the pinned memory of a GPU: an eighth for lists in transfer, an eighth for uploads before batches begin, the
/// rest for batches. Throws OutOfMemory, with the minimum, if that is too little.
PinnedDivision divide_pinned(std::optional<std::uint64_t> limit);

/// Divides `limit` bytes among all that the engine allocates. The whole index stays in memory if that leaves a fifth
/// and room for all decoded lists, if batches decode any. Otherwise rows stay if they take at most half of the memory
/// without tables, batches get a quarter of the rest each, but no more than is useful to them, windows half as much as
/// one batch or the list buffers, and lists what is left. Throws GpuOutOfMemory, with the minimum, if too little is
/// left for one batch. `name`: the index's, for messages.
MemoryDivision divide_memory(std::uint64_t limit, const IndexSizes& sizes, const GpuMemoryOptions& memory,
                             const std::string& name);

/// Upper bound of the bytes of an index's decoded lists, with some room for lists that do not stay.
std::uint64_t all_entry_bytes(const IndexReader& index);

/// An index's sizes for decoding and, unless `scores` is null, for scoring: tables and quantized impacts.
IndexSizes sizes_of(const IndexReader& index, const QueryEngine* scores);

/// Uses of a GPU's memory and of pinned host memory.
enum class MemoryUse { tables, rows, lists, staging, entries, batch, working, documents, rankers, pinned };

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

/// Bytes by use.
using MemoryTable = std::array<std::uint64_t, memory_uses.size()>;

/// Counts allocations of a GPU's memory or of pinned memory, and refuses those beyond a limit. Several threads may
/// allocate: the one that copies windows needs pinned memory while another takes results.
class MemoryAccount {
 public:
  /// `whole`: an account that counts these allocations too, and must outlive this one; null: none.
  explicit MemoryAccount(std::uint64_t limit = std::numeric_limits<std::uint64_t>::max(),
                         MemoryAccount* whole = nullptr)
      : limit_(limit), whole_(whole) {}

  /// The bytes that an allocation of `bytes` bytes occupies.
  static constexpr std::uint64_t rounded(std::uint64_t bytes) {
    constexpr std::uint64_t granularity = 512;
    return (bytes + granularity - 1) / granularity * granularity;
  }

  /// Call it before other threads allocate.
  void set_limit(std::uint64_t limit) { limit_ = limit; }
  std::uint64_t limit() const { return limit_; }
  std::uint64_t taken() const {
    const std::lock_guard lock(mutex_);
    return taken_;
  }
  std::uint64_t left() const { return limit_ - taken(); }
  /// The peak of each use, and of all together. Read them when no other thread allocates.
  const MemoryTable& peak() const { return peak_; }
  std::uint64_t peak_taken() const { return peak_taken_; }

  /// Counts an allocation. Throws GpuOutOfMemory beyond the limit.
  void take(MemoryUse use, std::uint64_t bytes);
  void give_back(MemoryUse use, std::uint64_t bytes) noexcept;

 private:
  mutable std::mutex mutex_;
  std::uint64_t limit_, taken_ = 0, peak_taken_ = 0;
  MemoryAccount* whole_;
  MemoryTable now_{}, peak_{};  ///< by use
};

/// Makes a GPU the thread's current one. Throws CudaError.
void use_gpu(unsigned gpu);

/// Memory of the current GPU.
struct DeviceAllocation {
  static void* allocate(std::size_t bytes);
  static void free(void* memory) noexcept;
};
/// Page-locked host memory, for asynchronous copies.
struct PinnedAllocation {
  static void* allocate(std::size_t bytes);
  static void free(void* memory) noexcept;
};

/// Owns uninitialised memory, which `Allocation` allocates and an account counts. Throws GpuOutOfMemory.
template <class T, class Allocation>
class OwnedArray {
 public:
  OwnedArray() = default;
  explicit OwnedArray(std::size_t size) { allocate(size); }
  /// Makes an empty array. `account` counts its memory, and must outlive it.
  OwnedArray(MemoryAccount& account, MemoryUse use) : account_(&account), use_(use) {}
  OwnedArray(MemoryAccount& account, MemoryUse use, std::size_t size) : OwnedArray(account, use) { allocate(size); }
  OwnedArray(OwnedArray&& other) noexcept { *this = std::move(other); }
  OwnedArray& operator=(OwnedArray&& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(size_, other.size_);
    std::swap(account_, other.account_);
    std::swap(use_, other.use_);
    return *this;
  }
  ~OwnedArray() { release(); }

  T* data() const { return data_; }
  std::size_t size() const { return size_; }
  std::size_t size_bytes() const { return size_ * sizeof(T); }
  /// Returns memory for `size` elements. If it must grow, loses the contents and takes a quarter more if possible.
  T* reserve(std::size_t size) {
    if (size <= size_) return data_;
    release();
    try {
      allocate(size + size / 4);
    } catch (const GpuOutOfMemory&) {
      allocate(size);
    }
    return data_;
  }
  void release() noexcept {
    if (data_ == nullptr) return;
    Allocation::free(data_);
    if (account_ != nullptr) account_->give_back(use_, size_bytes());
    data_ = nullptr;
    size_ = 0;
  }

 private:
  void allocate(std::size_t size) {
    if (size == 0) return;
    if (account_ != nullptr) account_->take(use_, size * sizeof(T));
    try {
      data_ = static_cast<T*>(Allocation::allocate(size * sizeof(T)));
    } catch (...) {
      if (account_ != nullptr) account_->give_back(use_, size * sizeof(T));
      throw;
    }
    size_ = size;
  }

  T* data_ = nullptr;
  std::size_t size_ = 0;
  MemoryAccount* account_ = nullptr;
  MemoryUse use_ = MemoryUse::working;
};

template <class T>
using DeviceArray = OwnedArray<T, DeviceAllocation>;
template <class T>
using PinnedArray = OwnedArray<T, PinnedAllocation>;

}  // namespace quern::gpu
