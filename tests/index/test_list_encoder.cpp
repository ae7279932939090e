#include "quern/core/random.hpp"
#include "quern/index/list_encoder.hpp"

#include "catch.hpp"
#include "corpus/temporary_folder.hpp"

using namespace quern;
using quern::testing::TemporaryFolder;

namespace {

struct Documents {
  std::vector<Posting> postings;  ///< of one list
  std::vector<float> constants;
};

/// A list with gaps and frequencies of all sizes.
Documents random_list(std::size_t size) {
  RandomBits random(size);
  Documents made;
  docid_t docid = 0;
  for (std::size_t i = 0; i < size; ++i) {
    docid += static_cast<docid_t>(random.below(random.below(100) == 0 ? 300 : 4));
    made.postings.push_back({7, docid++, static_cast<freq_t>(1 + random.below(1 + random.below(40)))});
  }
  for (docid_t i = 0; i < docid; ++i) made.constants.push_back(0.3f + static_cast<float>(random.below(1000)) / 500);
  return made;
}

template <class Value>
std::vector<Value> all_of(const RecordSpool<Value>& spool) {
  std::vector<Value> values;
  spool.for_each([&](const Value& value) { values.push_back(value); });
  return values;
}

template <class Value>
std::vector<Value> all_of(std::span<const Value> values) {
  return {values.begin(), values.end()};
}

}  // namespace

TEST_CASE("A list too long for memory is coded like one in memory, and is kept in temporary files",
          "[index][encoding]") {
  const TemporaryFolder folder;
  // Codecs with statistics keep the values of lists up to 65,536 postings, and read longer ones twice.
  for (const std::size_t size : {17u, 128u, 129u, 20000u, 65536u, 200001u}) {
    const Documents documents = random_list(size);
    const auto spool = std::make_shared<RecordSpool<SpooledPosting>>(folder.path(""));
    spool->add({0, 1});  // of another list
    for (const Posting& posting : documents.postings) spool->add({posting.docid, posting.freq});
    for (const Codec* codec : all_codecs()) {
      for (const unsigned block_size : {2u, 128u}) {
        INFO(size << " postings, " << codec->name << ", blocks of " << block_size);
        const EncodingContext context{
            codec, {block_size, 1}, static_cast<docid_t>(documents.constants.size()), documents.constants};
        ListEncoding encoding(context);
        EncodedBatch whole(folder.path("")), spooled(folder.path(""));
        encoding.encode(OwnedLists{documents.postings}, whole);
        // Twice, since batches are reused.
        for (int turn = 0; turn < 2; ++turn) encoding.encode(LongList{7, size, spool, 1}, spooled);

        REQUIRE(whole.items.size() == 1);
        REQUIRE(spooled.items.size() == 1);
        const EncodedBatch::Item &a = whole.items.front(), &b = spooled.items.front();
        CHECK(b.term == a.term);
        CHECK(b.df == a.df);
        CHECK(b.cf == a.cf);
        CHECK(b.words == a.words);
        CHECK(b.rows == a.rows);
        CHECK(b.kth_impact == a.kth_impact);
        CHECK(spooled.bits.docid_bits == whole.bits.docid_bits);
        CHECK(spooled.bits.freq_bits == whole.bits.freq_bits);
        CHECK(spooled.words.capacity() * sizeof(std::uint32_t) <= (256 << 10));
        CHECK(spooled.block_last.capacity() * sizeof(docid_t) <= (256 << 10));

        const EncodedList in_memory = whole.list(a);
        CHECK(spooled.list(b).words.empty());
        CHECK((all_of(spooled.parts.words) == all_of(in_memory.words)));
        CHECK((all_of(spooled.parts.block_last) == all_of(in_memory.block_last)));
        CHECK((all_of(spooled.parts.block_offset) == all_of(in_memory.block_offset)));
        CHECK((all_of(spooled.parts.block_max) == all_of(in_memory.block_max)));
      }
    }
  }
}

namespace {

/// A ListPiece, including the posting before it.
ListPiece piece_of(std::span<const Posting> postings, std::uint64_t first) {
  ListPiece piece{postings[0].term, postings.size(), first, {}, {}};
  const std::uint64_t end = std::min<std::uint64_t>(postings.size(), first + list_piece_postings);
  for (std::uint64_t i = first > 0 ? first - 1 : 0; i < end; ++i) {
    piece.docids.push_back(postings[i].docid);
    piece.freqs.push_back(postings[i].freq);
  }
  return piece;
}

}  // namespace

TEST_CASE("A list encoded in pieces has the code of the whole list", "[index][encoding]") {
  const TemporaryFolder folder;
  Documents documents = random_list(3 * list_piece_postings + 100);
  const std::span<const Posting> postings = documents.postings;
  for (const Codec* codec : all_codecs()) {
    const CodecOptions options = {128, 1};
    if (!encodes_pieces(*codec, options)) continue;
    INFO(codec->name);
    ListEncoding encoding({codec, options, static_cast<docid_t>(documents.constants.size()), documents.constants});
    EncodedBatch whole(folder.path("")), batch(folder.path(""));
    encoding.encode(ViewedLists{documents.postings}, whole);
    PieceJoin join;
    Words words;
    std::vector<docid_t> block_last;
    std::vector<std::uint16_t> block_max;
    CodedBits bits;
    for (std::uint64_t first = 0; first < postings.size(); first += list_piece_postings) {
      encoding.encode(piece_of(postings, first), batch);
      CHECK(join.add(batch) == (first + list_piece_postings >= postings.size()));
      words.insert(words.end(), batch.words.begin(), batch.words.end());
      block_last.insert(block_last.end(), batch.block_last.begin(), batch.block_last.end());
      block_max.insert(block_max.end(), batch.block_max.begin(), batch.block_max.end());
      bits.docid_bits += batch.bits.docid_bits;
      bits.freq_bits += batch.bits.freq_bits;
    }
    const EncodedBatch::Item &a = whole.items.front(), &b = join.list();
    CHECK(b.term == a.term);
    CHECK(b.df == a.df);
    CHECK(b.cf == a.cf);
    CHECK(b.words == a.words);
    CHECK(b.rows == a.rows);
    CHECK(b.kth_impact == a.kth_impact);
    CHECK((words == whole.words));
    CHECK((block_last == whole.block_last));
    CHECK((block_max == whole.block_max));
    CHECK(bits.docid_bits == whole.bits.docid_bits);
    CHECK(bits.freq_bits == whole.bits.freq_bits);
  }
}
