#include "quern/lab/codec_bench.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <span>

#include "quern/core/error.hpp"
#include "quern/lab/measurement.hpp"

namespace quern {
namespace {

/// The lower bound of decoding times: memcpy of blocks of values to one buffer.
void copy_blocks(const BenchLists& lists) {
  constexpr std::size_t block_size = 128;
  alignas(64) std::array<std::uint32_t, block_size> out;
  for (std::size_t at = 0; at < lists.size(); at += block_size) {
    std::memcpy(out.data(), lists.gaps.data() + at, std::min(block_size, lists.size() - at) * sizeof out[0]);
    keep(out.data());
  }
}

}  // namespace

CodecBench measure_codecs(const BenchLists& lists, const std::vector<CodecSetUp>& set_ups,
                          const std::vector<PeerSetUp>& peers, unsigned repeats) {
  if (lists.size() == 0 || repeats == 0) throw InvalidArgument("a benchmark needs postings and repeats");
  std::vector<CodecSubject> ours;
  for (const CodecSetUp& set_up : set_ups) ours.emplace_back(lists, set_up);
  std::vector<PeerSubject> others;
  for (const PeerSetUp& set_up : peers) others.emplace_back(lists, set_up);
  const auto for_each_subject = [&](auto visit) {
    for (CodecSubject& subject : ours) visit(subject);
    for (PeerSubject& subject : others) visit(subject);
  };
  for_each_subject([](auto& subject) {
    subject.measure();
    subject.forget_times();
  });
  std::vector<double> copying;
  for (unsigned repeat = 0; repeat < repeats; ++repeat) {
    copy_blocks(lists);  // warms the caches, as for coded words
    copying.push_back(seconds_of([&] { copy_blocks(lists); }));
    for_each_subject([](auto& subject) { subject.measure(); });
  }
  CodecBench bench{lists.ends.size(), lists.size(), median(copying), {}, {}};
  for (const CodecSubject& subject : ours) bench.figures.push_back(subject.figures());
  for (const PeerSubject& subject : others) bench.peers.push_back(subject.figures());
  return bench;
}

namespace {

/// The destination of decoded blocks.
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

PeerSubject::PeerSubject(const BenchLists& lists, const PeerSetUp& set_up) {
  figures_.set_up = set_up;
  docids_.reserve(lists.size());
  std::size_t longest_run = 0, room = over_read_bytes;
  for (const std::size_t end : lists.ends) {
    docid_t docid = end_docid;
    std::size_t first = docids_.size();
    while (first < end) {
      const std::size_t size =
          set_up.block_size == 0 ? end - first : std::min<std::size_t>(set_up.block_size, end - first);
      runs_.push_back({first, size, docid});
      for (std::size_t i = first; i < first + size; ++i) {
        docids_.push_back(docid += lists.gaps[i] + 1);
        freqs_.push_back(lists.freqs[i] + 1);
      }
      longest_run = std::max(longest_run, size);
      room += set_up.codec->max_bytes(size);
      first += size;
    }
  }
  docid_bytes_.resize(room);
  freq_bytes_.resize(room);
  out_.resize(longest_run + over_write_values);
}

void PeerSubject::measure() {
  encode_times_.push_back(seconds_of([&] { encode(); }));
  docid_times_.push_back(seconds_of([&] { decode_docids(); }));
  freq_times_.push_back(seconds_of([&] { decode_freqs(); }));
}

void PeerSubject::forget_times() {
  for (auto* times : {&encode_times_, &docid_times_, &freq_times_}) times->clear();
}

PeerFigures PeerSubject::figures() const {
  PeerFigures figures = figures_;
  figures.encode_seconds = median(encode_times_);
  figures.decoding = {median(docid_times_), median(freq_times_)};
  return figures;
}

void PeerSubject::encode() {
  std::size_t docid_byte = 0, freq_byte = 0;
  const PeerCodec& codec = *figures_.set_up.codec;
  for (Run& run : runs_) {
    run.docid_byte = docid_byte;
    run.freq_byte = freq_byte;
    docid_byte += codec.encode_docids(std::span(docids_).subspan(run.first, run.size), run.before,
                                      docid_bytes_.data() + docid_byte);
    freq_byte += codec.encode_freqs(std::span(freqs_).subspan(run.first, run.size), freq_bytes_.data() + freq_byte);
  }
  figures_.bits = {8 * docid_byte, 8 * freq_byte};
}

void PeerSubject::decode_docids() {
  for (const Run& run : runs_) {
    figures_.set_up.codec->decode_docids(docid_bytes_.data() + run.docid_byte, run.size, run.before, out_.data());
    keep(out_.data());
  }
}

void PeerSubject::decode_freqs() {
  for (const Run& run : runs_) {
    figures_.set_up.codec->decode_freqs(freq_bytes_.data() + run.freq_byte, run.size, out_.data());
    keep(out_.data());
  }
}

}  // namespace quern
