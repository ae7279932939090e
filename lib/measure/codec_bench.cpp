#include "quern/measure/codec_bench.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstring>
#include <random>

#include "quern/core/error.hpp"

namespace quern {
namespace {

/// Where blocks are decoded to.
using Buffer = std::array<std::uint32_t, max_block_size + over_write_values>;

/// Keeps the compiler from leaving out what made the values.
void keep(const Buffer& values) { asm volatile("" : : "r"(values.data()) : "memory"); }

template <class What>
double seconds_of(What what) {
  const auto start = std::chrono::steady_clock::now();
  what();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

double median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

/// What decoding can't be faster than: memcpy of blocks of values to where decoders put theirs.
void copy_blocks(const BenchLists& lists) {
  alignas(64) Buffer out;
  constexpr std::size_t block_size = 128;
  for (std::size_t at = 0; at < lists.size(); at += block_size) {
    std::memcpy(out.data(), lists.gaps.data() + at, std::min(block_size, lists.size() - at) * sizeof out[0]);
    keep(out);
  }
}

/// All lists, coded, and where their blocks stand, as an index knows it.
class Subject {
 public:
  Subject(const BenchLists& lists, const CodecSetUp& set_up) : lists_(lists), set_up_(set_up) {
    figures_.set_up = set_up;
    encode();
    words_.resize(words_.size() + over_read_bytes / 4);
  }

  /// One pass of each kind, measured.
  void measure() {
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

  void forget_times() {
    encode_.clear();
    for (auto* times : {&docids_, &freqs_})
      for (std::vector<double>& of_level : *times) of_level.clear();
  }

  CodecFigures figures() const {
    CodecFigures figures = figures_;
    figures.encode_seconds = median(encode_);
    for (std::size_t i = 0; i < simd_levels().size(); ++i)
      figures.decoding.push_back({simd_levels()[i], median(docids_[i]), median(freqs_[i])});
    return figures;
  }

 private:
  struct Block {
    std::size_t word;
    unsigned n;
    docid_t before;
  };
  struct List {
    std::size_t word, first_block, end_block;
  };

  std::span<const std::uint32_t> part(const std::vector<std::uint32_t>& values, std::size_t at, unsigned n) const {
    return std::span(values).subspan(at, n);
  }

  void encode() {
    figures_.bits = {};
    blocks_.clear();
    coded_.clear();
    const auto encoder = set_up_.codec->make_encoder(set_up_.options);
    std::size_t first = 0;
    for (const std::size_t end : lists_.ends) {
      encode_list(*encoder, first, end);
      first = end;
    }
  }

  void encode_list(ListEncoder& encoder, std::size_t first, std::size_t end) {
    const unsigned block_size = set_up_.options.block_size;
    const auto for_blocks = [&](auto visit) {
      for (std::size_t at = first; at < end; at += block_size)
        visit(at, static_cast<unsigned>(std::min<std::size_t>(block_size, end - at)));
    };
    encoder.start_list();
    for_blocks(
        [&](std::size_t at, unsigned n) { encoder.observe(part(lists_.gaps, at, n), part(lists_.freqs, at, n)); });
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
  void for_each_coded_block(Decode decode) const {
    const WordView words = WordView(words_).first(words_.size() - over_read_bytes / 4);
    for (const List& list : coded_) {
      const auto decoder = set_up_.codec->make_decoder(set_up_.options, words.subspan(list.word));
      for (std::size_t i = list.first_block; i < list.end_block; ++i)
        decode(*decoder, words.subspan(blocks_[i].word), blocks_[i]);
    }
  }

  void decode_docids() const {
    alignas(64) Buffer out;
    for_each_coded_block([&](const ListDecoder& decoder, WordView words, const Block& block) {
      decoder.decode_docids(words, block.n, block.before, out.data());
      keep(out);
    });
  }

  void decode_freqs() const {
    alignas(64) Buffer out;
    for_each_coded_block([&](const ListDecoder& decoder, WordView words, const Block& block) {
      decoder.decode_freqs(words, block.n, out.data());
      keep(out);
    });
  }

  const BenchLists& lists_;
  CodecSetUp set_up_;
  CodecFigures figures_{};
  Words words_;
  std::vector<Block> blocks_;
  std::vector<List> coded_;
  std::vector<double> encode_;
  std::array<std::vector<double>, 3> docids_, freqs_;
};

}  // namespace

void BenchLists::add(std::span<const docid_t> docids, std::span<const freq_t> freqs_) {
  docid_t before = end_docid;
  for (std::size_t i = 0; i < docids.size(); ++i) {
    gaps.push_back(docids[i] - before - 1);
    freqs.push_back(freqs_[i] - 1);
    before = docids[i];
  }
  if (!docids.empty()) ends.push_back(gaps.size());
}

BenchLists clustered_lists(std::size_t postings, std::size_t length, double mean_gap, std::uint64_t seed) {
  BenchLists lists;
  std::mt19937_64 random(seed);
  std::geometric_distribution<std::uint32_t> near(0.5), far(1 / (1 + 4 * mean_gap)), freq(0.6);
  for (std::size_t i = 0; i < postings; ++i) {
    if (i != 0 && i % length == 0) lists.ends.push_back(i);
    lists.gaps.push_back(random() % 4 == 0 ? far(random) : near(random));
    lists.freqs.push_back(freq(random));
  }
  if (postings != 0) lists.ends.push_back(postings);
  return lists;
}

CodecBench measure_codecs(const BenchLists& lists, const std::vector<CodecSetUp>& set_ups, unsigned repeats) {
  if (lists.size() == 0 || repeats == 0) throw InvalidArgument("a benchmark needs postings and repeats");
  CodecBench bench{lists.ends.size(), lists.size(), 0, {}};
  std::vector<Subject> subjects;
  for (const CodecSetUp& set_up : set_ups) subjects.emplace_back(lists, set_up);
  for (Subject& subject : subjects) {
    subject.measure();
    subject.forget_times();
  }
  std::vector<double> copying;
  for (unsigned repeat = 0; repeat < repeats; ++repeat) {
    copy_blocks(lists);  // so that the values are where the caches can hold them, as coded words are
    copying.push_back(seconds_of([&] { copy_blocks(lists); }));
    for (Subject& subject : subjects) subject.measure();
  }
  bench.memcpy_seconds = median(copying);
  for (const Subject& subject : subjects) bench.figures.push_back(subject.figures());
  return bench;
}

}  // namespace quern
