#include "quern/measure/codec_subject.hpp"

#include <algorithm>
#include <span>

#include "quern/measure/median.hpp"
#include "quern/measure/stopwatch.hpp"

namespace quern {
namespace {

/// Where blocks are decoded to.
using Buffer = std::array<std::uint32_t, max_block_size + over_write_values>;

std::span<const std::uint32_t> part(const std::vector<std::uint32_t>& values, std::size_t at, unsigned n) {
  return std::span(values).subspan(at, n);
}

}  // namespace

CodecSubject::CodecSubject(const BenchLists& lists, const CodecSetUp& set_up) : lists_(lists) {
  figures_.set_up = set_up;
  encode();
  words_.resize(words_.size() + over_read_bytes / 4);
}

void CodecSubject::measure() {
  const Words kept = std::move(words_);
  words_.clear();
  words_.reserve(kept.size());
  encode_.push_back(seconds_of([&] { encode(); }));
  words_.resize(kept.size());
  const SimdLevel before = simd_level();
  for (std::size_t i = 0; i < simd_levels().size(); ++i) {
    set_simd_level(simd_levels()[i]);
    docids_[i].push_back(seconds_of([&] { decode_docids(); }));
    freqs_[i].push_back(seconds_of([&] { decode_freqs(); }));
  }
  set_simd_level(before);
}

void CodecSubject::forget_times() {
  encode_.clear();
  for (auto* times : {&docids_, &freqs_})
    for (std::vector<double>& of_level : *times) of_level.clear();
}

CodecFigures CodecSubject::figures() const {
  CodecFigures figures = figures_;
  figures.encode_seconds = median(encode_);
  for (std::size_t i = 0; i < simd_levels().size(); ++i)
    figures.decoding.push_back({simd_levels()[i], {median(docids_[i]), median(freqs_[i])}});
  return figures;
}

void CodecSubject::encode() {
  figures_.bits = {};
  blocks_.clear();
  coded_.clear();
  const auto encoder = figures_.set_up.codec->make_encoder(figures_.set_up.options);
  std::size_t first = 0;
  for (const std::size_t end : lists_.ends) {
    encode_list(*encoder, first, end);
    first = end;
  }
}

void CodecSubject::encode_list(ListEncoder& encoder, std::size_t first, std::size_t end) {
  const unsigned block_size = figures_.set_up.options.block_size;
  const auto for_blocks = [&](auto visit) {
    for (std::size_t at = first; at < end; at += block_size)
      visit(at, static_cast<unsigned>(std::min<std::size_t>(block_size, end - at)));
  };
  encoder.start_list();
  for_blocks([&](std::size_t at, unsigned n) { encoder.observe(part(lists_.gaps, at, n), part(lists_.freqs, at, n)); });
  List list{words_.size(), blocks_.size(), 0};
  encoder.put_header(words_);
  docid_t docid = end_docid;
  for_blocks([&](std::size_t at, unsigned n) {
    blocks_.push_back({words_.size(), n, docid});
    const auto gaps = part(lists_.gaps, at, n);
    encoder.put_block(gaps, part(lists_.freqs, at, n), words_);
    for (const std::uint32_t gap : gaps) docid += gap + 1;
  });
  list.end_block = blocks_.size();
  coded_.push_back(list);
  figures_.bits.docid_bits += encoder.bits().docid_bits;
  figures_.bits.freq_bits += encoder.bits().freq_bits;
}

template <class Decode>
void CodecSubject::for_each_coded_block(Decode decode) const {
  const WordView words = WordView(words_).first(words_.size() - over_read_bytes / 4);
  for (const List& list : coded_) {
    const auto decoder = figures_.set_up.codec->make_decoder(figures_.set_up.options, words.subspan(list.word));
    for (std::size_t i = list.first_block; i < list.end_block; ++i)
      decode(*decoder, words.subspan(blocks_[i].word), blocks_[i]);
  }
}

void CodecSubject::decode_docids() const {
  alignas(64) Buffer out;
  for_each_coded_block([&](const ListDecoder& decoder, WordView words, const Block& block) {
    decoder.decode_docids(words, block.n, block.before, out.data());
    keep(out.data());
  });
}

void CodecSubject::decode_freqs() const {
  alignas(64) Buffer out;
  for_each_coded_block([&](const ListDecoder& decoder, WordView words, const Block& block) {
    decoder.decode_freqs(words, block.n, out.data());
    keep(out.data());
  });
}

}  // namespace quern
