#include "quern/formats/posting_reader.hpp"

#include "quern/codec/bit_packing.hpp"
#include "quern/codec/short_list.hpp"

namespace quern {
namespace {

[[noreturn]] void fail_at_block(std::string_view section, const IndexReader& index, const PostingList& list,
                                std::size_t block, std::string_view why) {
  throw CorruptFile("{}: section '{}': list {}, block {}: {}; the file is damaged: build it again, or restore a copy",
                    index.name(), section, list.number, block, why);
}

/// Given weights replace frequencies and must not be 0.
void check_weights(std::span<const freq_t> weights, const IndexReader& index, const PostingList& list,
                   std::size_t block) {
  if (std::find(weights.begin(), weights.end(), freq_t{0}) != weights.end())
    fail_at_block("impacts", index, list, block, "a weight is 0");
}

}  // namespace

void read_short_list(const IndexReader& index, const PostingList& list, std::span<docid_t> docids,
                     std::span<freq_t> freqs) {
  try {
    get_short_list(list.short_list, index.num_documents(), docids, freqs);
  } catch (const CorruptBlock& error) {
    fail_at_block("postings", index, list, 0, error.what());
  }
}

BlockReader::BlockReader(const IndexReader& index, const PostingList& list, std::uint64_t* blocks_decoded)
    : index_(&index), list_(list), blocks_decoded_(blocks_decoded) {
  if (list_.is_short()) {
    load_short_list();
    return;
  }
  const CodecOptions& options = index.manifest().codec_options;
  naming_place(0, [&] { decoder_ = index.codec().make_decoder(options, list_.words); });
  num_blocks_ = list_.num_blocks(options.block_size);
  impacts_are_freqs_ = index.manifest().impacts.has_value();
  first_word_ = index.codec().header_words(options);
  if (num_blocks_ == 1) load(0);
}

void BlockReader::fail(std::size_t block, const char* why) const {
  fail_at_block("postings", *index_, list_, block, why);
}

void BlockReader::load_short_list() {
  size_ = static_cast<unsigned>(list_.df);
  read_short_list(*index_, list_, std::span(decoded_->docids).first(size_), std::span(decoded_->freqs).first(size_));
  pad_docids();
  freqs_block_ = 0;
  if (blocks_decoded_) ++*blocks_decoded_;
}

WordView BlockReader::block_words(std::size_t block) const {
  if (num_blocks_ == 1) {
    if (first_word_ >= list_.words.size()) fail(block, "it reaches past its list");
    return list_.words.subspan(first_word_);
  }
  const std::size_t from = list_.block_offset[block];
  const std::size_t to = block + 1 < num_blocks_ ? list_.block_offset[block + 1] : list_.words.size();
  if (from >= to || to > list_.words.size()) fail(block, "block offsets do not ascend");
  return list_.words.subspan(from, to - from);
}

unsigned BlockReader::size_of(std::size_t block) const {
  const std::uint64_t block_size = list_.is_short() ? list_.df : index_->block_size();
  return static_cast<unsigned>(std::min(block_size, list_.df - block * block_size));
}

bool BlockReader::rises(std::size_t block) const {
  // Prefix sums decrease only by overflowing 2^32. Whole words and no early exit, so that compilers vectorize the loop.
  std::uint32_t falls = block > 0 && decoded_->docids[0] <= list_.block_last[block - 1];
  for (unsigned i = 1; i < size_; ++i) {
    const docid_t before = decoded_->docids[i - 1], docid = decoded_->docids[i];
    falls |= (std::max(before, docid) ^ docid) | static_cast<std::uint32_t>(before == docid);
  }
  return falls == 0;
}

void BlockReader::load(std::size_t block) {
  if (holds(block)) return;
  if (blocks_decoded_) ++*blocks_decoded_;
  block_ = block;
  size_ = size_of(block);
  words_ = block_words(block);
  // Queries read several lists in turn, which hides their order from the processor.
  if (block + 1 < num_blocks_)
    for (std::size_t word = 0; word < words_.size(); word += 16)
      __builtin_prefetch(words_.data() + words_.size() + word);
  freqs_read_ = 0;
  const docid_t before = block == 0 ? end_docid : list_.block_last[block - 1];
  const bool small_gaps =
      naming_place(block, [&] { return decoder_->decode_docids(words_, size_, before, decoded_->docids.data()); });
  const docid_t last_docid = decoded_->docids[size_ - 1];
  const bool ascend = small_gaps ? block == 0 || last_docid > before : rises(block);
  if (!ascend || last_docid >= index_->num_documents()) fail(block, "docIDs do not ascend");
  if (num_blocks_ > 1 && last_docid != list_.block_last[block]) fail(block, "its last docID differs from its row");
  pad_docids();
}

void BlockReader::decode_impacts_of(std::size_t block, unsigned size) {
  const unsigned width = list_.impact_width;
  decode_impacts(impact_block(list_.impacts, width, index_->block_size(), block), width, size, decoded_->freqs.data());
}

std::span<const std::uint32_t> BlockReader::quantized_impacts() {
  freqs_block_ = SIZE_MAX;
  decode_impacts_of(block_, size_);
  return {decoded_->freqs.data(), size_};
}

std::uint32_t BlockReader::quantized_impact(std::size_t block, unsigned place) const {
  const unsigned width = list_.impact_width;
  return impact_at(impact_block(list_.impacts, width, index_->block_size(), block), width, place);
}

std::span<const freq_t> BlockReader::freqs_of(std::size_t block) {
  const unsigned size = size_of(block);
  if (block != freqs_block_) {
    freqs_block_ = SIZE_MAX;  // if decoding throws
    if (impacts_are_freqs_) {
      decode_impacts_of(block, size);
      check_weights({decoded_->freqs.data(), size}, *index_, list_, block);
    } else {
      const WordView words = holds(block) ? words_ : block_words(block);
      naming_place(block, [&] { decoder_->decode_freqs(words, size, decoded_->freqs.data()); });
    }
    freqs_block_ = block;
  }
  return {decoded_->freqs.data(), size};
}

freq_t BlockReader::single_freq(std::size_t block, WordView words, unsigned size, unsigned place) const {
  if (impacts_are_freqs_) {
    const freq_t weight = quantized_impact(block, place);
    check_weights({&weight, 1}, *index_, list_, block);
    return weight;
  }
  return naming_place(block, [&] { return decoder_->freq_at(words, size, place); });
}

void BlockReader::read_freqs(std::size_t block, std::span<const std::uint16_t> places, freq_t* out) {
  if (block != freqs_block_ && places.size() <= single_freqs) {
    const WordView words = block_words(block);
    const unsigned size = size_of(block);
    for (std::size_t i = 0; i < places.size(); ++i) out[i] = single_freq(block, words, size, places[i]);
    return;
  }
  const auto freqs = freqs_of(block);
  for (std::size_t i = 0; i < places.size(); ++i) out[i] = freqs[places[i]];
}

void PostingCursor::enter(std::size_t block) {
  if (block >= reader_.num_blocks()) {
    docid_ = end_docid;
    return;
  }
  reader_.load(block);
  place_ = 0;
  docid_ = reader_.docids()[0];
}

void PostingCursor::next_geq(docid_t target) {
  if (docid_ >= target) return;
  std::size_t block = reader_.block();
  if (reader_.last(block) < target) {
    const auto rows = reader_.list().block_last;
    if (rows.empty()) return enter(block + 1);
    enter(search_rows(rows, block + 1, target));
    if (docid_ >= target) return;
  }
  // The block's last docID is at least `target`, so the search succeeds.
  place_ = static_cast<unsigned>(search_block(reader_.docids(), place_, target));
  docid_ = reader_.docids()[place_];
}

ListWords front_of(const PostingList& list, std::uint64_t blocks, unsigned block_size, bool with_impacts) {
  const ListWords whole{list.words.size(), with_impacts ? list.impacts.size() : 0};
  if (blocks >= list.block_last.size()) return whole;
  const std::uint64_t coded = list.block_offset[blocks];
  const std::uint64_t impacts = whole.impacts > 0 ? blocks * impact_words(block_size, list.impact_width) : 0;
  if (coded == 0 || coded > whole.coded || impacts > whole.impacts) return whole;
  return {coded, impacts};
}

PostingList list_of_front(const PostingList& list, std::uint64_t blocks, unsigned block_size, bool with_impacts) {
  const ListWords words = front_of(list, blocks, block_size, with_impacts);
  PostingList front = list;
  front.df = std::min<std::uint64_t>(list.df, blocks * block_size);
  front.words = list.words.first(words.coded);
  if (with_impacts) front.impacts = list.impacts.first(words.impacts);
  front.block_last = list.block_last.first(blocks);
  front.block_offset = list.block_offset.first(blocks);
  front.block_max = list.block_max.first(blocks);
  return front;
}

std::uint64_t coded_list_bytes(const IndexReader& index, bool with_impacts) {
  const ContainerReader& file = index.container();
  const std::uint64_t words = file.array<std::uint32_t>("postings").size_bytes();
  return words + (with_impacts && index.quantizer() ? file.array<std::uint32_t>("impacts").size_bytes() : 0);
}

}  // namespace quern
