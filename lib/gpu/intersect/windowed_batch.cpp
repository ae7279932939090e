#include "quern/gpu/intersect/windowed_batch.hpp"

#include <algorithm>
#include <limits>
#include <utility>

#include "quern/gpu/device/in_parallel.hpp"

namespace quern::gpu {

WindowedBatch::WindowedBatch(std::unique_ptr<IntersectBatch> batch, std::span<const WantedList> wanted,
                             const ListCache& cache, std::uint64_t words, ListFormat format,
                             std::uint64_t unpacked_words)
    : batch_(std::move(batch)), format_(format) {
  for (const IntersectList& list : batch_->lists) views_.push_back(list.coded);
  for (const WantedList& list : wanted) coded_.emplace_back(batch_->number_of(*list.list), list.list);
  const std::uint32_t ranges = num_ranges(batch_->index().num_documents());
  windows_ = std::make_unique<DocumentWindows>(batch_->index(), BatchLists{views_, coded_}, cache,
                                               WindowLimits{words, max_entries(unpacked_words), ranges});
}

std::uint64_t WindowedBatch::max_entries(std::uint64_t unpacked_words) const {
  if (format_ == ListFormat::coded) return std::numeric_limits<std::uint64_t>::max();
  // A directory takes at most 3 words per 8 postings, and both are rounded up.
  const std::uint64_t rounding = 66 * views_.size();
  return (unpacked_words - std::min(unpacked_words, rounding)) / 11 * 8;
}

bool WindowedBatch::is_empty(const IntersectArrays& arrays, const IntersectList& list) const {
  if (list.coded.raw == 0) return !list.coded.has_blocks();
  const std::uint32_t* docids = arrays.raw_docids.data() + list.coded.first_word;
  const std::uint32_t next = lower_bound(docids, 0, list.coded.df, arrays.first_docid);
  return next == list.coded.df || docids[next] >= arrays.end_docid;
}

void WindowedBatch::unpack(IntersectArrays& arrays) const {
  const std::uint32_t block_size = batch_->index().block_size();
  const std::uint32_t documents = arrays.end_docid - arrays.first_docid;
  for (const auto& of : coded_) {
    IntersectList& list = arrays.lists[of.first];
    if (!list.coded.has_blocks()) continue;
    const std::uint32_t postings = list.coded.end_posting(block_size) - list.coded.first_posting(block_size);
    UnpackedPlace place = unpacked_place(format_, postings, documents, arrays.unpack_words);
    place.first_docid = arrays.first_docid;
    arrays.unpack_to(of.first, place, unpacked_words(format_, postings, documents), documents, block_size);
    // Kernels that answer queries see the window's postings as the whole list.
    list.coded = {};
    list.coded.df = postings;
  }
}

void WindowedBatch::make(std::size_t window, std::uint64_t first_word, IntersectWindow& out) const {
  const docid_t num_documents = batch_->index().num_documents();
  windows_->view(window, first_word, 0, out.lists);
  IntersectArrays& arrays = out.arrays;
  arrays.clear();
  arrays.first_docid = static_cast<std::uint32_t>(out.lists.window.first_docid());
  arrays.end_docid = static_cast<std::uint32_t>(std::min<std::uint64_t>(out.lists.window.end_docid(), num_documents));
  arrays.terms = batch_->terms;
  arrays.raw_docids = batch_->raw_docids;
  arrays.lists = batch_->lists;
  for (const auto& of : coded_) arrays.lists[of.first].coded = out.lists.lists[of.first];

  const bool unpacks = format_ != ListFormat::coded;
  std::vector<std::uint8_t> empty(arrays.lists.size());
  in_parallel(empty.size(), [&](std::size_t i) { empty[i] = is_empty(arrays, arrays.lists[i]) ? 1 : 0; });
  if (unpacks) unpack(arrays);
  std::vector<IntersectQuery> added(batch_->added().begin(), batch_->added().end());
  std::vector<std::uint8_t> left_out(added.size());
  in_parallel(added.size(), [&](std::size_t i) {
    IntersectQuery& query = added[i];
    if (!unpacks && query.coded == 0) {
      left_out[i] = window == 0 ? 0 : 1;
      return;
    }
    const auto own = std::span(arrays.terms).subspan(query.first_term, query.terms);
    left_out[i] = std::any_of(own.begin(), own.end(), [&](std::uint32_t list) { return empty[list] != 0; }) ? 1 : 0;
    if (unpacks) query.coded = 0;
  });
  arrays.cut_all(added, left_out, batch_->sizes(), batch_->index());
}

}  // namespace quern::gpu
