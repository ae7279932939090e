#include <algorithm>
#include <string>
#include <vector>

#include "quern/gpu/decode_bench.hpp"
#include "quern/gpu/device_index_view.cuh"
#include "quern/gpu/kernels.hpp"
#include "quern/gpu/list_view.hpp"
#include "quern/measure/median.hpp"
#include "quern/query/block_reader.hpp"

namespace quern::gpu {
namespace {

/// The lists of an index that are decoded, and where their postings go.
struct Lists {
  std::vector<PostingList> host;
  std::vector<ListView> views;
  std::vector<std::uint64_t> first_posting, first_block;
  DecodeFigures figures;
};

Lists lists_of(const IndexReader& index, const DecodeBenchOptions& options) {
  Lists lists;
  for (std::uint64_t block = 0; block < index.num_lexicon_blocks(); ++block)
    index.for_each_list(block, [&](std::string_view, const PostingList& list) {
      DecodeFigures& figures = lists.figures;
      if (list.df < options.least_postings || list.block_last.empty() ||
          figures.postings + list.df > options.most_postings)
        return;
      const ListView& view = lists.views.emplace_back(coded_view(index, list));
      lists.host.push_back(list);
      // Each list's output begins where 16 bytes can be stored at once.
      const std::uint64_t first =
          lists.first_posting.empty() ? 0 : lists.first_posting.back() + (lists.host.end()[-2].df + 3) / 4 * 4;
      lists.first_posting.push_back(first);
      lists.first_block.push_back(figures.blocks);
      figures.blocks += view.rows;
      figures.postings += list.df;
      figures.coded_bytes += list.words.size_bytes() + list.block_last.size_bytes() + list.block_offset.size_bytes();
      ++figures.lists;
    });
  if (lists.host.empty()) throw InvalidArgument(index.name() + ": has no list that is long enough");
  lists.first_block.push_back(lists.figures.blocks);
  return lists;
}

template <class T>
DeviceArray<T> on_device(const std::vector<T>& from, const Stream& stream) {
  DeviceArray<T> to(from.size());
  copy_to_device(to.data(), from.data(), from.size(), stream);
  return to;
}

void compare(const IndexReader& index, const Lists& lists, const std::vector<std::uint32_t>& docids,
             const std::vector<std::uint32_t>& freqs) {
  for (std::size_t i = 0; i < lists.host.size(); ++i) {
    BlockReader reader(index, lists.host[i]);
    std::uint64_t at = lists.first_posting[i];
    for (std::size_t block = 0; block < reader.num_blocks(); ++block, at += index.block_size()) {
      reader.load(block);
      const auto wanted = reader.docids();
      const auto wanted_freqs = reader.freqs();
      if (!std::equal(wanted.begin(), wanted.end(), docids.begin() + static_cast<std::ptrdiff_t>(at)) ||
          !std::equal(wanted_freqs.begin(), wanted_freqs.end(), freqs.begin() + static_cast<std::ptrdiff_t>(at)))
        throw Error(index.name() + ": the GPU decodes block " + std::to_string(block) + " of list " +
                    std::to_string(lists.host[i].number) + " otherwise than the CPU; please report this");
    }
  }
}

}  // namespace

DecodeFigures measure_decoding(const IndexReader& index, const DecodeBenchOptions& options, Progress& progress) {
  const QueryEngine engine(index, {});
  const DeviceIndex device_index(engine, options.gpu, progress);
  const DeviceIndex::Device& device = device_index.device();
  const Stream stream;
  Lists lists = lists_of(index, options);
  const auto views = on_device(lists.views, stream);
  const auto first_posting = on_device(lists.first_posting, stream), first_block = on_device(lists.first_block, stream);
  const std::size_t room = lists.first_posting.back() + lists.host.back().df;
  const DeviceArray<std::uint32_t> docids(room), freqs(room);
  CUDA_CHECK(cudaMemsetAsync(docids.data(), 0xa5, docids.size_bytes(), stream));
  CUDA_CHECK(cudaMemsetAsync(freqs.data(), 0xa5, freqs.size_bytes(), stream));
  const DeviceArray<std::uint32_t> scratch(device.scratch_words), damaged_blocks(1);
  fill_zero(damaged_blocks.data(), 1, stream);
  IndexView view = device.view;
  view.scratch = scratch.data();
  view.damaged = damaged_blocks.data();

  const Event begun, ended;
  const auto decode = [&](std::uint32_t* freqs_to) {
    DecodeOutput out{docids.data(), freqs_to, first_posting.data(), first_block.data(), lists.figures.blocks};
    begun.record(stream);
    with_coding(device.coding, [&]<Coding coding>() {
      Kernels<coding>::decode(view, views.data(), static_cast<std::uint32_t>(lists.views.size()), out, stream);
    });
    ended.record(stream);
    ended.wait();
    return ended.us_since(begun);
  };
  decode(freqs.data());
  std::vector<std::uint32_t> host_docids(room), host_freqs(room), damaged(1);
  copy_to_host(host_docids.data(), docids.data(), room, stream);
  copy_to_host(host_freqs.data(), freqs.data(), room, stream);
  copy_to_host(damaged.data(), damaged_blocks.data(), 1, stream);
  stream.wait();
  if (damaged[0] > 0)
    throw CorruptFile(index.name() + ": " + std::to_string(damaged[0]) +
                      " blocks do not decode on the GPU; quern verify says where");
  compare(index, lists, host_docids, host_freqs);

  std::vector<double> docids_us, both_us, copy_us;
  progress.start("decode", options.repeats, "passes");
  for (unsigned i = 0; i < options.repeats; ++i) {
    docids_us.push_back(decode(nullptr));
    both_us.push_back(decode(freqs.data()));
    begun.record(stream);
    CUDA_CHECK(cudaMemcpyAsync(freqs.data(), docids.data(), docids.size_bytes(), cudaMemcpyDeviceToDevice, stream));
    ended.record(stream);
    ended.wait();
    copy_us.push_back(ended.us_since(begun));
    progress.add(1);
  }
  progress.finish();
  lists.figures.docids_us = median(docids_us);
  lists.figures.both_us = median(both_us);
  lists.figures.copy_bytes_per_s = 2e6 * static_cast<double>(docids.size_bytes()) / median(copy_us);
  return lists.figures;
}

}  // namespace quern::gpu
