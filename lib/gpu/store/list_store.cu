#include "quern/gpu/store/list_store_device.cuh"

namespace quern::gpu {
namespace {

/// The smallest useful arena of decoded lists.
constexpr std::uint64_t min_bytes = 1 << 20;
ListCacheOptions cache_options(const DeviceIndex& index, const GpuMemoryOptions& memory) {
  ListCacheOptions options{arenas_of(index.division())};
  options.with_impacts = index.device().quantized;
  options.retention = index.division().all_lists ? ListRetention::lfu : memory.retention;
  options.block_size = index.index().block_size();
  return options;
}

/// Whether a batch reads so few of a list's blocks that they need not be copied.
bool is_rarely_read(const WantedList& wanted) {
  return wanted.blocks <= wanted.list->block_last.size() / blocks_per_block_in_place;
}

}  // namespace

DeviceListStore::DeviceListStore(const DeviceIndex& index, const GpuMemoryOptions& memory, Progress& progress)
    : index_(index),
      cache_(cache_options(index, memory)),
      transfers_(memory.transfers),
      device_(std::make_unique<Device>()) {
  use_gpu(index.gpu());
  Device& device = *device_;
  MemoryAccount& account = index.account();
  const ListCacheOptions options = cache_options(index, memory);
  const std::uint64_t words = options.words + options.window_words + over_read_words;
  device.words = DeviceArray<std::uint32_t>(account, MemoryUse::lists, words);
  for (std::size_t i = 0; i < device.halves.size(); ++i)
    device.halves[i].first_word = options.words + i * (options.window_words / 2);
  // The arena too: kernels read words after a block, although they drop them.
  const CudaStream filling;
  fill_zero(device.words.data(), words, filling);
  filling.wait();
  if (options.rows > 0) {
    device.block_last = DeviceArray<std::uint32_t>(account, MemoryUse::rows, options.rows);
    device.block_offset = DeviceArray<std::uint32_t>(account, MemoryUse::rows, options.rows);
    device.block_max = DeviceArray<std::uint16_t>(account, MemoryUse::rows, options.rows);
  }
  device.mover.emplace(account, index.pinned(), index.division().staging);
  if (transfers_ == ListTransfers::direct) pin_lists();
  if (memory.plan != nullptr && !index.division().all_lists) keep_plan(*memory.plan, progress);
  device.mover->stream().wait();
  device.mover->take_direct_bytes();  // drops the plan's, which belong to no batch
}

DeviceListStore::~DeviceListStore() = default;

void DeviceListStore::keep_plan(const CachePlan& plan, Progress& progress) {
  const IndexReader& index = index_.index();
  const std::uint64_t ratio = plan.manifest.block / index.block_size();
  progress.start("load the plan", plan.lists.size(), "lists");
  std::uint64_t left_out = 0;
  constexpr std::size_t lists_at_once = 4096;
  for (std::size_t from = 0; from < plan.lists.size(); from += lists_at_once) {
    std::vector<PostingList> lists;  // keep their rows until these are copied
    lists.reserve(lists_at_once);
    ListCopies copies;
    for (std::size_t i = from; i < std::min(from + lists_at_once, plan.lists.size()); ++i) {
      const PostingList& list = lists.emplace_back(index.list(plan.lists[i].term));
      if (!is_kept(list)) continue;  // in plans of version 1
      if (!cache_.keep_front(list, plan.lists[i].blocks * ratio, copies)) ++left_out;
    }
    device_->copy(copies);
    progress.add(lists.size());
  }
  progress.finish();
  if (left_out > 0 && index_.division().buffers_lists)
    throw GpuOutOfMemory(index.name() + ": " + std::to_string(left_out) + " of the plan's " +
                         std::to_string(plan.lists.size()) + " lists do not fit in the " +
                         size_text(arenas_of(index_.division()).words * sizeof(std::uint32_t)) +
                         " of GPU memory that list buffers leave to plans; make the plan with the same " +
                         option_name<"plan gpu-memory"> + " and list buffer, lower " + option_name<"list-buffer"> +
                         ", or raise " + option_name<"gpu-memory">);
  if (left_out > 0)
    progress.warn(std::to_string(left_out) + " of the plan's " + std::to_string(plan.lists.size()) +
                  " lists do not fit in the " +
                  size_text(arenas_of(index_.division()).for_fronts().words * sizeof(std::uint32_t)) +
                  " of GPU memory reserved for plans; make the plan with " + option_name<"plan gpu-memory">);
}

void DeviceListStore::Device::set(IndexView& view) const {
  view.postings = view.impacts = words.data();
  if (block_last.size() == 0) return;
  view.block_last = block_last.data();
  view.block_offset = block_offset.data();
  view.block_max = block_max.data();
}

void DeviceListStore::Device::make_wait(const CudaStream& waiting) const {
  // A resident list may still be in transfer for another batch.
  CUDA_CHECK(cudaStreamWaitEvent(waiting, all_copied.handle()));
}

void DeviceListStore::Device::copy(const ListCopies& copies) {
  for (const WordCopy& copy : copies.words)
    mover->add(copy.from.data(), copy.from.size_bytes(), words.data() + copy.to);
  for (const RowCopy& copy : copies.rows) {
    const PostingList& list = *copy.list;
    mover->add(list.block_last.data(), list.block_last.size_bytes(), block_last.data() + copy.to);
    mover->add(list.block_offset.data(), list.block_offset.size_bytes(), block_offset.data() + copy.to);
    mover->add(list.block_max.data(), list.block_max.size_bytes(),
               reinterpret_cast<std::uint32_t*>(block_max.data() + copy.to));
  }
  mover->send();
}

void DeviceListStore::Device::copy_window(std::span<const WordCopy> copies, std::uint64_t count, const Half& half) {
  mover->move_copies(copies, count, words.data() + half.first_word, half.done);
  half.copied.record(mover->stream());
}

std::optional<std::uint64_t> DeviceListStore::Device::place_of(WordView host_words) const {
  if (host_words.empty()) return 0;
  if (!mover->is_pinned(host_words.data(), host_words.size_bytes() + over_read_words * sizeof(std::uint32_t)))
    return std::nullopt;
  // Host and GPU have one address space. Kernels add the distance to the arena's address, modulo 2^64.
  const auto distance = static_cast<std::int64_t>(reinterpret_cast<std::uintptr_t>(host_words.data()) -
                                                  reinterpret_cast<std::uintptr_t>(words.data()));
  return static_cast<std::uint64_t>(distance / static_cast<std::int64_t>(sizeof(std::uint32_t)));
}

void DeviceListStore::Device::begin_copies(unsigned flight) {
  copying.at(flight).clear();
  mover->time_with(&copying.at(flight));
}

void DeviceListStore::Device::end_copies() {
  mover->time_with(nullptr);
  all_copied.record(mover->stream());
}

void DeviceListStore::pin_lists() {
  const IndexReader& index = index_.index();
  std::vector<std::span<const std::uint32_t>> sections = {index.container().array<std::uint32_t>("postings")};
  if (cache_.keeps_impacts()) sections.push_back(index.container().array<std::uint32_t>("impacts"));
  std::uint64_t bytes = 0;
  for (const auto& section : sections) bytes += section.size_bytes();
  // Batches and their results need pinned memory too.
  if (const std::uint64_t allowed = index_.pinned().left() / 4 * 3; bytes > allowed)
    throw OutOfMemory(index.name() + ": direct transfers would pin " + size_text(bytes) + " of host memory, but only " +
                      size_text(allowed) + " is allowed; raise " + option_name<"memory"> + ", or use staged transfers");
  std::vector<std::shared_ptr<const PinnedWords>> pinned;
  for (const auto& section : sections) {
    pinned.push_back(PinnedWords::pin(section));
    if (!pinned.back())
      throw CudaError(index.name() + ": the GPU can't read the mapped file, or the system does not allow pinning " +
                      size_text(bytes) + " of it; use staged transfers");
  }
  index_.pinned().take(MemoryUse::pinned, bytes);
  device_->mover->read_directly(std::move(pinned));
}

void DeviceListStore::choose_transfers() {
  if (transfers_ != ListTransfers::automatic) return;
  const std::uint64_t bytes = coded_list_bytes(index_.index(), cache_.keeps_impacts());
  if (device_->mover->staged_bytes() / copies_before_pinning < bytes) return;
  use_gpu(index_.gpu());
  transfers_ = ListTransfers::staged;
  try {
    pin_lists();
    transfers_ = ListTransfers::direct;
  } catch (const OutOfMemory&) {  // transfers stay staged
  } catch (const CudaError&) {
  }
}

ListCacheCounts DeviceListStore::take_counts() {
  ListCacheCounts counts = cache_.take_counts();
  counts += std::exchange(in_place_, {});
  counts.direct_bytes = device_->mover->take_direct_bytes();
  return counts;
}

void DeviceListStore::open_windows() {
  choose_transfers();
  use_gpu(index_.gpu());
  device_->copy(std::exchange(held_, {}));
  cache_.copied();
}

bool DeviceListStore::can_be_in_place(const WantedList& wanted) const {
  return device_->mover->reads_directly() && index_.division().resident_rows && !cache_.has(*wanted.list);
}

bool DeviceListStore::fit(std::span<const WantedList> lists) const {
  std::uint64_t words = 0, rows = 0;
  for (const WantedList& wanted : lists) {
    if (is_rarely_read(wanted) && can_be_in_place(wanted)) continue;
    words += cache_.words_behind_front(*wanted.list);
    rows += cache_.rows_behind_front(*wanted.list);
  }
  return words <= cache_.free_words() / batches_in_flight && rows <= cache_.free_rows() / batches_in_flight;
}

bool DeviceListStore::read_in_place(const WantedList& wanted) {
  const PostingList& list = *wanted.list;
  if (!can_be_in_place(wanted)) return false;
  const auto words = device_->place_of(list.words);
  const auto impacts = device_->place_of(cache_.keeps_impacts() ? list.impacts : WordView());
  if (!words || !impacts) return false;
  ListView& view = *wanted.view;
  view.first_word = *words;
  view.first_impact_word = *impacts;
  view.front_words = view.tail_begin = static_cast<std::uint32_t>(list.words.size());
  view.front_blocks = ListView().front_blocks;
  ++in_place_.in_place_lists;
  in_place_.in_place_bytes += cache_.bytes_of(list);
  return true;
}

std::vector<WantedList> DeviceListStore::without_rarely_read(std::span<const WantedList> lists) {
  std::vector<WantedList> others;
  others.reserve(lists.size());
  for (const WantedList& wanted : lists)
    if (!is_rarely_read(wanted) || !read_in_place(wanted)) others.push_back(wanted);
  return others;
}

void DeviceListStore::read_largest_in_place(std::vector<WantedList>& lists) {
  const auto words_of = [&](const WantedList& wanted) { return cache_.words_behind_front(*wanted.list); };
  std::sort(lists.begin(), lists.end(),
            [&](const WantedList& a, const WantedList& b) { return words_of(a) > words_of(b); });
  std::uint64_t words = 0;
  for (const WantedList& wanted : lists) words += words_of(wanted);
  std::vector<WantedList> others;
  for (const WantedList& wanted : lists)
    if (words > cache_.free_words() / batches_in_flight && read_in_place(wanted))
      words -= words_of(wanted);
    else
      others.push_back(wanted);
  lists = std::move(others);
}

bool DeviceListStore::acquire(unsigned flight, std::span<const WantedList> lists) {
  choose_transfers();
  // The thread's current GPU may be another.
  use_gpu(index_.gpu());
  ListCopies copies;
  const ListCacheCounts in_place_before = in_place_;
  std::vector<WantedList> copied = without_rarely_read(lists);
  if (!cache_.acquire(flight, copied, copies)) {
    read_largest_in_place(copied);
    if (!cache_.acquire(flight, copied, copies)) {
      in_place_ = in_place_before;
      return false;
    }
  }
  device_->begin_copies(flight);
  device_->copy(copies);
  device_->end_copies();
  return true;
}

double DeviceListStore::copy_us(unsigned flight) const { return device_->copying.at(flight).us(); }

EntryStore::EntryStore(const DeviceIndex& index, std::uint64_t bytes)
    : account_(std::numeric_limits<std::uint64_t>::max(), &index.whole_account()) {
  use_gpu(index.gpu());
  for (;; bytes /= 2) {
    try {
      words_ = DeviceArray<std::uint32_t>(account_, MemoryUse::entries, bytes / sizeof(std::uint32_t));
      break;
    } catch (const GpuOutOfMemory&) {
      if (bytes / 2 < min_bytes) throw;
    }
  }
  // Entries are read four at a time, past the end of a list.
  CUDA_CHECK(cudaMemset(words_.data(), 0, words_.size_bytes()));
  const IndexReader& reader = index.index();
  cache_ = std::make_unique<EntryCache>(words_.size(), num_ranges(reader.num_documents()));
  if (bytes >= all_entry_bytes(reader)) cache_->set_has_all_lists();
}

}  // namespace quern::gpu
