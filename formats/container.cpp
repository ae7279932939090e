#include "quern/formats/container.hpp"

#include <fmt/format.h>
#include <tbb/parallel_for.h>

#include <filesystem>

#include "quern/io/atomic_output.hpp"
#include "quern/io/checksum.hpp"

namespace quern {
namespace {

constexpr std::array<std::uint8_t, 8> magic = {'Q', 'U', 'E', 'R', 'N', 0x1a, '\r', '\n'};
constexpr std::uint64_t header_bytes = 64;
constexpr std::uint64_t header_summed_bytes = 56;
constexpr std::uint64_t table_entry_bytes = 64;
constexpr std::size_t name_bytes = 24;
constexpr std::uint32_t max_sections = 64;

std::uint64_t aligned(std::uint64_t offset) { return (offset + section_alignment - 1) & ~(section_alignment - 1); }

std::uint64_t chunks_of(std::uint64_t size) { return (size + container_chunk_bytes - 1) / container_chunk_bytes; }

/// Reads the header; throws unless its checksum matches.
Bytes checked_header(const File& file) {
  Bytes header(header_bytes);
  const std::size_t got = file.size() < header_bytes ? 0 : file.read_some(0, header);
  const auto is_prefix_of_magic = [&] {
    Bytes start(magic.size());
    const std::size_t size = file.read_some(0, start);
    return std::equal(start.begin(), start.begin() + static_cast<std::ptrdiff_t>(size), magic.begin());
  };
  if (got != header_bytes) {
    throw CorruptFile(file.name() +
                      (file.size() > 0 && is_prefix_of_magic() ? ": is truncated" : ": is not a Quern file"));
  }
  if (!std::equal(magic.begin(), magic.end(), header.begin())) throw CorruptFile(file.name() + ": is not a Quern file");
  if (load_le<std::uint64_t>(header.data() + header_summed_bytes) != xxh3(ByteView(header).first(header_summed_bytes)))
    throw CorruptFile(file.name() + ": the header is damaged; build the file again, or restore a copy");
  return header;
}

ByteView chunk_of(ByteView section, std::uint64_t chunk) {
  const std::uint64_t at = chunk * container_chunk_bytes;
  return section.subspan(at, std::min<std::uint64_t>(container_chunk_bytes, section.size() - at));
}

std::uint64_t sum_of_chunk(const Bytes& sums, std::uint64_t chunk) {
  return load_le<std::uint64_t>(sums.data() + chunk * 8);
}

bool fits(ByteView bytes, const Bytes& sums, std::uint64_t chunk) { return xxh3(bytes) == sum_of_chunk(sums, chunk); }

[[noreturn]] void fail_in(std::string_view file, std::string_view section, std::string_view why) {
  throw CorruptFile("{}: section '{}': {}; the file is damaged: build it again, or restore a copy", file, section, why);
}

[[noreturn]] void fail_at(std::string_view file, const SectionInfo& info, std::uint64_t chunk) {
  const std::uint64_t from = chunk * container_chunk_bytes, to = std::min(from + container_chunk_bytes, info.size);
  fail_in(file, info.name,
          fmt::format("the checksum of block {} (bytes {} to {} of the file) does not match", chunk, info.offset + from,
                      info.offset + to - 1));
}

/// Reads a chunk of a section and checks its sum; returns the chunk's size.
std::uint64_t check_chunk(const File& file, const SectionInfo& info, const Bytes& sums, std::uint64_t chunk) {
  const std::uint64_t at = chunk * container_chunk_bytes, size = std::min(container_chunk_bytes, info.size - at);
  // Pieces of this size stay in a processor's cache, and memory for them needs no new pages of the system.
  constexpr std::uint64_t bytes_at_once = 32 << 10;
  const auto buffer = std::make_unique_for_overwrite<std::uint8_t[]>(std::min(size, bytes_at_once));
  StreamHash hash;
  for (std::uint64_t from = 0; from < size; from += bytes_at_once) {
    const std::span<std::uint8_t> piece(buffer.get(), std::min(bytes_at_once, size - from));
    file.read_at(info.offset + at + from, piece);
    hash.add(piece);
  }
  if (hash.value() != sum_of_chunk(sums, chunk)) fail_at(file.name(), info, chunk);
  return size;
}

/// The kinds in the order of their numbers, and the commands that write them.
constexpr struct {
  std::string_view name, command;
} kinds[] = {
    {"collection", "parse"},     {"order", "order"},     {"index", "index"},      {"plan", "plan"},
    {"forward file", "index"},   {"text file", "index"}, {"field file", "index"}, {"statistics file", "statistics"},
    {"scale file", "statistics"}};

[[noreturn]] void refuse_kind(std::string_view name, std::string_view found, FileKind wanted) {
  throw InvalidArgument("{}: is a {}; expected a Quern {}, as written by quern {}", name, found, kind_name(wanted),
                        kinds[static_cast<std::uint32_t>(wanted) - 1].command);
}

}  // namespace

std::uint32_t format_version(FileKind) { return 1; }

std::string_view kind_name(FileKind kind) {
  const auto number = static_cast<std::uint32_t>(kind);
  return number >= 1 && number <= std::size(kinds) ? kinds[number - 1].name : "file of an unknown kind";
}

std::string_view kind_of_head(std::string_view head) {
  if (head.size() < magic.size() + 4 || !std::equal(magic.begin(), magic.end(), as_bytes(head).begin())) return {};
  return kind_name(static_cast<FileKind>(load_le<std::uint32_t>(head.data() + magic.size())));
}

/// The running checksum of the open section's current chunk, and the sums of all chunks so far.
struct ContainerWriter::Sums {
  StreamHash hash;
  std::uint64_t in_chunk = 0;
  Bytes sums;

  void end_chunk() {
    if (in_chunk > 0) put_le(sums, hash.value());
    hash.restart();
    in_chunk = 0;
  }
  void add(ByteView bytes) {
    while (!bytes.empty()) {
      const std::size_t part = std::min<std::uint64_t>(bytes.size(), container_chunk_bytes - in_chunk);
      hash.add(bytes.first(part));
      in_chunk += part;
      bytes = bytes.subspan(part);
      if (in_chunk == container_chunk_bytes) end_chunk();
    }
  }
};

ContainerWriter::ContainerWriter(File& file, FileKind kind)
    : file_(file), out_(file), kind_(kind), sums_(std::make_unique<Sums>()) {
  out_.write(Bytes(header_bytes, 0));
}

ContainerWriter::~ContainerWriter() = default;

void ContainerWriter::pad() { out_.write(Bytes(aligned(out_.position()) - out_.position(), 0)); }

void ContainerWriter::begin_section(std::string_view name) {
  if (open_ || name.size() >= name_bytes || sections_.size() == max_sections)
    throw Error("container: the writer was misused");
  pad();
  sections_.push_back({std::string(name), out_.position(), 0, 0, sums_->sums.size() / 8});
  open_ = true;
}

void ContainerWriter::write(ByteView bytes) {
  sums_->add(bytes);
  out_.write(bytes);
}

std::uint64_t ContainerWriter::section_size() const { return out_.position() - sections_.back().offset; }

void ContainerWriter::end_section() {
  SectionInfo& section = sections_.back();
  section.size = out_.position() - section.offset;
  sums_->end_chunk();
  section.checksum = xxh3(ByteView(sums_->sums).subspan(section.first_chunk * 8));
  open_ = false;
}

void ContainerWriter::add_section(std::string_view name, ByteView bytes) {
  begin_section(name);
  write(bytes);
  end_section();
}

void ContainerWriter::add_section(std::string_view name, const Spool& from) {
  begin_section(name);
  from.for_each_piece([&](ByteView piece) { write(piece); });
  end_section();
}

void ContainerWriter::finish() {
  pad();
  const std::uint64_t sums_offset = out_.position();
  out_.write(sums_->sums);
  pad();
  const std::uint64_t table_offset = out_.position();
  Bytes table;
  for (const SectionInfo& section : sections_) {
    Bytes name(name_bytes, 0);
    std::copy(section.name.begin(), section.name.end(), name.begin());
    table.insert(table.end(), name.begin(), name.end());
    for (const std::uint64_t number :
         {section.offset, section.size, section.checksum, section.first_chunk, sums_offset})
      put_le(table, number);
  }
  out_.write(table);
  out_.flush();

  Bytes header(magic.begin(), magic.end());
  put_le(header, static_cast<std::uint32_t>(kind_));
  put_le(header, format_version(kind_));
  put_le(header, out_.position());
  put_le(header, table_offset);
  put_le(header, static_cast<std::uint32_t>(sections_.size()));
  put_le(header, static_cast<std::uint32_t>(container_chunk_bytes));
  put_le(header, xxh3(table));
  put_le(header, std::uint64_t{0});
  put_le(header, xxh3(header));
  file_.write_at(0, header);
}

std::shared_ptr<const File> open_quern_file(const std::string& path, FileKind kind) {
  std::error_code ignored;
  if (std::filesystem::is_directory(path, ignored))
    refuse_kind(path, std::filesystem::exists(path + "/" + index_member, ignored) ? "Quern index" : "folder", kind);
  return std::make_shared<const File>(File::open_regular(path));
}

ContainerReader ContainerReader::open(const std::string& path, FileKind kind) {
  return ContainerReader(open_quern_file(path, kind), kind);
}

ContainerReader::ContainerReader(std::shared_ptr<const File> file, FileKind kind)
    : file_(std::move(file)), file_size_(file_->size()) {
  read_header(kind);
  mapped_ = MappedFile(*file_);
}

std::vector<std::string> index_members() {
  return {index_member, forward_member, texts_member, fields_member, statistics_member};
}

std::string quern_file(const std::string& path) {
  std::error_code ignored;
  if (!std::filesystem::is_directory(path, ignored)) return path;
  std::string file = path + "/" + index_member;
  if (std::filesystem::exists(file, ignored)) return file;
  throw InvalidArgument(path + ": is a folder without " + index_member + ", so it is not a Quern index");
}

std::string member_path(const std::string& index_path, const char* member) {
  return folder_of(quern_file(index_path)) + "/" + member;
}

bool has_member(const std::string& index_path, const char* member) {
  std::error_code ignored;
  return std::filesystem::exists(member_path(index_path, member), ignored);
}

std::string existing_member_path(const std::string& index_path, const char* member, std::string_view remedy) {
  if (has_member(index_path, member)) return member_path(index_path, member);
  throw InvalidArgument("{}: no file {} next to it; {}", index_path, member, remedy);
}

FileKind kind_of_file(const std::string& path) {
  const Bytes header = checked_header(File::open_regular(quern_file(path)));
  return static_cast<FileKind>(load_le<std::uint32_t>(header.data() + 8));
}

void ContainerReader::read_header(FileKind kind) {
  const Bytes header = checked_header(*file_);
  ByteReader reader(ByteView(header).subspan(magic.size()), name());
  const auto found_kind = static_cast<FileKind>(reader.le<std::uint32_t>());
  const auto found_version = reader.le<std::uint32_t>();
  if (found_kind != kind) refuse_kind(name(), fmt::format("Quern {}", kind_name(found_kind)), kind);
  if (found_version != format_version(kind)) {
    throw UnsupportedVersion(
        "{}: has format version {}, but this program reads version {}: build the file again, or use the "
        "program that wrote it",
        name(), found_version, format_version(kind));
  }
  const auto promised_size = reader.le<std::uint64_t>();
  if (promised_size != file_size_) {
    throw CorruptFile("{}: is {} bytes long, but its header says {}: {}; build it again, or restore a copy", name(),
                      file_size_, promised_size,
                      file_size_ < promised_size ? "the file is truncated" : "there is extra data after its end");
  }
  const auto table_offset = reader.le<std::uint64_t>();
  const auto count = reader.le<std::uint32_t>();
  if (reader.le<std::uint32_t>() != container_chunk_bytes) throw CorruptFile(name() + ": unknown chunk size");
  read_table(table_offset, count, reader.le<std::uint64_t>());
}

void ContainerReader::read_table(std::uint64_t table_offset, std::uint32_t count, std::uint64_t checksum) {
  if (count > max_sections || table_offset > file_size_ || file_size_ - table_offset != count * table_entry_bytes)
    throw CorruptFile(name() +
                      ": the section table does not match the file's size; build the file again, or restore a copy");
  Bytes table(count * table_entry_bytes);
  file_->read_at(table_offset, table);
  if (xxh3(table) != checksum) throw CorruptFile(name() + ": its section table is damaged");
  ByteReader reader(table, name());
  std::uint64_t end = header_bytes, chunks = 0;
  sums_offset_ = table_offset;
  for (std::uint32_t i = 0; i < count; ++i) {
    SectionInfo section;
    const std::string_view padded = as_text(reader.take(name_bytes));
    section.name = padded.substr(0, padded.find('\0'));
    section.offset = reader.le<std::uint64_t>();
    section.size = reader.le<std::uint64_t>();
    section.checksum = reader.le<std::uint64_t>();
    section.first_chunk = reader.le<std::uint64_t>();
    const auto sums_offset = reader.le<std::uint64_t>();
    if (i > 0 && sums_offset != sums_offset_)
      throw CorruptFile(name() + ": the section table is inconsistent; build the file again, or restore a copy");
    sums_offset_ = sums_offset;
    if (section.offset != aligned(end) || section.offset > table_offset ||
        section.size > table_offset - section.offset || section.first_chunk != chunks)
      throw CorruptFile(name() + ": a section reaches past the file");
    end = section.offset + section.size;
    chunks += chunks_of(section.size);
    sections_.push_back(std::move(section));
  }
  if (sums_offset_ != aligned(end) || table_offset != aligned(sums_offset_ + chunks * 8))
    throw CorruptFile(name() + ": the checksums are in the wrong place; build the file again, or restore a copy");
}

bool ContainerReader::has(std::string_view section) const {
  return std::any_of(sections_.begin(), sections_.end(), [&](const SectionInfo& info) { return info.name == section; });
}

const SectionInfo& ContainerReader::find(std::string_view section) const {
  for (const SectionInfo& info : sections_)
    if (info.name == section) return info;
  fail(section, "is missing");
}

ByteView ContainerReader::view(std::string_view section) const {
  const SectionInfo& info = find(section);
  return mapped_.bytes().subspan(info.offset, info.size);
}

void ContainerReader::check_array(std::string_view section, std::uint64_t size, std::uint64_t number_bytes) const {
  if (size % number_bytes != 0) fail(section, "has an impossible size");
}

void ContainerReader::check_count(const SectionInfo& info, std::uint64_t count, std::uint64_t number_bytes) const {
  if (info.size % number_bytes != 0 || info.size / number_bytes != count)
    fail(info.name, "its size differs from the manifest's");
}

std::string ContainerReader::manifest() const {
  const SectionInfo& info = find("manifest");
  if (info.size > container_chunk_bytes * 16) fail("manifest", "is too large");
  Bytes bytes(info.size);
  file_->read_at(info.offset, bytes);
  check_sums(info, bytes);
  return std::string(as_text(bytes));
}

std::uint64_t ContainerReader::content_hash() const {
  Bytes sums;
  for (const SectionInfo& section : sections_) {
    put_string(sums, section.name);
    put_le(sums, section.checksum);
  }
  return xxh3(sums);
}

Bytes ContainerReader::chunk_sums(const SectionInfo& info) const {
  Bytes sums(chunks_of(info.size) * 8);
  file_->read_at(sums_offset_ + info.first_chunk * 8, sums);
  if (xxh3(sums) != info.checksum) fail(info.name, "its checksums are damaged");
  return sums;
}

void ContainerReader::fail(std::string_view section, std::string_view why) const { fail_in(name(), section, why); }

void ContainerReader::check_sums(const SectionInfo& info, ByteView bytes) const {
  const Bytes sums = chunk_sums(info);
  for (std::uint64_t chunk = 0; chunk < chunks_of(info.size); ++chunk)
    if (!fits(chunk_of(bytes, chunk), sums, chunk)) fail_at(name(), info, chunk);
}

void ContainerReader::check_section(std::string_view section) const {
  const SectionInfo& info = find(section);
  const Bytes sums = chunk_sums(info);
  for (std::uint64_t chunk = 0; chunk < chunks_of(info.size); ++chunk) check_chunk(*file_, info, sums, chunk);
}

CheckedSection::CheckedSection(const ContainerReader& container, std::string_view section)
    : bytes_(container.view(section)), state_(std::make_shared<State>()) {
  state_->file = container.file_;
  state_->info = container.find(section);
  state_->sums = container.chunk_sums(state_->info);
  state_->sound = std::make_unique<std::atomic<bool>[]>(chunks_of(bytes_.size()));
}

void CheckedSection::check(std::uint64_t chunk) const {
  check_chunk(*state_->file, state_->info, state_->sums, chunk);
  state_->sound[chunk].store(true, std::memory_order_release);
}

void ContainerReader::verify_section(const SectionInfo& info, const Resources& resources) const {
  const Bytes sums = chunk_sums(info);
  tbb::parallel_for(std::uint64_t{0}, chunks_of(info.size),
                    [&](std::uint64_t chunk) { resources.progress->add(check_chunk(*file_, info, sums, chunk)); });
}

void ContainerReader::verify_padding() const {
  std::uint64_t end = header_bytes;
  const auto check_zeros = [&](std::uint64_t from, std::uint64_t to) {
    Bytes bytes(to - from);
    file_->read_at(from, bytes);
    if (std::any_of(bytes.begin(), bytes.end(), [](std::uint8_t byte) { return byte != 0; }))
      throw CorruptFile("{}: bytes between sections are not zero (bytes {} to {})", name(), from, to - 1);
  };
  std::uint64_t chunks = 0;
  for (const SectionInfo& section : sections_) {
    check_zeros(end, section.offset);
    end = section.offset + section.size;
    chunks += chunks_of(section.size);
  }
  check_zeros(end, aligned(end));
  check_zeros(sums_offset_ + chunks * 8, aligned(sums_offset_ + chunks * 8));
}

void ContainerReader::verify(const Resources& resources) const {
  return run_stage(resources, [&] {
    resources.progress->start("verify checksums", file_size_, "bytes");
    verify_padding();
    for (const SectionInfo& section : sections_) verify_section(section, resources);
    resources.progress->finish();
  });
}

}  // namespace quern
