#include "gpu/emulated_gpu.hpp"
//
#include "gpu/host_index.hpp"
#include "gpu/indexed_corpus.hpp"
//
#include <algorithm>
#include <memory>
#include <vector>

#include "quern/gpu/intersect/coded_lists.cuh"
#include "quern/gpu/intersect/intersect_batch.hpp"
#include "quern/gpu/intersect/probing.cuh"
#include "quern/search/intersect.hpp"

#include "catch.hpp"
#include "index/pipeline/query_checks.hpp"
#include "search/read_queries.hpp"

/// The kernels of every intersection method, run by an emulated GPU, give the CPU's results for whole lists and for
/// windows of documents.
namespace quern {
namespace {

using namespace testing;
using gpu::Coding;
using Documents = std::vector<std::vector<docid_t>>;

/// Queries, their lists and the CPU's documents.
struct Asked {
  Asked(const IndexReader& index, const std::vector<std::vector<std::string>>& queries) {
    const Intersection cpu(index, intersection_method_named("merge"), {});
    Intersection::WorkSpace space;
    for (const auto& terms : queries) {
      if (!cpu.find_lists(query_of(terms), space)) continue;
      lists.push_back(space.lists);
      IntersectionAnswer answer;
      cpu.answer(query_of(terms), space, answer);
      documents.push_back(answer.documents);
    }
  }
  std::vector<std::vector<PostingList>> lists;
  Documents documents;
};

/// A batch or one of its windows, with memory for results, which holds garbage at first.
class HostIntersection {
 public:
  HostIntersection(const gpu::IntersectArrays& arrays, const gpu::IndexView& index,
                   std::vector<std::uint32_t>& unpacked)
      : arrays_(arrays), index_(index), results_(arrays.result_words + 4, 0xdeadbeef), counts_(arrays.items, 77) {
    view.lists = arrays.lists.data();
    view.terms = arrays.terms.data();
    view.queries = arrays.queries.data();
    view.raw_docids = arrays.raw_docids.data();
    view.unpack = arrays.unpack.data();
    static_cast<gpu::IntersectSizes&>(view) = arrays;
    view.num_unpack = static_cast<std::uint32_t>(arrays.unpack.size());
    view.num_queries = static_cast<std::uint32_t>(arrays.queries.size());
    view.num_documents = index.num_documents;
    view.end_docid = std::min(arrays.end_docid, index.num_documents);
    view.levels = 2;
    view.unpacked = first_of(unpacked);
    view.results = first_of(results_);
    view.counts = counts_.data();
    view.next_item = next_part_;
  }
  HostIntersection(const HostIntersection&) = delete;
  HostIntersection& operator=(const HostIntersection&) = delete;

  /// Aligned, since four words are read and written at a time.
  static std::uint32_t* first_of(std::vector<std::uint32_t>& words) {
    return words.data() + (16 - reinterpret_cast<std::uintptr_t>(words.data()) % 16) % 16 / 4;
  }

  template <Coding coding, int V>
  void run(gpu::IntersectKernels kernels) {
    using gpu::IntersectKernels;
    unpack<coding, V>();
    if (view.num_queries == 0) return;
    if (kernels == IntersectKernels::batched) {
      emulated::run(view.num_queries, gpu::batched_threads, [&] {
        static gpu::ThreadBlockScan<gpu::batched_threads>::TempStorage temp;
        gpu::answer_batched(view, gpu::ThreadBlockScan<gpu::batched_threads>(temp), blockIdx.x);
      });
      return;
    }
    if (kernels == IntersectKernels::hash_segments) {
      emulated::run(view.num_queries, gpu::plain_threads, [&] {
        static gpu::ThreadBlockScan<gpu::plain_threads>::TempStorage temp;
        gpu::answer_by_hash_segments(view, gpu::ThreadBlockScan<gpu::plain_threads>(temp), blockIdx.x);
      });
      return;
    }
    if (kernels == IntersectKernels::serial) return run_serially();
    static gpu::MergeFindShared<V> shared;
    if (kernels == IntersectKernels::merge_find)
      emulated::run(2, gpu::plain_threads, [&] { gpu::MergeFindBlock<coding, V>(index_, view, shared).run(); });
    else
      emulated::run(2, gpu::plain_threads,
                    [&] { gpu::SkippingWarp<coding, V>(index_, view, own_buffer<coding, V>()).run(); });
    emulated::run(2, gpu::plain_threads, [&] { gpu::probe_items(view); });
  }

  /// The scan is the host's.
  void run_serially() {
    constexpr std::uint32_t tile = 64;
    const auto tiles = [](std::uint32_t items) { return (items + tile - 1) / tile; };
    std::vector<std::uint32_t> memory(gpu::serial_words(arrays_, tiles), 0xdeadbeef);
    gpu::for_each_serial_step(arrays_, view, memory.data(), [&](const gpu::SerialStep& step) {
      const std::uint32_t blocks = (step.size + gpu::batched_threads - 1) / gpu::batched_threads;
      if (blocks > 0) emulated::run(blocks, gpu::batched_threads, [&] { gpu::search_serially(view, step); });
      std::uint32_t found = 0;
      for (std::uint32_t i = 0; i < step.size; ++i) {
        if (i % tile == 0) step.tile_sums[i / tile] = found;
        step.offsets[i] = found - step.tile_sums[i / tile];
        found += step.kept[i];
      }
      *step.count = found;
      if (blocks > 0) emulated::run(blocks, gpu::batched_threads, [&] { gpu::compact_serially(view, step, tile); });
    });
  }

  /// Appends the documents found to each query's results, as packing does.
  void append_to(Documents& documents) const {
    for (std::size_t i = 0; i < arrays_.places.size(); ++i) {
      if (arrays_.places[i] == gpu::IntersectArrays::not_there) continue;
      const gpu::IntersectQuery& query = arrays_.queries[arrays_.places[i]];
      const std::uint32_t end = arrays_.places[i] + 1 < arrays_.queries.size()
                                    ? arrays_.queries[arrays_.places[i] + 1].first_item
                                    : arrays_.items;
      for (std::uint32_t item = query.first_item; item < end; ++item)
        append_item(query, item - query.first_item, counts_[item], documents[i]);
    }
  }

  gpu::IntersectView view;

 private:
  /// The warp's shared memory.
  template <Coding coding, int V>
  static std::uint32_t* own_buffer() {
    static gpu::WarpBuffers<V> buffers;
    return gpu::begin_decoding<coding>(buffers);
  }
  template <Coding coding, int V>
  void unpack() {
    for (const gpu::UnpackTask& task : arrays_.unpack)
      std::fill_n(view.unpacked + task.to.first_word, task.to.words, 0);
    if (view.num_unpack > 0)
      emulated::run(2, gpu::plain_threads,
                    [&] { gpu::unpack_own_blocks<coding, V>(index_, view, own_buffer<coding, V>()); });
    for (std::size_t i = 0; i < arrays_.unpack.size(); ++i) {
      const gpu::UnpackTask& task = arrays_.unpack[i];
      if (task.to.format != gpu::ListFormat::buckets) continue;
      const std::uint64_t next =
          i + 1 < arrays_.unpack.size() ? arrays_.unpack[i + 1].first_entry : arrays_.unpack_entries;
      for (std::uint32_t bucket = 0; bucket < next - task.first_entry; ++bucket)
        view.unpacked[task.to.first_bucket + bucket] = gpu::bucket_start(
            view.unpacked + task.to.first_word, task.postings, task.to.bucket_shift, task.to.first_docid, bucket);
    }
  }
  void append_item(const gpu::IntersectQuery& query, std::uint32_t place, std::uint32_t count,
                   std::vector<docid_t>& documents) const {
    const std::uint64_t first = std::uint64_t{place} * query.item_size;
    const std::uint32_t* words = view.results + query.first_word + first;
    if (query.bits == 0) {
      documents.insert(documents.end(), words, words + count);
      return;
    }
    const std::uint64_t end = std::min<std::uint64_t>(first + query.item_size, gpu::bit_words(view.num_documents));
    for (std::uint64_t bit = 0; bit < 32 * (end - first); ++bit)
      if (words[bit / 32] >> bit % 32 & 1) documents.push_back(static_cast<docid_t>(32 * first + bit));
  }

  const gpu::IntersectArrays& arrays_;
  const gpu::IndexView& index_;
  std::vector<std::uint32_t> results_, counts_;
  std::uint32_t next_part_[3] = {};
};

void require_same(const Documents& found, const Documents& expected) {
  for (std::size_t i = 0; i < expected.size(); ++i) {
    INFO("query " << i << ": " << found[i].size() << " documents, not " << expected[i].size());
    const bool same = found[i] == expected[i];
    REQUIRE(same);
  }
}

void run(const HostIndex& index, const gpu::IntersectArrays& arrays, gpu::IntersectKernels kernels,
         std::vector<std::uint32_t>& unpacked, Documents& found) {
  HostIntersection host(arrays, index.view, unpacked);
  REQUIRE(index.view.block_size <= 4 * gpu::lanes_per_warp);
  gpu::with_coding(index.coding(), [&]<Coding coding>() { host.run<coding, 4>(kernels); });
  host.append_to(found);
}

/// A method, and memory for unpacked lists, which holds garbage at first.
class Subject {
 public:
  Subject(const IndexReader& index, const GpuIntersectionMethod& method)
      : index_(index),
        method_(method),
        lists_(index.num_documents(), unpacked_words),
        unpacked_(unpacked_words + 4, 0xdeadbeef) {
    if (method.any_transfer) sizes_.documents = 0;
    if (method.kernels == gpu::IntersectKernels::merge_find) sizes_.blocks = gpu::merge_find_tile / index.block_size();
  }

  /// Intersects whole lists; unpacked ones stay unpacked.
  void check_whole(const Asked& asked, HostIndex& host) {
    gpu::IntersectBatch batch(index_, lists_, method_.unpacking, sizes_);
    for (const auto& lists : asked.lists) REQUIRE(batch.add(lists));
    batch.finish();
    Documents found(asked.lists.size());
    run(host, batch, method_.kernels, unpacked_, found);
    lists_.release(0);
    REQUIRE(host.damaged() == 0);
    require_same(found, asked.documents);
  }

  /// Intersects window by window, with random fronts of lists in the arena. Returns the number of windows.
  std::size_t check_windows(const Asked& asked, HostIndex& host, RandomBits& random) {
    Documents found(asked.lists.size());
    const std::size_t windows = find_by_windows(asked, host, random, found);
    REQUIRE(host.damaged() == 0);
    require_same(found, asked.documents);
    return windows;
  }

  std::size_t find_by_windows(const Asked& asked, HostIndex& host, RandomBits& random, Documents& found) {
    if (unpacks_all()) lists_.clear();  // windows replace them
    const auto batch = batch_for_windows(asked);
    std::vector<std::pair<std::uint32_t, const PostingList*>> coded;
    for (const gpu::WantedList& wanted : batch->coded_lists())
      coded.emplace_back(batch->number_of(*wanted.list), wanted.list);
    gpu::ListCache cache = host.keep_fronts({{}, coded}, random);
    const gpu::ArenaRoom room = cache.windows();
    const gpu::WindowedBatch windows = cut(asked, cache, random);
    gpu::IntersectWindow window;
    for (std::size_t i = 0; i < windows.size(); ++i) {
      const std::uint64_t first = room.first + i % 2 * (room.words / 2);
      windows.make(i, first, window);
      REQUIRE(window.lists.words <= room.words / 2);
      REQUIRE(window.arrays.unpack_words <= unpacked_words);
      host.fill_arena(first, room.words / 2, window.lists.copies);
      if (unpacks_all()) std::fill(unpacked_.begin(), unpacked_.end(), 0xdeadbeef);
      run(host, window.arrays, method_.kernels, unpacked_, found);
    }
    lists_.release(0);
    return windows.size();
  }

 private:
  static constexpr std::uint64_t unpacked_words = 1 << 21;

  bool unpacks_all() const { return method_.any_transfer; }
  std::unique_ptr<gpu::IntersectBatch> batch_for_windows(const Asked& asked) {
    lists_.release(0);
    auto batch = std::make_unique<gpu::IntersectBatch>(
        index_, lists_, unpacks_all() ? gpu::Unpacking::none : method_.unpacking, sizes_);
    for (const auto& lists : asked.lists) REQUIRE(batch->add(lists));
    batch->finish_for_windows();
    return batch;
  }
  /// Windows of the minimum number of words, or a few times as large.
  gpu::WindowedBatch cut(const Asked& asked, const gpu::ListCache& cache, RandomBits& random) {
    using gpu::ListFormat;
    const ListFormat format = !unpacks_all()                                   ? ListFormat::coded
                              : method_.unpacking == gpu::Unpacking::documents ? ListFormat::documents
                                                                               : ListFormat::buckets;
    const unsigned more = static_cast<unsigned>(random.below(3));
    for (std::uint64_t words = 1024;; words += words / 4) {
      auto batch = batch_for_windows(asked);
      const auto wanted = batch->coded_lists();
      try {
        gpu::WindowedBatch least(std::move(batch), wanted, cache, words, format, unpacked_words);
        if (more == 0) return least;
      } catch (const GpuOutOfMemory&) {
        continue;
      }
      batch = batch_for_windows(asked);
      const auto all = batch->coded_lists();
      return {std::move(batch), all, cache, words << more, format, unpacked_words};
    }
  }

  const IndexReader& index_;
  const GpuIntersectionMethod& method_;
  gpu::ItemSizes sizes_;
  gpu::UnpackedLists lists_;
  std::vector<std::uint32_t> unpacked_;
};

}  // namespace

TEST_CASE("emulated kernels of every method intersect as the CPU does", "[gpu_emulated][intersect][property]") {
  IndexedCorpus corpus(37, {900, 120, 20, false});
  const auto queries = draw_queries(3, corpus.model, 12);
  for (const Codec* codec : all_codecs()) {
    const IndexReader index = corpus.index(coded(*codec, {codec->name == "maskpfd" ? 8u : 64u, 1}));
    const QueryEngine engine(index, {});
    const Asked asked(index, queries);
    for (const GpuIntersectionMethod& method : all_gpu_intersection_methods()) {
      INFO(codec->name << ", " << method.name);
      HostIndex host(engine);
      Subject subject(index, method);
      for (unsigned turn = 0; turn < 3; ++turn) subject.check_whole(asked, host);
    }
  }
}

TEST_CASE("emulated kernels of every method intersect window by window as the CPU does",
          "[gpu_emulated][gpu_store][intersect][property]") {
  // Three ranges of documents.
  IndexedCorpus corpus(59, {33000, 40, 4, false});
  const auto queries = draw_queries(7, corpus.model, 5);
  RandomBits random(53);
  std::size_t windows = 0;
  for (const Codec* codec : codecs_of_slow_tests()) {
    const IndexReader index = corpus.index(coded(*codec, {64, codec->name == "rpfd" ? 2u : 1u}));
    const QueryEngine engine(index, {});
    const Asked asked(index, queries);
    for (const GpuIntersectionMethod& method : all_gpu_intersection_methods()) {
      INFO(codec->name << ", " << method.name);
      HostIndex host(engine), whole(engine);
      Subject subject(index, method);
      windows += subject.check_windows(asked, host, random);
      if (method.unpacking != gpu::Unpacking::frequent) continue;
      // In that case, some lists are unpacked as a whole.
      for (unsigned turn = 0; turn < 2; ++turn) subject.check_whole(asked, whole);
      windows += subject.check_windows(asked, host, random);
    }
  }
  CHECK(windows > 6 * codecs_of_slow_tests().size());  // in 6 batches of each codec
}

TEST_CASE("emulated intersections stay within bounds over damaged windows", "[gpu_emulated][gpu_store][intersect]") {
  IndexedCorpus corpus(57, {33000, 30, 4, false});
  const auto queries = draw_queries(9, corpus.model, 3);
  RandomBits random(51);
  const IndexReader index = corpus.index(coded(*all_codecs().front(), {64, 1}));
  const QueryEngine engine(index, {});
  const Asked asked(index, queries);
  std::uint32_t damaged = 0;
  for (const GpuIntersectionMethod& method : all_gpu_intersection_methods())
    for (unsigned turn = 0; turn < 3; ++turn) {
      HostIndex host(engine);
      host.damage(random);
      Documents found(asked.lists.size());
      Subject(index, method).find_by_windows(asked, host, random, found);
      damaged += host.damaged();
    }
  CHECK(damaged > 0);
}

}  // namespace quern
