#include <algorithm>
#include <map>
#include <set>

#include "quern/core/error.hpp"
#include "quern/core/random.hpp"
#include "quern/formats/order_file.hpp"
#include "quern/formats/term_dictionary.hpp"
#include "quern/io/file.hpp"

#include "catch.hpp"
#include "corpus/temporary_folder.hpp"
#include "formats/container_writing.hpp"

using namespace quern;
using quern::testing::Sections;
using quern::testing::TemporaryFolder;

namespace {

using Terms = std::map<std::string, std::string>;

/// The sections of a dictionary.
Sections sections_of_terms(const Terms& terms) {
  Bytes bytes;
  DictionaryWriter writer([&](ByteView some) { bytes.insert(bytes.end(), some.begin(), some.end()); }, ".");
  for (const auto& [term, payload] : terms) writer.add(term, as_bytes(payload));
  REQUIRE(writer.size() == terms.size());
  Bytes offsets;
  writer.finish().for_each_piece([&](ByteView some) { offsets.insert(offsets.end(), some.begin(), some.end()); });
  return {{"terms", bytes}, {"terms_blocks", offsets}};
}

ContainerReader container_of(const TemporaryFolder& folder, const Sections& sections) {
  return {testing::shared(testing::container_file(folder.path(""), FileKind::order, sections)), FileKind::order};
}

/// Looks up a term's number and payload.
std::optional<std::pair<std::uint64_t, std::string>> look_up(const TermDictionary& dictionary, std::string_view term) {
  const auto number = dictionary.block_of(term);
  if (!number) return std::nullopt;
  std::uint64_t place = *number * terms_per_block;
  const auto payload = dictionary.block(*number).find(term, [&](ByteView) { ++place; });
  if (!payload) return std::nullopt;
  return std::pair(place, std::string(as_text(*payload)));
}

Terms all_of(DictionaryScan scan) {
  Terms terms;
  DictionaryEntry entry;
  std::string last;
  while (scan.next(entry)) {
    REQUIRE((terms.empty() || entry.term > last));
    last = entry.term;
    terms[last] = as_text(entry.payload);
  }
  return terms;
}

void check_dictionary(const Terms& terms, const std::set<std::string>& absent) {
  const TemporaryFolder folder;
  const ContainerReader container = container_of(folder, sections_of_terms(terms));
  const TermDictionary dictionary(container, "terms", terms.size());
  CHECK(dictionary.size() == terms.size());
  CHECK(dictionary.num_blocks() == (terms.size() + terms_per_block - 1) / terms_per_block);
  CHECK(all_of(DictionaryScan(container, "terms", terms.size())) == terms);
  std::uint64_t number = 0;
  bool all_found = true;
  for (const auto& [term, payload] : terms)
    all_found = all_found && look_up(dictionary, term) == std::pair(number++, payload);
  CHECK(all_found);
  for (const std::string& term : absent)
    if (!terms.contains(term)) CHECK_FALSE(look_up(dictionary, term));
}

std::string random_term(RandomBits& random) {
  const std::string_view alphabet("ab\0\xff\xc3", 5);
  std::string term;
  for (std::uint64_t length = random.below(12); length > 0; --length) term += alphabet[random.below(5)];
  return term;
}

}  // namespace

TEST_CASE("Dictionaries of about a block find each term and its number", "[format]") {
  for (const int count : {0, 1, 2, 31, 32, 33, 63, 64, 65, 1000}) {
    Terms terms;
    for (int i = 0; i < count; ++i) terms["term" + std::to_string(10000 + 2 * i)] = std::string(i % 5, 'p');
    INFO(count << " terms");
    check_dictionary(terms, {"", "a", "term", "term10001", "term10063", "term10065", "term99999", "z", "\xff"});
  }
}

TEST_CASE("Random dictionaries agree with a map", "[format][property]") {
  RandomBits random(29);
  for (const int count : {10, 100, 3000}) {
    Terms terms;
    std::set<std::string> absent;
    for (int i = 0; i < count; ++i) {
      std::string payload(random.below(100) == 0 ? random.below(5000) : random.below(8), 'x');
      for (char& c : payload) c = static_cast<char>(random.next());
      terms[random_term(random)] = payload;
      absent.insert(random_term(random));
    }
    check_dictionary(terms, absent);
  }
}

TEST_CASE("A dictionary of more blocks than are read at once is scanned completely", "[format]") {
  Terms terms;
  for (int i = 0; i < 512 * 32 + 100; ++i) terms[std::to_string(100000 + i)] = std::to_string(i);
  check_dictionary(terms, {});
}

TEST_CASE("Terms with much in common are stored once", "[format]") {
  Terms terms;
  const std::string stem(200, 's');
  for (char c = 'a'; c <= 'z'; ++c) terms[stem + c] = "";
  CHECK(sections_of_terms(terms)[0].second.size() < stem.size() + 26 * 8);
  check_dictionary(terms, {stem, stem + "A", stem + "aa"});
}

TEST_CASE("Opening a large dictionary does not bring it into memory", "[format][memory]") {
  const TemporaryFolder folder;
  File file = File::create(folder.path("dictionary"));
  ContainerWriter out(file, FileKind::order);
  constexpr std::uint64_t terms = 64000;
  const Bytes payload(1000, 1);
  out.begin_section("terms");
  DictionaryWriter writer([&](ByteView some) { out.write(some); }, folder.path(""));
  for (std::uint64_t i = 0; i < terms; ++i) writer.add(std::to_string(1000000 + i), payload);
  const Spool& offsets = writer.finish();
  out.end_section();
  out.add_section("terms_blocks", offsets);
  out.finish();

  const ContainerReader container(testing::shared(std::move(file)), FileKind::order);
  const std::uint64_t before = resident_file_bytes();
  const TermDictionary dictionary(container, "terms", terms);
  CHECK(resident_file_bytes() < before + (16 << 20));
  CHECK(look_up(dictionary, "1063999")->first == terms - 1);
  CHECK(resident_file_bytes() < before + (16 << 20));
}

TEST_CASE("Terms out of order and twice are refused by the writer", "[format]") {
  DictionaryWriter writer([](ByteView) {}, ".");
  writer.add("b", {});
  CHECK_THROWS_AS(writer.add("b", {}), Error);
  CHECK_THROWS_AS(writer.add("a", {}), Error);
  CHECK_NOTHROW(writer.add("ba", {}));
}

TEST_CASE("A dictionary whose number of terms differs from the promised one is refused", "[format]") {
  const TemporaryFolder folder;
  Terms terms;
  for (int i = 0; i < 40; ++i) terms[std::to_string(100 + i)] = "";
  const ContainerReader container = container_of(folder, sections_of_terms(terms));
  for (const std::uint64_t count :
       {std::uint64_t{0}, std::uint64_t{32}, std::uint64_t{65}, UINT64_MAX, UINT64_MAX - 30}) {
    CHECK_THROWS_AS(TermDictionary(container, "terms", count), CorruptFile);
    CHECK_THROWS_AS(DictionaryScan(container, "terms", count), CorruptFile);
  }
  // The number of blocks is correct, but not that of the last block's terms.
  for (const std::uint64_t count : {33, 39, 41, 64})
    CHECK_THROWS_AS(all_of(DictionaryScan(container, "terms", count)), CorruptFile);
}

TEST_CASE("Damaged dictionaries are refused or read within bounds", "[format][property]") {
  const TemporaryFolder folder;
  RandomBits random(31);
  Terms terms;
  for (int i = 0; i < 100; ++i) terms[random_term(random)] = std::string(random.below(4), 'p');
  const Sections sound = sections_of_terms(terms);
  int refused = 0;
  for (int round = 0; round < 3000; ++round) {
    Sections sections = sound;
    Bytes& bytes = sections[random.below(2)].second;
    for (std::uint64_t changes = 1 + random.below(3); changes > 0; --changes)
      bytes[random.below(bytes.size())] = static_cast<std::uint8_t>(random.next());
    try {
      const ContainerReader container = container_of(folder, sections);
      const TermDictionary dictionary(container, "terms", terms.size());
      for (const char* term : {"", "a", "ab", "b\xff", "\xff"}) look_up(dictionary, term);
      DictionaryScan scan(container, "terms", terms.size());
      DictionaryEntry entry;
      for (std::uint64_t i = 0; scan.next(entry); ++i) REQUIRE(i < terms.size());
    } catch (const CorruptFile&) {
      ++refused;
    }
  }
  CHECK(refused > 300);
}
