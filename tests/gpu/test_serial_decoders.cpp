#include "quern/codec/codec.hpp"
#include "quern/codec/rpfd_layout.hpp"
#include "quern/gpu/decode/serial_decoder.hpp"

#include "catch.hpp"
#include "codec/posting_lists.hpp"

/// Decoders for single GPU threads, run on the host, give the same values as the codecs' own decoders.
namespace quern {
namespace {

using namespace test;

constexpr std::uint32_t num_documents = 0xfffffffeu;
/// How far decoders may read past the end of a damaged block.
constexpr std::size_t slack_words = 4096;

/// A coded list in the form that serial decoders read.
class SerialList {
 public:
  SerialList(const Codec& codec, const CodecOptions& options, const List& list)
      : SerialList(codec, options, list.size(), encode(*codec.make_encoder(options), list, options.block_size)) {}
  SerialList(const Codec& codec, const CodecOptions& options, std::size_t postings, CodedList coded)
      : codec_(codec), options_(options), size_(postings), coded_(std::move(coded)) {
    words_ = coded_.words;
    words_.resize(words_.size() + slack_words);
    nested_.resize(std::size_t{rpfd::arrays_of(options.recursion)} * options.block_size);
  }

  std::size_t num_blocks() const { return coded_.starts.size() - 1; }
  Words& words() { return words_; }
  std::size_t coded_words() const { return coded_.words.size(); }
  std::size_t start(std::size_t block) const { return coded_.starts[block]; }
  gpu::BlockPlace place(std::size_t block, docid_t before) const {
    gpu::BlockPlace place;
    place.words = words_.data() + coded_.starts[block];
    place.list = words_.data();
    place.size = static_cast<std::uint32_t>(coded_.starts[block + 1] - coded_.starts[block]);
    place.n =
        static_cast<std::uint32_t>(std::min<std::size_t>(options_.block_size, size_ - block * options_.block_size));
    place.before = before;
    return place;
  }
  gpu::SerialContext means() {
    return {&rpfd::shapes[options_.recursion], nested_.data(), options_.block_size, num_documents};
  }
  std::unique_ptr<ListDecoder> host_decoder() const { return codec_.make_decoder(options_, coded_.words); }

 private:
  const Codec& codec_;
  CodecOptions options_;
  std::size_t size_;
  CodedList coded_;
  Words words_;
  std::vector<std::uint32_t> nested_;
};

template <class Decoder>
void check_sound(SerialList& list) {
  const auto host = list.host_decoder();
  docid_t before = end_docid;
  for (std::size_t block = 0; block < list.num_blocks(); ++block) {
    INFO("block " << block);
    const gpu::BlockPlace place = list.place(block, before);
    std::vector<std::uint32_t> docids(place.n), freqs(place.n), expected(place.n + over_write_values);
    Decoder decoder(list.means());
    REQUIRE(decoder.open(place));
    REQUIRE(decoder.docids(docids.data()));
    REQUIRE(decoder.freqs(freqs.data()));
    const WordView words(place.words, place.size);
    host->decode_docids(words, place.n, before, expected.data());
    REQUIRE(std::equal(docids.begin(), docids.end(), expected.begin()));
    host->decode_freqs(words, place.n, expected.data());
    REQUIRE(std::equal(freqs.begin(), freqs.end(), expected.begin()));
    if constexpr (Decoder::has_separate_freqs)
      for (std::uint32_t i = 0; i < place.n; ++i) REQUIRE(decoder.separate_freq(i) == freqs[i]);
    before = docids.back();
  }
}

/// Changes some words: the result is ascending docIDs, or the decoder reports damage.
template <class Decoder>
void check_damaged(SerialList& list, Random& random) {
  const Words whole = list.words();
  for (unsigned damage = 0; damage < 20; ++damage) {
    list.words() = whole;
    for (unsigned i = 0; i < 3; ++i)
      list.words()[random() % list.coded_words()] ^= static_cast<std::uint32_t>(1u << random() % 32);
    for (std::size_t block = 0; block < list.num_blocks(); ++block) {
      const gpu::BlockPlace place = list.place(block, static_cast<docid_t>(random() % 1000));
      std::vector<std::uint32_t> docids(place.n), freqs(place.n);
      Decoder decoder(list.means());
      if (!decoder.open(place)) continue;
      if (decoder.docids(docids.data())) {
        REQUIRE(docids.front() > place.before);
        REQUIRE(std::adjacent_find(docids.begin(), docids.end(), std::greater_equal<>()) == docids.end());
        REQUIRE(docids.back() < num_documents);
      }
      decoder.freqs(freqs.data());
      if constexpr (Decoder::has_separate_freqs)
        for (std::uint32_t i = 0; i < place.n; i += 7) decoder.separate_freq(i);
    }
  }
}

std::vector<List> lists_of_all_kinds(Random& random) {
  std::vector<List> lists;
  for (const std::size_t n : {1u, 2u, 63u, 64u, 65u, 700u}) {
    lists.push_back(clustered_list(random, n, 20));
    lists.push_back({random_values(random, n, 0), random_values(random, n, 0)});
    lists.push_back({random_values(random, n, 3, 20, 30), random_values(random, n, 1, 18, 60)});
    lists.push_back({random_values(random, n, 12, 21, 200), random_values(random, n, 5, 27, 300)});
  }
  return lists;
}

template <class Decoder>
void check_codec(std::string_view name, unsigned recursions) {
  Random random(11);
  for (const unsigned block_size : {2u, 4u, 16u, 64u, 128u, 256u, 512u}) {
    for (unsigned recursion = 0; recursion <= recursions; ++recursion) {
      for (const List& coded_list : lists_of_all_kinds(random)) {
        INFO(name << ", blocks of " << block_size << ", recursion " << recursion << ", " << coded_list.size()
                  << " postings");
        SerialList list(codec_named(name), {block_size, recursion}, coded_list);
        check_sound<Decoder>(list);
        check_damaged<Decoder>(list, random);
      }
    }
  }
}

}  // namespace

TEST_CASE("maskpfd blocks are decoded serially as by the codec", "[gpu_serial][maskpfd][property]") {
  check_codec<gpu::SerialMaskPfd>("maskpfd", 0);
}

TEST_CASE("newpfd blocks are decoded serially as by the codec", "[gpu_serial][newpfd][property]") {
  check_codec<gpu::SerialNewPfd>("newpfd", 0);
}

TEST_CASE("rpfd blocks are decoded serially as by the codec", "[gpu_serial][rpfd][property]") {
  check_codec<gpu::SerialRpfd>("rpfd", rpfd::max_recursion);
}

TEST_CASE("rice blocks are decoded serially as by the codec", "[gpu_serial][rice][property]") {
  check_codec<gpu::SerialRice>("rice", 0);
}

}  // namespace quern
