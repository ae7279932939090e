#include "quern/core/random.hpp"
#include "quern/formats/posting_reader.hpp"
#include "quern/gpu/device/device_memory.cuh"
#include "quern/gpu/intersect/merge_find.hpp"
#include "quern/gpu/range/range_kernels.hpp"
#include "quern/gpu/store/list_cache.hpp"
#include "quern/lab/gpu/decode_bench.hpp"
#include "quern/lab/measuring.hpp"

namespace quern::gpu {
namespace {

/// Maximum number of a group's lists decoded one at a time.
constexpr std::size_t max_single_lists = 64;

/// The lists to decode, and the offsets of their postings in the output.
struct Lists {
  std::vector<PostingList> host;
  std::vector<ListView> views;
  std::vector<std::uint64_t> first_posting, first_block;
  DecodeFigures figures;

  std::size_t size() const { return first_posting.back() + host.back().df; }
};

Lists lists_of(const IndexReader& index, const ListLengths& lengths, std::uint64_t max_postings) {
  Lists lists;
  lists.figures.lengths = lengths;
  for (std::uint64_t block = 0; block < index.num_lexicon_blocks(); ++block)
    index.for_each_list(block, [&](std::string_view, const PostingList& list) {
      DecodeFigures& figures = lists.figures;
      if (list.df < lengths.from || (lengths.to != 0 && list.df >= lengths.to) || list.block_last.empty() ||
          figures.postings + list.df > max_postings)
        return;
      const ListView& view = lists.views.emplace_back(coded_view(index, list));
      // Each list's output is aligned to 16 bytes, for stores of four numbers.
      const std::uint64_t first =
          lists.host.empty() ? 0 : lists.first_posting.back() + (lists.host.back().df + 3) / 4 * 4;
      lists.host.push_back(list);
      lists.first_posting.push_back(first);
      lists.first_block.push_back(figures.blocks);
      figures.blocks += view.rows;
      figures.postings += list.df;
      figures.coded_bytes += list.words.size_bytes() + list.block_last.size_bytes() + list.block_offset.size_bytes();
      ++figures.lists;
    });
  lists.first_block.push_back(lists.figures.blocks);
  return lists;
}

template <class T>
DeviceArray<T> on_device(const std::vector<T>& from, const CudaStream& stream) {
  DeviceArray<T> to(from.size());
  copy_to_device(to.data(), from.data(), from.size(), stream);
  return to;
}

using Decoded = std::vector<std::uint32_t>;

void compare(const IndexReader& index, const Lists& lists, const Decoded& docids, const Decoded& distances,
             const Decoded& freqs) {
  for (std::size_t i = 0; i < lists.host.size(); ++i) {
    BlockReader reader(index, lists.host[i]);
    std::uint64_t at = lists.first_posting[i];
    docid_t before = end_docid;
    for (std::size_t block = 0; block < reader.num_blocks(); ++block, at += index.block_size()) {
      reader.load(block);
      const auto wanted = reader.docids();
      const auto wanted_freqs = reader.freqs();
      std::vector<docid_t> wanted_distances;
      for (const docid_t docid : wanted) wanted_distances.push_back(docid - std::exchange(before, docid));
      if (!std::equal(wanted.begin(), wanted.end(), docids.begin() + static_cast<std::ptrdiff_t>(at)) ||
          !std::equal(wanted_distances.begin(), wanted_distances.end(),
                      distances.begin() + static_cast<std::ptrdiff_t>(at)) ||
          !std::equal(wanted_freqs.begin(), wanted_freqs.end(), freqs.begin() + static_cast<std::ptrdiff_t>(at)))
        throw Error(index.name() + ": the GPU and the CPU decode block " + std::to_string(block) + " of list " +
                    std::to_string(lists.host[i].number) + " differently; please report this");
    }
  }
}

/// A group's lists on the device, and the measurement of their decoding.
class GroupBench {
 public:
  GroupBench(const IndexReader& index, const DeviceIndex::Device& device, Lists lists)
      : index_(index),
        device_(device),
        lists_(std::move(lists)),
        views_(on_device(lists_.views, stream_)),
        first_posting_(on_device(lists_.first_posting, stream_)),
        first_block_(on_device(lists_.first_block, stream_)),
        docids_(lists_.size()),
        freqs_(lists_.size()),
        scratch_(device.scratch_words),
        damaged_(1),
        view_(device.view) {
    view_.scratch = scratch_.data();
    view_.damaged = damaged_.data();
  }

  /// Decodes once over garbage, and compares with the CPU.
  void check() {
    CUDA_CHECK(cudaMemsetAsync(docids_.data(), 0xa5, docids_.size_bytes(), stream_));
    CUDA_CHECK(cudaMemsetAsync(freqs_.data(), 0xa5, freqs_.size_bytes(), stream_));
    fill_zero(damaged_.data(), 1, stream_);
    decode(freqs_.data());
    Decoded docids(docids_.size()), distances(docids_.size()), freqs(freqs_.size()), damaged(1);
    copy_to_host(docids.data(), docids_.data(), docids.size(), stream_);
    copy_to_host(freqs.data(), freqs_.data(), freqs.size(), stream_);
    CUDA_CHECK(cudaMemsetAsync(docids_.data(), 0xa5, docids_.size_bytes(), stream_));
    decode(nullptr, true);
    copy_to_host(distances.data(), docids_.data(), distances.size(), stream_);
    copy_to_host(damaged.data(), damaged_.data(), 1, stream_);
    stream_.wait();
    if (damaged[0] > 0)
      throw CorruptFile(index_.name() + ": " + std::to_string(damaged[0]) +
                        " blocks can't be decoded on the GPU; quern verify shows which");
    compare(index_, lists_, docids, distances, freqs);
  }

  DecodeFigures measure(unsigned repeats, Progress& progress) {
    std::vector<double> docids_us, distances_us, both_us, copy_us, single_us;
    for (unsigned i = 0; i < repeats; ++i) {
      docids_us.push_back(time_us(stream_, [&] { decode(nullptr); }));
      distances_us.push_back(time_us(stream_, [&] { decode(nullptr, true); }));
      both_us.push_back(time_us(stream_, [&] { decode(freqs_.data()); }));
      copy_us.push_back(time_us(stream_, [&] {
        CUDA_CHECK(
            cudaMemcpyAsync(freqs_.data(), docids_.data(), docids_.size_bytes(), cudaMemcpyDeviceToDevice, stream_));
      }));
      single_us.push_back(time_us(stream_, [&] { decode_singly(); }));
      progress.add(1);
    }
    DecodeFigures figures = lists_.figures;
    figures.docids_us = median(docids_us);
    figures.distances_us = median(distances_us);
    figures.both_us = median(both_us);
    figures.copy_bytes_per_s = 2e6 * static_cast<double>(docids_.size_bytes()) / median(copy_us);
    figures.single_us = median(single_us);
    for (std::size_t i = 0; i < lists_.host.size(); i += single_step()) {
      ++figures.single_lists;
      figures.single_postings += lists_.host[i].df;
    }
    return figures;
  }

 private:
  void decode(std::uint32_t* freqs_to, bool distances = false) const {
    launch({docids_.data(), freqs_to, first_posting_.data(), first_block_.data(), lists_.figures.blocks, 0, distances},
           0, lists_.views.size());
  }
  /// Decodes every single_step()-th list by one launch each. Block numbers may begin anywhere, since the kernel uses
  /// only their differences.
  void decode_singly() const {
    for (std::size_t i = 0; i < lists_.host.size(); i += single_step())
      launch({docids_.data(), nullptr, first_posting_.data() + i, first_block_.data() + i, lists_.first_block[i + 1],
              lists_.first_block[i]},
             i, 1);
  }
  std::size_t single_step() const { return (lists_.host.size() + max_single_lists - 1) / max_single_lists; }

  void launch(const DecodeOutput& out, std::size_t first_list, std::size_t num_lists) const {
    with_coding(device_.coding, [&]<Coding coding>() {
      RangeKernels<coding>::decode(view_, views_.data() + first_list, static_cast<std::uint32_t>(num_lists), out,
                                   stream_);
    });
  }

  const IndexReader& index_;
  const DeviceIndex::Device& device_;
  CudaStream stream_;
  Lists lists_;
  DeviceArray<ListView> views_;
  DeviceArray<std::uint64_t> first_posting_, first_block_;
  DeviceArray<std::uint32_t> docids_, freqs_, scratch_, damaged_;
  IndexView view_;
};

}  // namespace

std::vector<DecodeFigures> measure_decoding(const IndexReader& index, const DecodeBenchOptions& options,
                                            Progress& progress) {
  check_decode_options(options);
  const QueryEngine engine(index, {});
  const DeviceIndex device_index(engine, options.gpu, {}, progress);
  if (!device_index.division().whole_index)
    throw GpuOutOfMemory(index.name() + ": the benchmark needs a GPU whose memory holds the whole index");
  std::vector<DecodeFigures> figures;
  progress.start("decode", options.groups.size() * options.repeats, "passes");
  for (const ListLengths& lengths : options.groups) {
    Lists lists = lists_of(index, lengths, options.max_postings);
    if (lists.host.empty()) {
      progress.add(options.repeats);
      continue;
    }
    GroupBench bench(index, device_index.device(), std::move(lists));
    bench.check();
    figures.push_back(bench.measure(options.repeats, progress));
  }
  progress.finish();
  if (figures.empty()) throw InvalidArgument(index.name() + ": has no list of these lengths");
  return figures;
}

namespace {

constexpr std::uint32_t mean_gap = 16, max_elements = 1u << 27;

__global__ void __launch_bounds__(plain_threads)
    run_pass(MergeFindPasses passes, unsigned pass, const std::uint32_t* a, std::uint32_t a_count,
             const std::uint32_t* b, std::uint32_t b_count, std::uint32_t* found) {
  const std::uint64_t i = (std::uint64_t{blockIdx.x} * blockDim.x + threadIdx.x) * passes.stride(pass);
  if (i >= a_count || passes.looked_up(static_cast<std::uint32_t>(i), pass)) return;
  found[i] = merge_find(passes, pass, a, a_count, static_cast<std::uint32_t>(i), b, b_count, found);
}

/// `count` ascending docIDs, spread about evenly below `limit`.
std::vector<std::uint32_t> rising_docids(RandomBits& random, std::uint32_t count, std::uint64_t limit) {
  std::vector<std::uint32_t> docids(count);
  const std::uint64_t max_gap = std::max<std::uint64_t>(2 * (limit / count) - 1, 1);
  std::uint64_t docid = 0;
  for (std::uint32_t& each : docids) each = static_cast<std::uint32_t>(docid += 1 + random.below(max_gap));
  return docids;
}

class MergeFindLists {
 public:
  MergeFindLists(const MergeFindFigures& lengths, std::uint64_t seed) {
    RandomBits random(seed);
    const std::uint64_t limit = std::uint64_t{std::max(lengths.elements, lengths.in)} * mean_gap;
    host_a_ = rising_docids(random, lengths.elements, limit);
    host_b_ = rising_docids(random, lengths.in, limit);
    a_ = DeviceArray<std::uint32_t>(host_a_.size());
    b_ = DeviceArray<std::uint32_t>(host_b_.size());
    found_ = DeviceArray<std::uint32_t>(host_a_.size());
    copy_to_device(a_.data(), host_a_.data(), host_a_.size(), stream_);
    copy_to_device(b_.data(), host_b_.data(), host_b_.size(), stream_);
  }

  /// Microseconds.
  double find(unsigned levels) const {
    const auto count = static_cast<std::uint32_t>(host_a_.size());
    const MergeFindPasses passes(count, levels);
    return time_us(stream_, [&] {
      for (unsigned pass = 0; pass < passes.passes(); ++pass) {
        const std::uint32_t searches = (count - 1) / passes.stride(pass) + 1;
        launch(run_pass, (searches - 1) / plain_threads + 1, plain_threads, 0, stream_, passes, pass, a_.data(), count,
               b_.data(), static_cast<std::uint32_t>(host_b_.size()), found_.data());
      }
    });
  }

  void check(unsigned levels) const {
    CUDA_CHECK(cudaMemsetAsync(found_.data(), 0xa5, found_.size_bytes(), stream_));
    find(levels);
    std::vector<std::uint32_t> found(host_a_.size());
    copy_to_host(found.data(), found_.data(), found.size(), stream_);
    stream_.wait();
    auto place = host_b_.begin();
    for (std::size_t i = 0; i < found.size(); ++i) {
      place = std::find_if(place, host_b_.end(), [&](std::uint32_t docid) { return docid >= host_a_[i]; });
      if (found[i] != static_cast<std::uint64_t>(place - host_b_.begin()))
        throw Error("merge find with " + std::to_string(levels) + " levels finds a different position for element " +
                    std::to_string(i) + " than the CPU; please report this");
    }
  }

 private:
  CudaStream stream_;
  std::vector<std::uint32_t> host_a_, host_b_;
  DeviceArray<std::uint32_t> a_, b_, found_;
};

}  // namespace

std::vector<MergeFindFigures> measure_merge_find(std::span<const MergeFindFigures> lengths,
                                                 const MergeFindBenchOptions& options, Progress& progress) {
  check_merge_find_options(options);
  CUDA_CHECK(cudaSetDevice(static_cast<int>(options.gpu)));
  std::vector<MergeFindFigures> all(lengths.begin(), lengths.end());
  progress.start("find", all.size(), "pairs of lists");
  for (MergeFindFigures& figures : all) {
    if (std::min(figures.elements, figures.in) == 0 || std::max(figures.elements, figures.in) > max_elements)
      throw InvalidArgument("lists must have 1 to " + std::to_string(max_elements) + " docIDs");
    const MergeFindLists lists(figures, options.seed);
    figures.us.clear();
    for (unsigned levels = 0; levels <= max_merge_find_levels; ++levels) {
      lists.check(levels);
      std::vector<double> us;
      for (unsigned i = 0; i < options.repeats; ++i) us.push_back(lists.find(levels));
      figures.us.push_back(median(us));
    }
    progress.add(1);
  }
  progress.finish();
  return all;
}

}  // namespace quern::gpu
