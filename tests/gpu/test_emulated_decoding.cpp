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
#include "index/pipeline/pipeline.hpp"

/// Warp decoders, and lookups in their output, run by an emulated GPU.
namespace quern {
namespace {

using namespace testing;
using gpu::Coding;

/// Decodes all lists with block rows to memory with two thread blocks, and compares them with the CPU's.
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
  const auto num_lists = static_cast<std::uint32_t>(lists.size());
  std::vector<uint4> distances = docids;
  gpu::DecodeOutput out_distances = out;
  out_distances.docids = &distances.data()->x;
  out_distances.freqs = nullptr;
  gpu::with_lanes_per_block<coding>(index.view.block_size, [&]<int V, int L>() {
    static gpu::WarpBuffers<V> buffers;
    emulated::run(2, gpu::plain_threads, [&] {
      std::uint32_t* const buffer = buffers.own();
      if (index.view.block_size == V * L) {
        gpu::decode_own_blocks<coding, V, L, true, true>(index.view, views.data(), num_lists, out, buffer);
        gpu::decode_own_blocks<coding, V, L, true, false>(index.view, views.data(), num_lists, out_distances, buffer);
      } else {
        gpu::decode_own_blocks<coding, V, L, false, true>(index.view, views.data(), num_lists, out, buffer);
        gpu::decode_own_blocks<coding, V, L, false, false>(index.view, views.data(), num_lists, out_distances, buffer);
      }
    });
  });
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

}  // namespace

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
    for (const std::uint32_t document : documents) entries.push_back(document << 16 | (random() & 0xffff));
    for (unsigned turn = 0; turn < 20; ++turn) {
      std::array<std::uint32_t, gpu::lanes_per_warp> asked{}, found{};
      for (std::uint32_t& document : asked)
        document = random() % 2 == 0 ? documents[random() % count] : static_cast<std::uint32_t>(random() % all.size());
      emulated::run(1, gpu::lanes_per_warp, [&] {
        const unsigned lane = gpu::lane_id();
        found[lane] = gpu::entry_of(entries.data(), count, asked[lane], lane % 7 != 3);
      });
      for (unsigned lane = 0; lane < gpu::lanes_per_warp; ++lane) {
        if (lane % 7 == 3) continue;
        const auto place = std::lower_bound(documents.begin(), documents.end(), asked[lane]) - documents.begin();
        const bool there = std::size_t(place) < documents.size() && documents[std::size_t(place)] == asked[lane];
        REQUIRE((found[lane] >> 16 == asked[lane]) == there);
        if (there) REQUIRE(found[lane] == entries[std::size_t(place)]);
      }
    }
  }
}

}  // namespace quern
