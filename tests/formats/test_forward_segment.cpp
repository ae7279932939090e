#include <algorithm>
#include <map>
#include <set>

#include "quern/codec/kernels.hpp"
#include "quern/core/random.hpp"
#include "quern/formats/forward_segment.hpp"

#include "catch.hpp"

/// Round trips of forward segments, and robustness against any bytes.
namespace quern {
namespace {

struct Place {
  DocumentStream stream;
  std::string literal;  ///< a term that isn't in the index
  std::optional<term_t> number;
  bool operator==(const Place&) const = default;
};

/// Random positions of all streams, in order.
std::vector<Place> random_places(RandomBits& random, std::uint64_t index_terms, std::size_t count) {
  std::vector<Place> places;
  for (std::size_t stream = 0; stream < num_document_streams; ++stream) {
    const std::size_t stream_count = random.below(2) == 0 ? count / 4 : random.below(count / 2 + 1);
    for (std::size_t i = 0; i < stream_count; ++i) {
      Place place{static_cast<DocumentStream>(stream), {}, {}};
      const std::uint64_t kind = random.below(10);
      if (kind == 0) place.literal = "literal" + std::to_string(random.below(20));
      if (kind > 1 && index_terms > 0)
        place.number = static_cast<term_t>(
            random.below(random.below(2) == 0 ? std::min<std::uint64_t>(index_terms, 30) : index_terms));
      places.push_back(place);
    }
  }
  return places;
}

Bytes coded(const std::vector<Place>& places, std::uint64_t index_terms) {
  SegmentBuilder builder;
  std::map<term_t, SegmentBuilder::Key> keys;
  std::map<std::string, SegmentBuilder::Key> literal_keys;
  for (const Place& place : places) {
    SegmentBuilder::Key key = SegmentBuilder::phrase_end_key;
    if (place.number) {
      const auto [known, is_new] = keys.try_emplace(*place.number);
      if (is_new) known->second = builder.add_term(*place.number);
      key = known->second;
    } else if (!place.literal.empty()) {
      const auto [known, is_new] = literal_keys.try_emplace(place.literal);
      if (is_new) known->second = builder.add_literal(place.literal);
      key = known->second;
    }
    builder.add_place(place.stream, key);
  }
  Bytes bytes;
  builder.encode(index_terms, bytes);
  return bytes;
}

/// Adds the readable bytes after a segment.
Bytes with_slack(Bytes bytes) {
  bytes.resize(bytes.size() + ForwardSegment::slack_bytes);
  return bytes;
}

std::vector<Place> decoded(const ForwardSegment& segment) {
  std::vector<term_t> numbers;
  std::vector<std::string_view> literals;
  segment.read_terms(numbers, literals, "a segment");
  std::vector<std::uint32_t> ids(segment.places() + unpack_slack);
  segment.unpack(0, segment.places(), ids.data());
  std::vector<Place> places;
  std::size_t at = 0;
  for (std::size_t stream = 0; stream < num_document_streams; ++stream) {
    for (std::uint32_t i = 0; i < segment.stream_places()[stream]; ++i) {
      Place place{static_cast<DocumentStream>(stream), {}, {}};
      const std::uint32_t id = ids[at++];
      if (id > numbers.size()) {
        place.literal = literals.at(id - numbers.size() - 1);
      } else if (id > 0) {
        place.number = numbers[id - 1];
      }
      places.push_back(place);
    }
  }
  return places;
}

}  // namespace

TEST_CASE("segments return their positions, and the ids of their terms", "[forward][property]") {
  RandomBits random(4711);
  for (int round = 0; round < 400; ++round) {
    const std::uint64_t index_terms =
        round % 7 == 0 ? random.below(3) : random.below(std::uint64_t{1} << random.below(33));
    const std::vector<Place> places = random_places(random, std::min(index_terms, std::uint64_t{0xfffffffe}),
                                                    1 + random.below(round % 10 == 0 ? 20000 : 300));
    INFO(round << ": " << index_terms << " terms, " << places.size() << " places");
    const Bytes bytes = coded(places, index_terms);
    if (places.empty()) {
      CHECK(bytes.empty());
      continue;
    }
    const Bytes readable = with_slack(bytes);
    ByteReader reader(ByteView(readable).first(bytes.size()), "a segment");
    const ForwardSegment segment(reader, index_terms);
    CHECK(reader.done());
    CHECK(decoded(segment) == places);

    std::set<term_t> numbers;
    std::set<std::string> literals;
    for (const Place& place : places) {
      if (place.number) numbers.insert(*place.number);
      if (!place.literal.empty()) literals.insert(place.literal);
    }
    std::uint32_t id = 1;
    ForwardSegment::NumberSearch search;
    for (const term_t number : numbers) {
      // Includes their neighbours, which are usually missing.
      for (const std::uint64_t asked : {std::uint64_t{number} - (number > 0), std::uint64_t{number} + 1})
        if (asked < index_terms && !numbers.contains(static_cast<term_t>(asked)))
          CHECK(segment.id_of(static_cast<term_t>(asked)) == 0);
      // One search for some of the ascending numbers, and for larger, missing ones.
      if (random.below(2) == 0) CHECK(segment.id_of(number, search) == id);
      if (number + std::uint64_t{1} < index_terms && !numbers.contains(number + 1) && random.below(4) == 0)
        CHECK(segment.id_of(number + 1, search) == 0);
      CHECK(segment.id_of(number) == id++);
    }
    std::vector<std::string> asked{"", "literal", "m"};
    asked.insert(asked.end(), literals.begin(), literals.end());
    std::sort(asked.begin(), asked.end());
    std::map<std::string, std::uint32_t> found;
    segment.find_literals(
        asked.size(), [&](std::size_t i) -> std::string_view { return asked[i]; },
        [&](std::size_t i, std::uint32_t literal_id) { found[asked[i]] = literal_id; });
    CHECK(found.size() == literals.size());
    for (const std::string& literal : literals) {
      CHECK(found[literal] == id);
      CHECK(segment.id_of(literal) == id++);
    }
    CHECK(segment.id_of("literal") == 0);
    if (index_terms > 0) {
      const auto last = static_cast<term_t>(index_terms - 1);
      CHECK((segment.id_of(last) != 0) == numbers.contains(last));
    }
  }
}

TEST_CASE("damaged segments are errors, or have different positions", "[forward][property]") {
  RandomBits random(4712);
  const std::vector<Place> places = random_places(random, 5000, 400);
  const Bytes sound = coded(places, 5000);
  std::size_t refused = 0, changed = 0;
  for (int round = 0; round < 3000; ++round) {
    Bytes bytes = sound;
    for (std::uint64_t i = 0; i <= random.below(3); ++i)
      bytes[random.below(random.below(2) == 0 ? 24 : bytes.size())] = static_cast<std::uint8_t>(random.below(256));
    if (random.below(4) == 0) bytes.resize(random.below(bytes.size()) + 1);
    const std::size_t size = bytes.size();
    const Bytes readable = with_slack(std::move(bytes));
    try {
      ByteReader reader(ByteView(readable).first(size), "a segment");
      const ForwardSegment segment(reader, 5000);
      for (const term_t number : {0u, 1u, 7u, 100u, 2500u, 4999u}) segment.id_of(number);
      segment.id_of("literal3");
      std::vector<std::uint32_t> ids(segment.places() + unpack_slack);
      segment.unpack(0, segment.places(), ids.data());
      std::vector<term_t> numbers;
      std::vector<std::string_view> literals;
      segment.read_terms(numbers, literals, "a segment");
      ++changed;
    } catch (const CorruptFile&) {
      ++refused;
    }
  }
  CHECK(refused > 100);
  CHECK(changed > 100);
}

}  // namespace quern
