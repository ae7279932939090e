#include "quern/query/posting_cursor.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "quern/codec/short_list.hpp"

namespace quern {

PostingCursor::PostingCursor(const IndexReader& index, const PostingList& list) : index_(&index), list_(list) {
  if (list_.is_short()) {
    num_blocks_ = 1;
    load_short_list();
    return;
  }
  const CodecOptions& options = index.manifest().codec_options;
  decoder_ = index.codec().make_decoder(options, list_.words);
  num_blocks_ = list_.num_blocks(options.block_size);
  first_block_word_ = index.codec().header_words(options);
  load(0);
}

void PostingCursor::fail(std::size_t block, const char* why) const {
  throw CorruptFile(
      fmt::format("{}: section 'postings': list {}, block {}: {}; the file is damaged: build it again, "
                  "or restore a copy",
                  index_->name(), list_.number, block, why));
}

void PostingCursor::load_short_list() {
  size_ = static_cast<unsigned>(list_.df);
  get_short_list(list_.short_list, index_->num_documents(), std::span(docids_).first(size_),
                 std::span(freqs_).first(size_));
  freqs_decoded_ = true;
  docid_ = docids_[0];
}

WordView PostingCursor::block_words(std::size_t block) const {
  if (num_blocks_ == 1) {
    if (first_block_word_ >= list_.words.size()) fail(block, "reaches past its list");
    return list_.words.subspan(first_block_word_);
  }
  const std::size_t from = list_.block_offset[block];
  const std::size_t to = block + 1 < num_blocks_ ? list_.block_offset[block + 1] : list_.words.size();
  if (from >= to || to > list_.words.size()) fail(block, "block offsets do not rise");
  return list_.words.subspan(from, to - from);
}

void PostingCursor::decode_block(std::size_t block) {
  const unsigned block_size = index_->block_size();
  const std::uint64_t left = list_.df - block * block_size;
  size_ = static_cast<unsigned>(std::min<std::uint64_t>(block_size, left));
  words_ = block_words(block);
  decoder_->decode_docids(words_, size_, block == 0 ? end_docid : list_.block_last[block - 1], docids_.data());
  docid_t greatest = 0;
  for (unsigned i = 0; i < size_; ++i) greatest = std::max(greatest, docids_[i]);
  if (greatest != docids_[size_ - 1] || greatest >= index_->num_documents()) fail(block, "docIDs do not rise");
  if (num_blocks_ > 1 && greatest != list_.block_last[block]) fail(block, "does not end with its greatest docID");
}

void PostingCursor::load(std::size_t block) {
  block_ = block;
  place_ = 0;
  if (block >= num_blocks_) {
    docid_ = end_docid;
    size_ = 0;
    return;
  }
  decode_block(block);
  freqs_decoded_ = false;
  freqs_read_ = 0;
  docid_ = docids_[0];
}

void PostingCursor::next_geq(docid_t target) {
  if (docid_ >= target) return;
  if (num_blocks_ > 1 && list_.block_last[block_] < target) {
    const auto rows = list_.block_last.subspan(block_ + 1);
    const auto row = std::lower_bound(rows.begin(), rows.end(), target);
    load(block_ + 1 + static_cast<std::size_t>(row - rows.begin()));
    if (docid_ >= target) return;
  }
  const auto from = docids_.begin() + place_, to = docids_.begin() + size_;
  const auto found = std::lower_bound(from, to, target);
  if (found == to) {
    load(block_ + 1);
  } else {
    place_ = static_cast<unsigned>(found - docids_.begin());
    docid_ = *found;
  }
}

freq_t PostingCursor::freq() {
  if (!freqs_decoded_) {
    if (freqs_read_++ < single_freqs) return decoder_->freq_at(words_, size_, place_);
    decoder_->decode_freqs(words_, size_, freqs_.data());
    freqs_decoded_ = true;
  }
  return freqs_[place_];
}

}  // namespace quern
