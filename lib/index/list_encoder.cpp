#include "quern/index/list_encoder.hpp"

#include <algorithm>
#include <array>
#include <numeric>

#include "quern/codec/short_list.hpp"
#include "quern/core/bytes.hpp"
#include "quern/index/posting_sort.hpp"

namespace quern {
namespace {

/// Eight maxima side by side, since one would wait for the one before.
float max_of(std::span<const float> values) {
  std::array<float, 8> greatest = {};
  std::size_t i = 0;
  for (; i + 8 <= values.size(); i += 8)
    for (std::size_t lane = 0; lane < 8; ++lane)
      greatest[lane] = greatest[lane] < values[i + lane] ? values[i + lane] : greatest[lane];
  for (; i < values.size(); ++i) greatest[0] = std::max(greatest[0], values[i]);
  return *std::max_element(greatest.begin(), greatest.end());
}

}  // namespace

void EncodedBatch::clear() {
  items.clear();
  words.clear();
  block_last.clear();
  block_offset.clear();
  block_max.clear();
  short_lists.clear();
  bits = {};
  postings = 0;
}

EncodedList EncodedBatch::list(const Item& item) const {
  EncodedList list;
  list.df = item.df;
  list.cf = item.cf;
  list.short_list = ByteView(short_lists).subspan(item.first_byte, item.bytes);
  list.words = WordView(words).subspan(item.first_word, item.words);
  list.block_last = std::span<const docid_t>(block_last).subspan(item.first_row, item.rows);
  list.block_offset = std::span<const std::uint32_t>(block_offset).subspan(item.first_row, item.rows);
  list.block_max = std::span<const std::uint16_t>(block_max).subspan(item.first_row, item.rows);
  list.kth_impact = item.kth_impact;
  list.max_impact = item.kth_impact[0];
  return list;
}

ListEncoding::ListEncoding(const EncodingContext& context)
    : context_(context), encoder_(context.codec->make_encoder(context.options)) {}

std::span<const std::uint32_t> ListEncoding::gaps_of(std::span<const docid_t> docids, docid_t before) {
  gaps_.resize(docids.size());
  gaps_[0] = docids[0] - before - 1;
  for (std::size_t i = 1; i < docids.size(); ++i) gaps_[i] = docids[i] - docids[i - 1] - 1;
  return gaps_;
}

std::span<const std::uint32_t> ListEncoding::less_one(std::span<const freq_t> freqs) {
  freqs_less_one_.resize(freqs.size());
  for (std::size_t i = 0; i < freqs.size(); ++i) freqs_less_one_[i] = freqs[i] - 1;
  return freqs_less_one_;
}

float ListEncoding::add_impacts(std::span<const docid_t> docids, std::span<const freq_t> freqs) {
  // In plain loops of their own, which compilers turn into wide divisions.
  impacts_.resize(docids.size());
  for (std::size_t i = 0; i < docids.size(); ++i) impacts_[i] = impact(freqs[i], context_.constants[docids[i]]);
  const float greatest = max_of(impacts_);
  top_.add(impacts_, greatest);
  return greatest;
}

void ListEncoding::encode_short_list(std::span<const Posting> postings, EncodedBatch& out) {
  EncodedBatch::Item item;
  item.term = postings.front().term;
  item.df = postings.size();
  item.first_byte = out.short_lists.size();
  docids_.clear();
  freqs_.clear();
  for (const Posting& posting : postings) {
    docids_.push_back(posting.docid);
    freqs_.push_back(posting.freq);
    item.cf += posting.freq;
    item.kth_impact[0] = std::max(item.kth_impact[0], impact(posting.freq, context_.constants[posting.docid]));
  }
  const CodedBits bits = put_short_list(docids_, freqs_, context_.num_documents, out.short_lists);
  out.bits.docid_bits += bits.docid_bits;
  out.bits.freq_bits += bits.freq_bits;
  item.bytes = out.short_lists.size() - item.first_byte;
  out.items.push_back(item);
}

void ListEncoding::encode_list(term_t term, std::uint64_t df, const ForEachBlock& for_each_block, EncodedBatch& out) {
  EncodedBatch::Item item;
  item.term = term;
  item.df = df;
  item.first_word = out.words.size();
  item.first_row = out.block_last.size();
  const bool has_rows = df > context_.options.block_size;

  encoder_->start_list();
  top_.clear();
  docid_t before = end_docid;  // -1
  for_each_block([&](std::span<const docid_t> docids, std::span<const freq_t> freqs) {
    encoder_->observe(gaps_of(docids, before), less_one(freqs));
    before = docids.back();
    item.cf = std::accumulate(freqs.begin(), freqs.end(), item.cf);
    const float greatest = add_impacts(docids, freqs);
    if (!has_rows) return;
    out.block_last.push_back(before);
    out.block_max.push_back(quantize_up(greatest));
  });
  item.kth_impact = top_.at_ranks();

  encoder_->put_header(out.words);
  before = end_docid;
  for_each_block([&](std::span<const docid_t> docids, std::span<const freq_t> freqs) {
    const std::size_t offset = out.words.size() - item.first_word;
    if (offset > 0xffffffffu) throw InvalidArgument("a posting list of more than 16 GiB; split the corpus into shards");
    if (has_rows) out.block_offset.push_back(static_cast<std::uint32_t>(offset));
    encoder_->put_block(gaps_of(docids, before), less_one(freqs), out.words);
    before = docids.back();
  });
  const CodedBits bits = encoder_->bits();
  out.bits.docid_bits += bits.docid_bits;
  out.bits.freq_bits += bits.freq_bits;
  item.words = out.words.size() - item.first_word;
  item.rows = out.block_last.size() - item.first_row;
  out.items.push_back(item);
}

void ListEncoding::encode_lists(std::span<const Posting> postings, EncodedBatch& out) {
  const std::size_t block_size = context_.options.block_size;
  while (!postings.empty()) {
    const term_t term = postings.front().term;
    std::size_t df = 1;
    while (df < postings.size() && postings[df].term == term) ++df;
    const auto list = postings.first(df);
    postings = postings.subspan(df);
    if (df <= max_short_list) {
      encode_short_list(list, out);
      continue;
    }
    encode_list(
        term, df,
        [&](const BlockVisit& visit) {
          for (std::size_t from = 0; from < df; from += block_size) {
            const auto block = list.subspan(from, std::min(block_size, df - from));
            docids_.clear();
            freqs_.clear();
            for (const Posting& posting : block) {
              docids_.push_back(posting.docid);
              freqs_.push_back(posting.freq);
            }
            visit(docids_, freqs_);
          }
        },
        out);
  }
}

void ListEncoding::encode(ListBatch& batch, EncodedBatch& out) {
  out.clear();
  if (!batch.sorted) {
    sort_postings(batch.owned, scratch_, 1);
    batch.postings = batch.owned;
  }
  out.postings = batch.long_list ? batch.long_size : batch.postings.size();
  encode_lists(batch.postings, out);
  if (!batch.long_list) return;
  const std::uint64_t block_size = context_.options.block_size;
  encode_list(
      batch.long_term, batch.long_size,
      [&](const BlockVisit& visit) {
        // Many blocks a read: one would be a system call for each.
        const std::uint64_t postings_per_read = block_size * 64;
        std::vector<std::uint32_t> pairs;
        for (std::uint64_t from = 0; from < batch.long_size; from += postings_per_read) {
          pairs.resize(2 * std::min(postings_per_read, batch.long_size - from));
          batch.long_list->read_at(batch.long_begin + from * 8,
                                   {reinterpret_cast<std::uint8_t*>(pairs.data()), pairs.size() * 4});
          for (std::size_t at = 0; at < pairs.size(); at += 2 * block_size) {
            docids_.clear();
            freqs_.clear();
            for (std::size_t i = at; i < std::min<std::size_t>(at + 2 * block_size, pairs.size()); i += 2) {
              docids_.push_back(pairs[i]);
              freqs_.push_back(pairs[i + 1]);
            }
            visit(docids_, freqs_);
          }
        }
      },
      out);
}

}  // namespace quern
