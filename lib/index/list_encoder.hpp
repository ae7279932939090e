#pragma once
#include <memory>
#include <vector>

#include "quern/codec/codec.hpp"
#include "quern/formats/index_file.hpp"
#include "quern/index/posting_runs.hpp"
#include "quern/index/top_impacts.hpp"

namespace quern {

/// The lists of a batch, encoded, in the order of their terms. Words and rows of all lists lie in common arrays.
struct EncodedBatch {
  struct Item {
    term_t term = 0;  ///< its number in the collection's lexicon
    std::uint64_t df = 0, cf = 0;
    std::size_t first_word = 0, words = 0;
    std::size_t first_row = 0, rows = 0;
    std::size_t first_byte = 0, bytes = 0;
    std::array<float, 4> kth_impact = {};
  };
  std::vector<Item> items;
  Words words;
  std::vector<docid_t> block_last;
  std::vector<std::uint32_t> block_offset;
  std::vector<std::uint16_t> block_max;
  Bytes short_lists;
  CodedBits bits;
  std::uint64_t postings = 0;

  void clear();
  /// An item as the writer takes it; views into this batch.
  EncodedList list(const Item& item) const;
};

/// What a list's encoding needs to know of its index.
struct EncodingContext {
  const Codec* codec = nullptr;
  CodecOptions options;
  docid_t num_documents = 0;
  std::span<const float> constants;  ///< K_d of each docID
};

/// Encodes lists: postings by the codec, block rows, bounds. One a thread.
class ListEncoding {
 public:
  explicit ListEncoding(const EncodingContext& context);
  /// Replaces `out` by the encoded lists of the batch.
  void encode(ListBatch& batch, EncodedBatch& out);

 private:
  void encode_lists(std::span<const Posting> postings, EncodedBatch& out);
  void encode_short_list(std::span<const Posting> postings, EncodedBatch& out);
  void encode_list(term_t term, std::uint64_t df, const ForEachBlock& for_each_block, EncodedBatch& out);
  /// Shows a block's impacts to top_; returns the greatest.
  float add_impacts(std::span<const docid_t> docids, std::span<const freq_t> freqs);
  std::span<const std::uint32_t> gaps_of(std::span<const docid_t> docids, docid_t before);
  std::span<const std::uint32_t> less_one(std::span<const freq_t> freqs);

  EncodingContext context_;
  std::unique_ptr<ListEncoder> encoder_;
  TopImpacts top_;
  std::vector<Posting> scratch_;
  std::vector<docid_t> docids_;
  std::vector<freq_t> freqs_;
  std::vector<std::uint32_t> gaps_, freqs_less_one_;
  std::vector<float> impacts_;
};

}  // namespace quern
