#include "gpu/emulated_gpu.hpp"
//
#include "gpu/cut_batch.hpp"
#include "gpu/host_index.hpp"
#include "gpu/indexed_corpus.hpp"
//
#include <array>
#include <iterator>
#include <numeric>
#include <optional>
#include <random>

#include "quern/formats/posting_reader.hpp"
#include "quern/gpu/decode/decode_lists.cuh"
#include "quern/gpu/engine/document_windows.hpp"
#include "quern/gpu/range/entries.cuh"
#include "quern/gpu/range/finish.cuh"
#include "quern/gpu/range/intersection.cuh"
#include "quern/gpu/range/range_lookup.cuh"
#include "quern/gpu/range/union.cuh"
#include "quern/gpu/store/entry_cache.hpp"

#include "catch.hpp"
#include "pipeline/pipeline.hpp"
#include "pipeline/query_checks.hpp"
#include "pipeline/ranked_pages.hpp"

/// The sources of the kernels that answer queries, run by an emulated GPU in the steps in which RangeRun launches them,
/// give the CPU's results.
namespace quern {
namespace {

using namespace testing;
using gpu::Coding;

/// Memory for decoded lists, which holds nonsense at first.
class HostEntries {
 public:
  HostEntries(std::uint64_t words, std::uint32_t ranges) : cache_(words, ranges), words_(words + 8) { forget(); }

  gpu::EntryCache& cache() { return cache_; }
  /// Four entries are read at once.
  std::uint32_t* data() { return words_.data() + (16 - reinterpret_cast<std::uintptr_t>(words_.data()) % 16) % 16 / 4; }
  void forget() { std::fill(words_.begin(), words_.end(), 0xdeadbeef); }
  /// Gives a batch's lists places for their entries.
  void place(gpu::QueryBatch& batch) { REQUIRE(cache_.acquire(0, {batch.lists, batch.coded}, batch.entries_of)); }

 private:
  gpu::EntryCache cache_;
  std::vector<std::uint32_t> words_;
};

/// Memory for the decoded lists of any batch.
HostEntries entries_for(const gpu::QueryBatch& batch) {
  const std::uint32_t ranges = gpu::num_ranges(batch.engine().index().num_documents());
  return {batch.entries + batch.lists.size() * gpu::start_words(ranges), ranges};
}

/// A batch of queries with the memory that RangeRun gives it; memory that a GPU does not initialise holds nonsense.
class HostBatch {
 public:
  HostBatch(const HostIndex& index, const gpu::QueryBatch& batch, std::size_t k, bool with_max)
      : shared_(batch, k), chunks_(gpu::cut_chunks(batch, 5)) {
    const std::size_t queries = batch.queries.size();
    static_cast<gpu::BatchView&>(view) = shared_.view;
    view.chunks = chunks_.data();
    view.num_chunks = static_cast<std::uint32_t>(chunks_.size());
    view.tasks = batch.tasks;
    view.block_size = index.view.block_size;
    view.ranges = (index.view.num_documents + gpu::range_documents - 1) / gpu::range_documents;
    set_static_scores(index);
    view.entries_of = batch.entries_of.lists.empty() ? nullptr : batch.entries_of.lists.data();
    view.blocks = batch.entries_of.blocks;
    view.reads_max = with_max;
    for (const gpu::BatchQuery& query : batch.queries) thresholds_.push_back(gpu::ThresholdKey{query.min_units} << 32);
    view.thresholds = thresholds_.data();
    steps_.assign(queries * gpu::threshold_steps, 0);
    view.steps = steps_.data();
    max_docid_.assign(queries, 0);
    view.max_docid = max_docid_.data();
    view.max_candidates = static_cast<std::uint32_t>(gpu::max_candidates(k));
    candidates_.assign(queries * view.max_candidates, ~gpu::Candidate{5});
    view.candidates = candidates_.data();
    num_candidates_.assign(queries, 0);
    view.num_candidates = num_candidates_.data();
  }

  std::vector<ScoredDocument> results(std::size_t query) const { return shared_.results(query); }
  std::optional<std::uint32_t> min_units_again(std::size_t query) const { return shared_.min_units_again(query); }

  /// Gives the batch the memory for decoded lists.
  void use(HostEntries& entries) { view.entries = entries.data(); }

  /// Prepares the memory for a window, as RangeRun does.
  void begin_window(const gpu::WindowLists& lists) {
    view.lists = lists.lists.data();
    view.first_range = lists.window.first_range;
    view.ranges = lists.window.ranges;
    view.entries_of = lists.entries_of.lists.data();
    view.blocks = lists.entries_of.blocks;
    view.writes_max = view.reads_max;
    *view.next_work = 0;
    num_scored_.resize(num_candidates_.size());
    view.num_scored = num_scored_.data();
  }
  void note_scored() { num_scored_ = num_candidates_; }

  gpu::RangeView view;

 private:
  static std::vector<float> max_of_ranges(std::span<const float> of_documents) {
    std::vector<float> greatest;
    for (std::size_t i = 0; i < of_documents.size(); ++i) {
      if (i % gpu::range_documents == 0) greatest.push_back(of_documents[i]);
      greatest.back() = std::max(greatest.back(), of_documents[i]);
    }
    return greatest;
  }
  void set_static_scores(const HostIndex& index) {
    const ScoringContext context = index.engine().scoring_context();
    range_static_score_ = max_of_ranges(context.static_scores);
    range_upper_bounds_ = max_of_ranges(context.upper_bounds);
    view.static_scores = index.view.static_scores;
    view.range_static_score = range_static_score_.empty() ? nullptr : range_static_score_.data();
    view.range_upper_bounds = range_upper_bounds_.empty() ? nullptr : range_upper_bounds_.data();
  }

  HostBatchView shared_;
  std::vector<gpu::BatchChunk> chunks_;
  std::vector<std::uint32_t> steps_, max_docid_, num_candidates_, num_scored_;
  std::vector<float> range_static_score_, range_upper_bounds_;
  std::vector<gpu::ThresholdKey> thresholds_;
  std::vector<gpu::Candidate> candidates_;
};

/// The ways through the kernels among which RangeRun chooses.
struct Way {
  bool intersect = false, from_lists = false, score_first = false;
  gpu::Pruning pruning = gpu::Pruning::none;
  const gpu::DocumentWindows* windows = nullptr;
  gpu::ArenaPart room{};           ///< of windows
  HostEntries* entries = nullptr;  ///< likewise
};

/// Decodes lists and finds candidates in them.
template <Coding coding, int V, bool quantized>
void find_in_entries(const gpu::IndexView& view, const gpu::RangeView& of, const Way& way) {
  if (of.blocks > 0) {
    emulated::run(2, gpu::plain_threads, [&] { gpu::clear_starts(of); });
    emulated::run(2, gpu::plain_threads, [&] { gpu::write_entries<coding, V, quantized>(view, of); });
  }
  if (way.intersect) {
    emulated::run(1, gpu::plain_threads, [&] { gpu::RangeIntersection(of).run(); });
  } else {
    static gpu::UnionShared shared;
    emulated::run(1, gpu::union_threads, [&] { gpu::UnionBlock(of, shared, way.pruning).run(); });
  }
}

template <Coding coding, int V, bool quantized>
void score_found(const gpu::IndexView& view, const gpu::RangeView& of) {
  emulated::run(2, gpu::plain_threads, [&] { gpu::score_candidates<coding, V, quantized>(view, of); });
}

/// Window by window, each in one half of what is left of the arena.
template <Coding coding, int V, bool quantized>
void run_windows(HostIndex& index, HostBatch& batch, const Way& way, const gpu::DocumentWindows& windows,
                 const gpu::ArenaPart& room) {
  batch.use(*way.entries);
  std::uint64_t first_entry = 0;
  REQUIRE(way.entries->cache().take_room(0, windows.entry_room(), first_entry));
  gpu::WindowLists lists;
  for (std::size_t i = 0; i < windows.size(); ++i) {
    const std::uint64_t first = room.first + i % 2 * (room.words / 2);
    windows.view(i, first, first_entry, lists);
    way.entries->forget();
    REQUIRE(lists.words <= room.words / 2);
    index.fill_arena(first, room.words / 2, lists.parts);
    batch.begin_window(lists);
    find_in_entries<coding, V, quantized>(index.view, batch.view, way);
    if (!way.score_first) continue;
    score_found<coding, V, quantized>(index.view, batch.view);
    batch.note_scored();
  }
}

template <Coding coding, int V, bool quantized>
void run_kernels(HostIndex& index, HostBatch& batch, const Way& way) {
  const gpu::IndexView& view = index.view;
  const gpu::RangeView& of = batch.view;
  using emulated::run;
  if (way.windows != nullptr)
    run_windows<coding, V, quantized>(index, batch, way, *way.windows, way.room);
  else if (way.from_lists)
    run(1, gpu::plain_threads, [&] { gpu::run_intersection<coding, V, quantized>(view, of); });
  else
    find_in_entries<coding, V, quantized>(view, of, way);
  const bool score = way.score_first && !way.from_lists;
  if (score && way.windows == nullptr) score_found<coding, V, quantized>(view, of);
  // As finish_queries() does, whose shared memory is dynamic.
  static gpu::Candidate keys[gpu::many_candidates];
  static std::uint32_t kept, buffers[gpu::finish_threads / gpu::lanes_per_warp * gpu::WarpBuffer<V>::size];
  run(1, gpu::finish_threads, [&] {
    gpu::QueryFinish<coding, V, quantized> finish(view, of, keys, kept, buffers);
    for (std::uint32_t number = 0; number < of.num_queries; ++number) {
      finish.run(number, way.from_lists || score);
      __syncthreads();
    }
  });
}

template <int V, bool quantized>
void run_coding(HostIndex& index, HostBatch& batch, const Way& way) {
  gpu::with_coding(index.coding(), [&]<Coding coding>() { run_kernels<coding, V, quantized>(index, batch, way); });
}

void run_way(HostIndex& index, HostBatch& host, const Way& way) {
  const bool quantized = index.engine().quantizer() != nullptr;
  if (index.view.block_size <= 4 * gpu::lanes_per_warp)
    quantized ? run_coding<4, true>(index, host, way) : run_coding<4, false>(index, host, way);
  else
    quantized ? run_coding<8, true>(index, host, way) : run_coding<8, false>(index, host, way);
}

void check_way(HostIndex& index, const std::vector<std::vector<std::string>>& queries, const QueryAlgorithm& algorithm,
               const Way& way, std::size_t k) {
  const QueryEngine& engine = index.engine();
  BatchQueries asked;
  gpu::QueryBatch batch = batch_of(engine, queries, way.intersect, k, asked);
  const std::vector<std::string>& texts = asked.texts;
  HostEntries entries = entries_for(batch);
  entries.place(batch);
  HostBatch host(index, batch, k, way.pruning == gpu::Pruning::blocks);
  host.use(entries);
  run_way(index, host, way);
  REQUIRE(index.damaged() == 0);
  Analyzer analyzer = engine.make_analyzer();
  for (std::size_t i = 0; i < texts.size(); ++i) {
    INFO(algorithm.name << ", k " << k << ", from lists " << way.from_lists << ", scored first " << way.score_first
                        << ", query " << texts[i]);
    require_same(host.results(i), engine.search(texts[i], algorithm, k, analyzer));
  }
}

/// The same with lists in arenas and in parts.
void check_moved_lists(const QueryEngine& engine, const std::vector<std::vector<std::string>>& queries,
                       RandomBits& random) {
  for (const Way& way : {Way{false, false, true, gpu::Pruning::blocks}, Way{true, false}, Way{true, true}}) {
    HostIndex index(engine);
    BatchQueries asked;
    gpu::QueryBatch batch = batch_of(engine, queries, way.intersect, 10, asked);
    const std::vector<std::string>& texts = asked.texts;
    index.move_lists(batch, random);
    HostEntries entries = entries_for(batch);
    entries.place(batch);
    HostBatch host(index, batch, 10, true);
    host.use(entries);
    run_way(index, host, way);
    REQUIRE(index.damaged() == 0);
    Analyzer analyzer = engine.make_analyzer();
    for (std::size_t i = 0; i < texts.size(); ++i) {
      INFO("intersect " << way.intersect << ", from lists " << way.from_lists << ", query " << texts[i]);
      require_same(host.results(i),
                   engine.search(texts[i], algorithm_named(way.intersect ? "and" : "or"), 10, analyzer));
    }
  }
}

/// Windows for a batch's lists besides the fronts that are kept, as few or as many as random limits allow.
class WindowsOfBatch {
 public:
  WindowsOfBatch(gpu::ListCache& cache, const gpu::QueryBatch& batch, RandomBits& random) {
    room_ = cache.take_room().value();
    gpu::WindowLimits limits{room_.words / 2, ~std::uint64_t{0}, 1};
    const gpu::WindowLimits least = gpu::DocumentWindows(batch, cache, limits).largest();
    limits.words = least.words + random.below(2 * least.words + 1);
    limits.entries = least.entries + random.below(2 * least.entries);
    limits.ranges = static_cast<std::uint32_t>(1 + random.below(3));
    windows_.emplace(batch, cache, limits);
    entries_.emplace(windows_->entry_room(), 0);
  }
  Way way(Way of) {
    of.entries = &*entries_;
    of.windows = &*windows_;
    of.room = room_;
    return of;
  }

 private:
  gpu::ArenaPart room_;
  std::optional<gpu::DocumentWindows> windows_;
  std::optional<HostEntries> entries_;
};

void check_windows(const QueryEngine& engine, const std::vector<std::vector<std::string>>& queries,
                   RandomBits& random) {
  Analyzer analyzer = engine.make_analyzer();
  for (const Way& of :
       {Way{false, false, true, gpu::Pruning::blocks}, Way{true, false, true}, Way{false, false, true}}) {
    // Queries with too many candidates run again, as on a GPU, unless that is of no use.
    std::vector<std::uint32_t> min_units(queries.size());
    bool again = true;
    std::size_t left_to_cpu = 0;
    for (unsigned run = 0; again && run < 4; ++run) {
      again = false;
      left_to_cpu = 0;
      HostIndex index(engine);
      BatchQueries asked;
      const gpu::QueryBatch batch = batch_of(engine, queries, of.intersect, 10, asked, min_units);
      gpu::ListCache cache = index.keep_fronts(batch, random);
      WindowsOfBatch windows(cache, batch, random);
      HostBatch host(index, batch, 10, of.pruning == gpu::Pruning::blocks);
      run_way(index, host, windows.way(of));
      REQUIRE(index.damaged() == 0);
      for (std::size_t i = 0; i < asked.texts.size(); ++i) {
        INFO("intersect " << of.intersect << ", pruning " << static_cast<int>(of.pruning) << ", run " << run
                          << ", query " << asked.texts[i]);
        if (const auto least = host.min_units_again(i)) {
          again |= *least > min_units[i];
          min_units[i] = *least;
          ++left_to_cpu;
          continue;
        }
        require_same(host.results(i),
                     engine.search(asked.texts[i], algorithm_named(of.intersect ? "and" : "or"), 10, analyzer));
      }
    }
    CHECK(left_to_cpu * 2 <= queries.size());
  }
}

/// With no more of some lists than random fronts, after which the CPU goes on, by windows of documents.
void check_fronts_by_windows(const QueryEngine& engine, const std::vector<std::vector<std::string>>& queries,
                             RandomBits& random, QueryEnds& ends) {
  HostIndex index(engine);
  CutBatch cut(index, queries, 10, random, true);
  WindowsOfBatch windows(cut.cache(), cut.batch(), random);
  HostBatch host(index, cut.batch(), 10, false);
  run_way(index, host, windows.way({true, false, true}));
  REQUIRE(index.damaged() == 0);
  cut.check(host, ends);
}

/// With no more of most lists than random fronts, after which the CPU goes on; k differs from way to way.
void check_fronts(const QueryEngine& engine, const std::vector<std::vector<std::string>>& queries, RandomBits& random,
                  QueryEnds& ends) {
  std::size_t k = 1;
  for (const Way& way : {Way{true, false}, Way{true, false, true}, Way{true, true}}) {
    HostIndex index(engine);
    CutBatch cut(index, queries, k, random);
    HostEntries entries = entries_for(cut.batch());
    entries.place(cut.batch());
    HostBatch host(index, cut.batch(), k, false);
    host.use(entries);
    run_way(index, host, way);
    REQUIRE(index.damaged() == 0);
    INFO("from lists " << way.from_lists << ", scored first " << way.score_first);
    cut.check(host, ends);
    k *= 7;
  }
}

void check_all_ways(const QueryEngine& engine, const std::vector<std::vector<std::string>>& queries) {
  HostIndex index(engine);
  check_way(index, queries, algorithm_named("or"), {false, false, false, gpu::Pruning::none}, 50);
  check_way(index, queries, algorithm_named("bmw"), {false, false, true, gpu::Pruning::blocks}, 3);
  check_way(index, queries, algorithm_named("and"), {true, false, false, gpu::Pruning::none}, 10);
  check_way(index, queries, algorithm_named("and"), {true, true, false, gpu::Pruning::none}, 10);
}

/// Decodes all lists with block rows to memory, by two thread blocks, and compares them with the CPU's.
template <Coding coding>
void check_decoding(const HostIndex& index) {
  const IndexReader& reader = index.engine().index();
  std::vector<gpu::ListView> views;
  std::vector<std::uint64_t> first_posting, first_block{0};
  std::vector<PostingList> lists;
  std::uint64_t end = 0;
  for (std::uint64_t block = 0; block < reader.num_lexicon_blocks(); ++block)
    reader.for_each_list(block, [&](std::string_view, const PostingList& list) {
      if (list.block_last.empty()) return;
      lists.push_back(list);
      views.push_back(gpu::coded_view(reader, list));
      first_posting.push_back(end);
      first_block.push_back(first_block.back() + list.block_last.size());
      end += (list.df + 3) / 4 * 4;
    });
  REQUIRE(!lists.empty());
  // Four postings are stored at once.
  std::vector<uint4> docids(end / 4, uint4{7, 7, 7, 7}), freqs = docids;
  gpu::DecodeOutput out;
  out.docids = &docids.data()->x;
  out.freqs = &freqs.data()->x;
  out.first_posting = first_posting.data();
  out.first_block = first_block.data();
  out.end_block = first_block.back();
  const auto num_lists = static_cast<std::uint32_t>(lists.size());
  gpu::with_lanes_per_block<coding>(index.view.block_size, [&]<int V, int L>() {
    emulated::run(2, gpu::plain_threads, [&] {
      if (index.view.block_size == V * L)
        gpu::decode_own_blocks<coding, V, L, true>(index.view, views.data(), num_lists, out);
      else
        gpu::decode_own_blocks<coding, V, L, false>(index.view, views.data(), num_lists, out);
    });
  });
  REQUIRE(index.damaged() == 0);
  for (std::size_t i = 0; i < lists.size(); ++i) {
    BlockReader blocks(reader, lists[i]);
    std::uint64_t at = first_posting[i];
    for (std::size_t block = 0; block < blocks.num_blocks(); ++block) {
      blocks.load(block);
      bool same = true;
      for (unsigned j = 0; j < blocks.size(); ++j, ++at)
        same &= out.docids[at] == blocks.docids()[j] && out.freqs[at] == blocks.freqs()[j];
      INFO("list " << i << ", block " << block);
      REQUIRE(same);
    }
  }
}

}  // namespace

TEST_CASE("emulated kernels decode what the CPU does", "[gpu_emulated][codec][property]") {
  for (const unsigned block_size : {2u, 64u, 128u, 256u, 512u}) {
    const docid_t several_blocks = block_size == 2 ? 120 : 1400;
    IndexedCorpus corpus(41, {several_blocks, 70, 20, false});
    for (const Codec* codec : all_codecs()) {
      for (const unsigned recursion : {1u, 2u}) {
        if (recursion != 1 && codec->name() != "rpfd") continue;
        const BuildOptions options = coded(*codec, {block_size, recursion});
        INFO(coding_text(options));
        const IndexReader index = corpus.index(options);
        const QueryEngine engine(index, {});
        const HostIndex host(engine);
        gpu::with_coding(host.coding(), [&]<Coding coding>() { check_decoding<coding>(host); });
      }
    }
  }
}

TEST_CASE("an emulated warp finds the entries of documents in a list, and no others", "[gpu_emulated][property]") {
  std::mt19937 random(7);
  for (const std::uint32_t count : {1u, 2u, 3u, 31u, 32u, 33u, 64u, 65u, 100u, 1000u, 5000u, gpu::range_documents}) {
    INFO(count);
    std::vector<std::uint32_t> all(gpu::range_documents), documents;
    std::iota(all.begin(), all.end(), 0u);
    std::sample(all.begin(), all.end(), std::back_inserter(documents), count, random);
    std::vector<std::uint32_t> entries;
    for (const std::uint32_t document : documents) entries.push_back(document << 16 | (random() & 0xffff));
    for (unsigned turn = 0; turn < 20; ++turn) {
      std::array<std::uint32_t, gpu::lanes_per_warp> asked{}, found{};
      for (std::uint32_t& document : asked)
        document = random() % 2 == 0 ? documents[random() % count] : static_cast<std::uint32_t>(random() % all.size());
      emulated::run(1, gpu::lanes_per_warp, [&] {
        const unsigned lane = gpu::lane_id();
        found[lane] = gpu::entry_of(entries.data(), count, asked[lane], lane % 7 != 3);
      });
      for (unsigned lane = 0; lane < gpu::lanes_per_warp; ++lane) {
        if (lane % 7 == 3) continue;
        const auto place = std::lower_bound(documents.begin(), documents.end(), asked[lane]) - documents.begin();
        const bool there = std::size_t(place) < documents.size() && documents[std::size_t(place)] == asked[lane];
        REQUIRE((found[lane] >> 16 == asked[lane]) == there);
        if (there) REQUIRE(found[lane] == entries[std::size_t(place)]);
      }
    }
  }
}

TEST_CASE("emulated kernels give the CPU's results over every codec", "[gpu_emulated][property]") {
  IndexedCorpus corpus(31, {700, 90, 24, false});
  const auto queries = draw_queries(3, corpus.model, 9);
  for (const Codec* codec : all_codecs()) {
    for (const CodecOptions& coding : {CodecOptions{8, 1}, CodecOptions{128, 2}, CodecOptions{256, 1}}) {
      if (coding.recursion != 1 && codec->name() != "rpfd") continue;
      const BuildOptions options = coded(*codec, coding, coding.block_size == 8 ? 8 : 0);
      INFO(coding_text(options));
      const IndexReader index = corpus.index(options);
      check_all_ways(QueryEngine(index, {}), queries);
      if (options.quantize_bits == 0) continue;
      ScoringOptions scoring;
      scoring.scores = Scores::quantized;
      check_all_ways(QueryEngine(index, scoring), queries);
    }
  }
}

TEST_CASE("emulated kernels give the CPU's results for lists in two parts", "[gpu_emulated][gpu_store][property]") {
  IndexedCorpus corpus(43, {700, 90, 24, false});
  const auto queries = draw_queries(3, corpus.model, 9);
  RandomBits random(47);
  for (const Codec* codec : all_codecs()) {
    for (const CodecOptions& coding : {CodecOptions{8, 1}, CodecOptions{64, 2}, CodecOptions{128, 1}}) {
      if (coding.recursion != 1 && codec->name() != "rpfd") continue;
      const BuildOptions options = coded(*codec, coding, coding.block_size == 64 ? 0 : 8);
      INFO(coding_text(options));
      const IndexReader index = corpus.index(options);
      check_moved_lists(QueryEngine(index, {}), queries, random);
      if (options.quantize_bits == 0) continue;
      ScoringOptions scoring;
      scoring.scores = Scores::quantized;
      check_moved_lists(QueryEngine(index, scoring), queries, random);
    }
  }
}

TEST_CASE("emulated kernels give the CPU's results whatever the order of threads", "[gpu_emulated][property]") {
  IndexedCorpus corpus(71, {600, 80, 20, false});
  const auto queries = draw_queries(11, corpus.model, 7);
  RandomBits random(73);
  for (std::uint64_t seed = 1; seed <= 4; ++seed) {
    const emulated::RandomOrder order(seed);
    INFO("order " << seed);
    const Codec& codec = *all_codecs()[seed % all_codecs().size()];
    const IndexReader index =
        corpus.index(coded(codec, {seed % 2 == 0 ? 16u : 64u, codec.name() == "rpfd" ? 2u : 1u}, 8));
    check_all_ways(QueryEngine(index, {}), queries);
    check_moved_lists(QueryEngine(index, {}), queries, random);
    ScoringOptions scoring;
    scoring.scores = Scores::quantized;
    check_all_ways(QueryEngine(index, scoring), queries);
  }
}

TEST_CASE("emulated kernels give the CPU's results window by window", "[gpu_emulated][gpu_store][property]") {
  // Three ranges of documents.
  IndexedCorpus corpus(59, {33000, 40, 4, false});
  const auto queries = draw_queries(7, corpus.model, 6);
  RandomBits random(53);
  for (const Codec* codec : all_codecs()) {
    const BuildOptions options = coded(*codec, {64, codec->name() == "rpfd" ? 2u : 1u}, 8);
    INFO(coding_text(options));
    const IndexReader index = corpus.index(options);
    ScoringOptions scoring;
    if (codec->name() != "rice") scoring.scores = Scores::quantized;
    check_windows(QueryEngine(index, scoring), queries, random);
    if (codec->name() == "newpfd") check_windows(QueryEngine(index, {}), queries, random);
  }
}

TEST_CASE("emulated kernels over fronts of lists give the CPU's results once it has gone on from there",
          "[gpu_emulated][gpu_store][property]") {
  RandomBits random(61);
  IndexedCorpus corpus(61, {700, 90, 24, false});
  const auto queries = draw_queries(3, corpus.model, 14);
  QueryEnds plain;
  ScoringOptions quantized;
  quantized.scores = Scores::quantized;
  for (const Codec* codec : all_codecs()) {
    for (const CodecOptions& coding : {CodecOptions{8, 1}, CodecOptions{128, 1}}) {
      const IndexReader index = corpus.index(coded(*codec, coding, 8));
      INFO(index.codec().name() << ", blocks of " << coding.block_size);
      check_fronts(QueryEngine(index, {}), queries, random, plain);
      check_fronts(QueryEngine(index, quantized), queries, random, plain);
    }
  }
  CHECK(plain.whole > 20);
  CHECK(plain.resumed > 50);
  CHECK(plain.run_again == 0);

  QueryEnds early;
  RankedPages pages(67, {400, 60, 14, false});
  for (const double alpha : {0.3, 1.0}) {
    const DocumentOrder order = pages.order(OrderBy::score, alpha);
    const auto of_pages = draw_queries(17, ModelIndex(pages.documents, order.documents), 20);
    const IndexReader index = pages.index(order, alpha, blocks_of(8));
    for (unsigned turn = 0; turn < 4; ++turn)
      check_fronts(QueryEngine(index, with_pagerank(alpha)), of_pages, random, early);
  }
  CHECK(early.ended_on_front > 50);
  CHECK(early.resumed > 20);
}

TEST_CASE("emulated kernels over fronts of lists give the CPU's results window by window",
          "[gpu_emulated][gpu_store][property]") {
  RandomBits random(79);
  IndexedCorpus corpus(59, {33000, 40, 4, false});  // three ranges of documents
  const auto queries = draw_queries(7, corpus.model, 8);
  QueryEnds ends;
  const IndexReader index = corpus.index(coded(*all_codecs().front(), {64, 1}, 8));
  ScoringOptions quantized;
  quantized.scores = Scores::quantized;
  for (unsigned turn = 0; turn < 3; ++turn)
    check_fronts_by_windows(QueryEngine(index, quantized), queries, random, ends);
  CHECK(ends.resumed > 5);
  CHECK(ends.run_again < ends.resumed);
}

TEST_CASE("emulated kernels stay within bounds over damaged windows", "[gpu_emulated][gpu_store]") {
  IndexedCorpus corpus(57, {33000, 30, 4, false});
  const auto queries = draw_queries(9, corpus.model, 3);
  RandomBits random(51);
  const IndexReader index = corpus.index(coded(*all_codecs().front(), {64, 1}, 8));
  const QueryEngine engine(index, {});
  std::uint32_t found = 0;
  for (unsigned i = 0; i < 4; ++i) {
    HostIndex damaged(engine);
    damaged.damage(random);
    BatchQueries asked;
    const gpu::QueryBatch batch = batch_of(engine, queries, i % 2 == 0, 10, asked);
    gpu::ListCache cache = damaged.keep_fronts(batch, random);
    WindowsOfBatch windows(cache, batch, random);
    HostBatch host(damaged, batch, 10, true);
    run_way(damaged, host, windows.way({i % 2 == 0, false, true, gpu::Pruning::blocks}));
    found += damaged.damaged();
  }
  CHECK(found > 0);
}

TEST_CASE("emulated kernels stay within bounds over damaged lists", "[gpu_emulated]") {
  IndexedCorpus corpus(37, {500, 60, 24, false});
  const auto queries = draw_queries(5, corpus.model, 9);
  RandomBits random(11);
  for (const Codec* codec : all_codecs()) {
    for (const CodecOptions& coding : {CodecOptions{8, 2}, CodecOptions{256, 1}}) {
      const BuildOptions options = coded(*codec, coding);
      INFO(coding_text(options));
      const IndexReader index = corpus.index(options);
      const QueryEngine engine(index, {});
      std::uint32_t found = 0;
      for (unsigned i = 0; i < 4; ++i) {
        HostIndex damaged(engine);
        damaged.damage(random);
        // Sanitizers check what is not asserted here.
        for (const Way& way : {Way{false, false, i % 2 == 0, gpu::Pruning::blocks}, Way{true, true}}) {
          BatchQueries asked;
          gpu::QueryBatch batch = batch_of(engine, queries, way.intersect, 10, asked);
          HostEntries entries = entries_for(batch);
          entries.place(batch);
          HostBatch host(damaged, batch, 10, true);
          host.use(entries);
          run_way(damaged, host, way);
        }
        found += damaged.damaged();
      }
      CHECK(found > 0);
    }
  }
}

TEST_CASE("emulated kernels give the CPU's results with PageRank", "[gpu_emulated][property]") {
  RankedPages pages(67, {400, 60, 14, false});
  for (const double alpha : {0.3, 1.0}) {
    const DocumentOrder order = pages.order(OrderBy::score, alpha);
    const auto queries = draw_queries(17, ModelIndex(pages.documents, order.documents), 9);
    const IndexReader index = pages.index(order, alpha, blocks_of(8));
    check_all_ways(QueryEngine(index, with_pagerank(alpha)), queries);
  }
}

}  // namespace quern
