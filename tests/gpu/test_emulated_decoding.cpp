#include "gpu/emulated_gpu.hpp"
//
#include "gpu/host_index.hpp"
#include "gpu/indexed_corpus.hpp"
//
#include <array>
#include <iterator>
#include <numeric>
#include <random>

#include "quern/formats/posting_reader.hpp"
#include "quern/gpu/decode/decode_lists.cuh"
#include "quern/gpu/range/range_lookup.cuh"

#include "catch.hpp"
#include "codec/posting_lists.hpp"
#include "index/pipeline/pipeline.hpp"

/// Warp decoders, and lookups in their output, run by an emulated GPU.
namespace quern {
namespace {

using namespace testing;
using gpu::Coding;

/// Runs decode_own_blocks() in two thread blocks.
template <Coding coding, bool sums>
void decode(const gpu::IndexView& index, const std::vector<gpu::ListView>& lists, const gpu::DecodeOutput& out) {
  gpu::with_lanes_per_block<coding>(index.block_size, [&]<int V, int L>() {
    static gpu::WarpBuffers<V> buffers;
    emulated::run(2, gpu::plain_threads, [&] {
      const auto num_lists = static_cast<std::uint32_t>(lists.size());
      if (index.block_size == V * L)
        gpu::decode_own_blocks<coding, V, L, true, sums>(index, lists.data(), num_lists, out,
                                                         gpu::begin_decoding<coding>(buffers));
      else
        gpu::decode_own_blocks<coding, V, L, false, sums>(index, lists.data(), num_lists, out,
                                                          gpu::begin_decoding<coding>(buffers));
    });
  });
}

/// Decodes all lists with block rows to memory, and compares them with the CPU's.
template <Coding coding>
void check_decoding(const HostIndex& index) {
  const IndexReader& reader = index.engine().index();
  std::vector<gpu::ListView> views;
  std::vector<std::uint64_t> first_posting, first_block{0};
  std::vector<PostingList> lists;
  std::uint64_t end = 0;
  for (std::uint64_t block = 0; block < reader.num_lexicon_blocks(); ++block)
    reader.for_each_list(block, [&](std::string_view, const PostingList& list) {
      if (list.block_last.empty()) return;
      lists.push_back(list);
      views.push_back(gpu::coded_view(reader, list));
      first_posting.push_back(end);
      first_block.push_back(first_block.back() + list.block_last.size());
      end += (list.df + 3) / 4 * 4;
    });
  REQUIRE(!lists.empty());
  // Aligned, since four postings are stored at once.
  std::vector<uint4> docids(end / 4, uint4{7, 7, 7, 7}), freqs = docids;
  gpu::DecodeOutput out;
  out.docids = &docids.data()->x;
  out.freqs = &freqs.data()->x;
  out.first_posting = first_posting.data();
  out.first_block = first_block.data();
  out.end_block = first_block.back();
  std::vector<uint4> distances = docids;
  gpu::DecodeOutput out_distances = out;
  out_distances.docids = &distances.data()->x;
  out_distances.freqs = nullptr;
  decode<coding, true>(index.view, views, out);
  decode<coding, false>(index.view, views, out_distances);
  REQUIRE(index.damaged() == 0);
  for (std::size_t i = 0; i < lists.size(); ++i) {
    BlockReader blocks(reader, lists[i]);
    std::uint64_t at = first_posting[i];
    docid_t before = end_docid;
    for (std::size_t block = 0; block < blocks.num_blocks(); ++block) {
      blocks.load(block);
      bool same = true;
      for (unsigned j = 0; j < blocks.size(); ++j, ++at) {
        same &= out.docids[at] == blocks.docids()[j] && out.freqs[at] == blocks.freqs()[j];
        same &= out_distances.docids[at] == blocks.docids()[j] - before;
        before = blocks.docids()[j];
      }
      INFO("list " << i << ", block " << block);
      REQUIRE(same);
    }
  }
}

/// Decodes a list of a codec that has no tables, and compares it with its values.
template <Coding coding>
void check_list(const Codec& codec, unsigned block_size, const test::List& list) {
  const test::CodedList coded = test::encode(*codec.make_encoder({block_size, 1}), list, block_size);
  Words words = coded.words;
  words.resize(words.size() + 4096);
  std::vector<std::uint32_t> rows(coded.starts.begin(), coded.starts.end() - 1), lasts, docids;
  docid_t before = end_docid;
  for (const std::uint32_t gap : list.gaps) docids.push_back(before += gap + 1);
  for (std::size_t end = block_size; lasts.size() < rows.size(); end += block_size)
    lasts.push_back(docids[std::min(end, docids.size()) - 1]);
  std::uint32_t damaged = 0;
  gpu::IndexView index;
  index.postings = words.data();
  index.block_last = lasts.data();
  index.block_offset = rows.data();
  index.block_size = block_size;
  index.recursion = 1;
  index.damaged = &damaged;
  gpu::ListView view;
  view.words = view.front_words = static_cast<std::uint32_t>(coded.words.size());
  view.df = static_cast<std::uint32_t>(list.size());
  view.rows = static_cast<std::uint32_t>(rows.size());
  std::vector<uint4> decoded(docids.size() / 4 + 1), freqs = decoded;
  const std::uint64_t first_posting[] = {0}, first_block[] = {0, rows.size()};
  gpu::DecodeOutput out;
  out.docids = &decoded.data()->x;
  out.freqs = &freqs.data()->x;
  out.first_posting = first_posting;
  out.first_block = first_block;
  out.end_block = rows.size();
  decode<coding, true>(index, {view}, out);
  REQUIRE(damaged == 0);
  REQUIRE(std::equal(docids.begin(), docids.end(), out.docids));
  for (std::size_t i = 0; i < docids.size(); ++i) REQUIRE(out.freqs[i] == list.freqs[i] + 1);
}

}  // namespace

TEST_CASE("emulated warps decode any number of exceptions of any width", "[gpu_emulated][codec][property]") {
  test::Random random(19);
  for (const Codec* codec : all_codecs()) {
    if (codec->name == "rpfd" || codec->name == "rice") continue;  // these have list headers
    for (const unsigned block_size : {2u, 64u, 128u, 256u, 512u})
      for (unsigned trial = 0; trial < 60; ++trial) {
        const auto width = static_cast<unsigned>(random() % 8), outliers = static_cast<unsigned>(random() % 400);
        const std::size_t n = 1 + random() % (9 * block_size);
        const test::List list{test::random_values(random, n, width, 1 + trial % 32, outliers),
                              test::random_values(random, n, width / 4, 1 + trial % 32, outliers / 2)};
        INFO(codec->name << ", blocks of " << block_size << ", " << n << " postings of " << width
                         << " bits, outliers of " << 1 + trial % 32);
        if (codec->name == "newpfd")
          check_list<Coding::newpfd>(*codec, block_size, list);
        else
          check_list<Coding::maskpfd>(*codec, block_size, list);
      }
  }
}

TEST_CASE("emulated kernels decode lists as the CPU does", "[gpu_emulated][codec][property]") {
  for (const unsigned block_size : {2u, 64u, 128u, 256u, 512u}) {
    const docid_t several_blocks = block_size == 2 ? 120 : 1400;
    IndexedCorpus corpus(41, {several_blocks, 70, 20, false});
    for (const Codec* codec : all_codecs()) {
      for (const unsigned recursion : {1u, 2u}) {
        if (recursion != 1 && codec->name != "rpfd") continue;
        const BuildOptions options = coded(*codec, {block_size, recursion});
        INFO(coding_text(options));
        const IndexReader index = corpus.index(options);
        const QueryEngine engine(index, {});
        const HostIndex host(engine);
        gpu::with_coding(host.coding(), [&]<Coding coding>() { check_decoding<coding>(host); });
      }
    }
  }
}

TEST_CASE("an emulated warp finds the entries of documents in a list, and no others", "[gpu_emulated][property]") {
  std::mt19937 random(7);
  for (const std::uint32_t count : {1u, 2u, 3u, 31u, 32u, 33u, 64u, 65u, 100u, 1000u, 5000u, gpu::range_documents}) {
    INFO(count);
    std::vector<std::uint32_t> all(gpu::range_documents), documents;
    std::iota(all.begin(), all.end(), 0u);
    std::sample(all.begin(), all.end(), std::back_inserter(documents), count, random);
    std::vector<std::uint32_t> entries;
    for (const std::uint32_t document : documents) entries.push_back(gpu::entry_of(document, random() & 0xffff));
    for (unsigned turn = 0; turn < 20; ++turn) {
      std::array<std::uint32_t, gpu::lanes_per_warp> asked{}, found{};
      for (std::uint32_t& document : asked)
        document = random() % 2 == 0 ? documents[random() % count] : static_cast<std::uint32_t>(random() % all.size());
      emulated::run(1, gpu::lanes_per_warp, [&] {
        const unsigned lane = gpu::lane_id();
        found[lane] = gpu::find_entry(entries.data(), count, asked[lane], lane % 7 != 3);
      });
      for (unsigned lane = 0; lane < gpu::lanes_per_warp; ++lane) {
        if (lane % 7 == 3) continue;
        const auto place = std::lower_bound(documents.begin(), documents.end(), asked[lane]) - documents.begin();
        const bool there = std::size_t(place) < documents.size() && documents[std::size_t(place)] == asked[lane];
        REQUIRE((gpu::document_of(found[lane]) == asked[lane]) == there);
        if (there) REQUIRE(found[lane] == entries[std::size_t(place)]);
      }
    }
  }
}

}  // namespace quern
