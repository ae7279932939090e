#include <fmt/format.h>

#include <algorithm>

#include "quern/core/error.hpp"
#include "quern/core/random.hpp"
#include "quern/io/checksum.hpp"

#include "catch.hpp"
#include "corpus/temporary_folder.hpp"
#include "formats/container_writing.hpp"

using namespace quern;
using namespace quern::testing;

namespace {

constexpr FileKind kind = FileKind::order;

/// A container with another format version in its header, whose checksum is right.
Bytes with_version(Bytes container, std::uint32_t version) {
  constexpr std::size_t version_at = 12, sum_at = 56;
  for (unsigned i = 0; i < 4; ++i) container[version_at + i] = static_cast<std::uint8_t>(version >> 8 * i);
  const std::uint64_t sum = xxh3(ByteView(container).first(sum_at));
  for (unsigned i = 0; i < 8; ++i) container[sum_at + i] = static_cast<std::uint8_t>(sum >> 8 * i);
  return container;
}

/// Opens and verifies bytes as a container.
class Containers {
 public:
  File file(ByteView bytes) const {
    File file = File::anonymous(folder_.path(""));
    file.write_at(0, bytes);
    return file;
  }
  ContainerReader reader(ByteView bytes) const { return {testing::shared(file(bytes)), kind}; }
  void verify(ByteView bytes) const { reader(bytes).verify(default_resources()); }
  Bytes bytes(const Sections& sections) const { return bytes_of(container_file(folder_.path(""), kind, sections)); }
  /// The error of opening or verifying; empty if there is none.
  std::string complaint(ByteView bytes) const {
    try {
      verify(bytes);
    } catch (const CorruptFile& error) {
      return error.what();
    }
    return "";
  }
  const TemporaryFolder& folder() const { return folder_; }

 private:
  TemporaryFolder folder_;
};

Sections small_sections() {
  return {
      {"numbers", Bytes{1, 0, 0, 0, 2, 0, 0, 0}}, {"empty", {}}, {"manifest", Bytes{'{', '}'}}, {"odd", Bytes(65, 9)}};
}

bool contains(const std::string& text, const std::string& part) { return text.find(part) != text.npos; }

}  // namespace

TEST_CASE("Sections are read back as they were written, aligned", "[format]") {
  const Containers containers;
  const Sections sections = small_sections();
  const Bytes bytes = containers.bytes(sections);
  const ContainerReader reader = containers.reader(bytes);
  REQUIRE(reader.sections().size() == sections.size());
  for (const auto& [name, wanted] : sections) {
    CHECK(reader.find(name).offset % section_alignment == 0);
    const ByteView found = reader.view(name);
    CHECK(Bytes(found.begin(), found.end()) == wanted);
  }
  CHECK(testing::sections_of(reader) == sections);
  CHECK(reader.manifest() == "{}");
  const auto numbers = reader.array<std::uint32_t>("numbers");
  CHECK(std::vector<std::uint32_t>(numbers.begin(), numbers.end()) == std::vector<std::uint32_t>{1, 2});
  CHECK(reader.load_array<std::uint32_t>("numbers", 2) == std::vector<std::uint32_t>{1, 2});
  CHECK_THROWS_AS(reader.load_array<std::uint32_t>("numbers", 3), CorruptFile);
  CHECK_THROWS_AS(reader.load_array<std::uint32_t>("odd", 16), CorruptFile);
  CHECK_THROWS_AS(reader.array<std::uint16_t>("odd"), CorruptFile);
  CHECK_THROWS_AS(reader.find("missing"), CorruptFile);
  CHECK(reader.has("odd"));
  CHECK_FALSE(reader.has("missing"));
  CHECK_NOTHROW(reader.verify(default_resources()));
  CHECK(containers.bytes(sections) == bytes);
}

TEST_CASE("A container without sections is one", "[format]") {
  const Containers containers;
  const Bytes bytes = containers.bytes({});
  CHECK(containers.reader(bytes).sections().empty());
  CHECK(containers.complaint(bytes) == "");
}

TEST_CASE("A changed bit anywhere in a container is found", "[format][property]") {
  const Containers containers;
  const Bytes bytes = containers.bytes(small_sections());
  RandomBits random(17);
  for (std::size_t at = 0; at < bytes.size(); ++at) {
    Bytes changed = bytes;
    changed[at] ^= static_cast<std::uint8_t>(1u << random.below(8));
    INFO("byte " << at);
    CHECK_THROWS_AS(containers.verify(changed), CorruptFile);
  }
}

TEST_CASE("A container cut anywhere, or with bytes added, is found on opening", "[format][property]") {
  const Containers containers;
  const Bytes bytes = containers.bytes(small_sections());
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    INFO(size << " bytes");
    CHECK_THROWS_AS(containers.reader(ByteView(bytes).first(size)), CorruptFile);
  }
  Bytes longer = bytes;
  longer.push_back(0);
  CHECK_THROWS_AS(containers.reader(longer), CorruptFile);
}

TEST_CASE("Errors distinguish another kind, another version and another file", "[format]") {
  const Containers containers;
  const Bytes bytes = containers.bytes(small_sections());
  const auto open = [&](FileKind wanted, ByteView file) {
    return ContainerReader(testing::shared(containers.file(file)), wanted);
  };
  CHECK_THROWS_AS(open(FileKind::collection, bytes), InvalidArgument);
  for (const std::uint32_t version : {0u, format_version(kind) + 1, 0xffffffffu}) {
    const Bytes other = with_version(bytes, version);
    CHECK_THROWS_AS(open(kind, other), UnsupportedVersion);
    CHECK_THROWS_WITH(open(kind, other), Catch::Contains(fmt::format("has format version {}", version)));
    // The kind counts first: a version belongs to a kind.
    CHECK_THROWS_AS(open(FileKind::index, other), InvalidArgument);
  }
  CHECK(contains(containers.complaint(as_bytes("something else, and long enough to hold a whole header of 64 bytes")),
                 "is not a Quern file"));
  CHECK(contains(containers.complaint({}), "is not a Quern file"));
  CHECK(contains(containers.complaint(ByteView(bytes).first(20)), "truncated"));
  CHECK(contains(containers.complaint(ByteView(bytes).first(bytes.size() - 1)), "truncated"));

  const std::string path = containers.folder().write("file", as_text(bytes));
  CHECK(kind_of_file(path) == kind);
  CHECK(kind_name(kind) == "order");
  CHECK_THROWS_AS(kind_of_file(containers.folder().write("other", "x")), CorruptFile);
  CHECK_THROWS_AS(kind_of_file(containers.folder().path("")), InvalidArgument);
  CHECK_THROWS_AS(kind_of_file(containers.folder().path("missing")), IoError);
}

TEST_CASE("Damage in a large section is named with section, block and bytes", "[format]") {
  const Containers containers;
  Bytes large(2 * container_chunk_bytes + 100);
  RandomBits random(19);
  for (std::uint8_t& byte : large) byte = static_cast<std::uint8_t>(random.next());
  const Sections sections = {{"first", Bytes(10, 1)}, {"large", large}, {"exact", Bytes(container_chunk_bytes, 2)}};
  const Bytes bytes = containers.bytes(sections);
  CHECK(containers.complaint(bytes) == "");
  const ContainerReader reader = containers.reader(bytes);
  CHECK(testing::sections_of(reader) == sections);

  const std::uint64_t offset = reader.find("large").offset;
  for (const std::uint64_t block : {0, 1, 2}) {
    Bytes changed = bytes;
    changed[offset + block * container_chunk_bytes + 50] ^= 1;
    const std::string complaint = containers.complaint(changed);
    CHECK(contains(complaint, "section 'large'"));
    CHECK(contains(complaint, "block " + std::to_string(block) + " (bytes " +
                                  std::to_string(offset + block * container_chunk_bytes) + " to "));
  }
  Bytes changed = bytes;
  changed[reader.find("exact").offset + container_chunk_bytes - 1] ^= 1;
  CHECK(contains(containers.complaint(changed), "section 'exact'"));
}

TEST_CASE("The damaged manifest is found when it is read", "[format]") {
  const Containers containers;
  Bytes bytes = containers.bytes(small_sections());
  bytes[containers.reader(bytes).find("manifest").offset] ^= 1;
  CHECK_THROWS_AS(containers.reader(bytes).manifest(), CorruptFile);
}

TEST_CASE("The content's hash depends on every section's name and bytes", "[format]") {
  const Containers containers;
  const auto hash = [&](const Sections& sections) {
    return containers.reader(containers.bytes(sections)).content_hash();
  };
  const std::uint64_t wanted = hash(small_sections());
  CHECK(hash(small_sections()) == wanted);
  for (std::size_t i = 0; i < small_sections().size(); ++i) {
    Sections sections = small_sections();
    sections[i].second.push_back(0);
    CHECK(hash(sections) != wanted);
    sections = small_sections();
    sections[i].first += 'x';
    CHECK(hash(sections) != wanted);
  }
}

TEST_CASE("A section can be written in pieces, and copied from a temporary file", "[format]") {
  const Containers containers;
  Bytes large(container_chunk_bytes + 12345);
  RandomBits random(23);
  for (std::uint8_t& byte : large) byte = static_cast<std::uint8_t>(random.next());
  File file = File::anonymous(containers.folder().path(""));
  ContainerWriter writer(file, kind);
  writer.begin_section("one");
  for (ByteView left = large; !left.empty();) {
    const std::size_t size = std::min<std::size_t>(left.size(), 1 + random.below(300000));
    writer.write(left.first(size));
    left = left.subspan(size);
  }
  CHECK(writer.section_size() == large.size());
  writer.end_section();
  Spool spool(containers.folder().path(""));
  spool.append(large);
  writer.add_section("two", spool);
  writer.finish();
  CHECK(bytes_of(file) == containers.bytes({{"one", large}, {"two", large}}));
}

TEST_CASE("The writer refuses sections that a table can't hold", "[format]") {
  const Containers containers;
  File file = File::anonymous(containers.folder().path(""));
  ContainerWriter writer(file, kind);
  CHECK_THROWS_AS(writer.begin_section("a name of twenty-four by"), Error);
  CHECK_NOTHROW(writer.add_section("a name of twenty-three ", ByteView{}));
  writer.begin_section("open");
  CHECK_THROWS_AS(writer.begin_section("within"), Error);
  writer.end_section();
  for (int i = 2; i < 64; ++i) writer.add_section(std::to_string(i), ByteView{});
  CHECK_THROWS_AS(writer.begin_section("one too many"), Error);
}

TEST_CASE("Hostile tables with right checksums are refused", "[format]") {
  const Containers containers;
  const Bytes sound = containers.bytes(small_sections());
  const auto table_offset = static_cast<std::size_t>(load_le<std::uint64_t>(sound.data() + 24));
  // Recomputes the sums of header and table, like an attacker.
  const auto with_sums = [&](Bytes bytes) {
    store_le(bytes.data() + 40, xxh3(ByteView(bytes).subspan(table_offset)));
    store_le(bytes.data() + 56, xxh3(ByteView(bytes).first(56)));
    return bytes;
  };
  REQUIRE(with_sums(sound) == sound);
  const std::vector<std::uint64_t> wrong = {1, 63, 64, 1u << 30, UINT64_MAX, UINT64_MAX - 63, std::uint64_t{1} << 63};
  for (std::size_t row = 0; row < small_sections().size(); ++row) {
    for (const std::size_t field : {24, 32, 48, 56}) {
      for (const std::uint64_t value : wrong) {
        Bytes bytes = sound;
        std::uint8_t* at = bytes.data() + table_offset + row * 64 + field;
        if (load_le<std::uint64_t>(at) == value) continue;
        store_le(at, value);
        INFO("row " << row << ", field " << field << ", value " << value);
        CHECK_THROWS_AS(containers.verify(with_sums(bytes)), CorruptFile);
      }
    }
  }
  for (const std::size_t field : {16, 24}) {
    for (const std::uint64_t value : wrong) {
      Bytes bytes = sound;
      store_le(bytes.data() + field, value);
      store_le(bytes.data() + 56, xxh3(ByteView(bytes).first(56)));
      CHECK_THROWS_AS(containers.reader(bytes), CorruptFile);
    }
  }
  for (const std::size_t field : {32, 36}) {
    for (const std::uint32_t value : {0u, 1u, 5u, 65u, UINT32_MAX}) {
      Bytes bytes = sound;
      store_le(bytes.data() + field, value);
      store_le(bytes.data() + 56, xxh3(ByteView(bytes).first(56)));
      CHECK_THROWS_AS(containers.reader(bytes), CorruptFile);
    }
  }
}
