#pragma once
#include <atomic>

#include "quern/core/bytes.hpp"
#include "quern/io/file.hpp"
#include "quern/io/spool.hpp"

/// The common container of all Quern files: a header, named sections with checksums, a table. See container.md.
namespace quern {

enum class FileKind : std::uint32_t {
  collection = 1,
  order = 2,
  index = 3,
  plan = 4,
  forward = 5,
  texts = 6,
  fields = 7,
  statistics = 8,
  scales = 9
};

/// "collection", "order", "index", "plan", "forward file", "text file", "field file", "statistics file", "scale file".
std::string_view kind_name(FileKind kind);
/// The name of the kind of Quern file that begins with `head`; empty for other files.
std::string_view kind_of_head(std::string_view head);

/// The version of a kind's format that this program reads and writes.
std::uint32_t format_version(FileKind kind);

struct SectionInfo {
  std::string name;
  std::uint64_t offset = 0;  ///< of the first byte in the file, a multiple of 64
  std::uint64_t size = 0;
  std::uint64_t checksum = 0;     ///< XXH3-64 of the section's chunk sums
  std::uint64_t first_chunk = 0;  ///< index of its first chunk sum
};

/// Bytes of a section that share one checksum.
inline constexpr std::uint64_t container_chunk_bytes = std::uint64_t{1} << 20;
inline constexpr std::uint64_t section_alignment = 64;

/// Writes a container section by section. The file is invalid before finish().
class ContainerWriter {
 public:
  ContainerWriter(File& file, FileKind kind);
  ~ContainerWriter();

  void begin_section(std::string_view name);
  void write(ByteView bytes);
  template <class Number>
  void write_array(std::span<const Number> numbers) {
    write({reinterpret_cast<const std::uint8_t*>(numbers.data()), numbers.size_bytes()});
  }
  /// Bytes written to the open section so far.
  std::uint64_t section_size() const;
  void end_section();

  void add_section(std::string_view name, ByteView bytes);
  /// Writes numbers, little-endian, as a section.
  template <class Number>
  void add_array(std::string_view name, const std::vector<Number>& numbers) {
    begin_section(name);
    write_array(std::span<const Number>(numbers));
    end_section();
  }
  /// Writes a spool's bytes as a section.
  void add_section(std::string_view name, const Spool& from);
  /// Position of the next byte.
  std::uint64_t position() const { return out_.position(); }
  /// Makes all bytes so far readable from the file.
  void flush() { out_.flush(); }
  void finish();
  /// Writes the section "manifest" as the last one.
  void finish(std::string_view manifest) {
    add_section("manifest", as_bytes(manifest));
    finish();
  }

 private:
  struct Sums;
  void pad();

  File& file_;
  FileAppender out_;
  FileKind kind_;
  std::vector<SectionInfo> sections_;
  std::unique_ptr<Sums> sums_;
  bool open_ = false;
};

/// Opens a container and checks its header, table and bounds; verify() checks the sums of sections, and manifest() that
/// of the manifest. Throws CorruptFile, UnsupportedVersion, InvalidArgument (another kind), IoError.
class ContainerReader {
 public:
  static ContainerReader open(const std::string& path, FileKind kind);
  ContainerReader(std::shared_ptr<const File> file, FileKind kind);

  const File& file() const { return *file_; }
  const std::string& name() const { return file_->name(); }
  const std::vector<SectionInfo>& sections() const { return sections_; }
  bool has(std::string_view section) const;
  /// Throws CorruptFile if there is no such section.
  const SectionInfo& find(std::string_view section) const;

  /// A section's mapped bytes.
  ByteView view(std::string_view section) const;
  /// A section as a mapped array of little-endian numbers. Throws CorruptFile if its size isn't a multiple of theirs.
  template <class Number>
  std::span<const Number> array(std::string_view section) const {
    const ByteView bytes = view(section);
    check_array(section, bytes.size(), sizeof(Number));
    return {reinterpret_cast<const Number*>(bytes.data()), bytes.size() / sizeof(Number)};
  }
  /// Reads such an array into memory, for stages with a memory budget, and checks its sums. `count` is the number in
  /// the manifest.
  template <class Number>
  std::vector<Number> load_array(std::string_view section, std::uint64_t count) const {
    const SectionInfo& info = find(section);
    check_count(info, count, sizeof(Number));
    std::vector<Number> numbers(count);
    const std::span<std::uint8_t> bytes(reinterpret_cast<std::uint8_t*>(numbers.data()), info.size);
    file_->read_at(info.offset, bytes);
    check_sums(info, bytes);
    return numbers;
  }
  /// Throws CorruptFile unless the section has exactly `count` numbers of `number_bytes`.
  void check_count(const SectionInfo& info, std::uint64_t count, std::uint64_t number_bytes) const;

  /// The section "manifest"; checks its checksum.
  std::string manifest() const;
  std::uint64_t file_bytes() const { return file_size_; }
  /// Identifies the file's contents: a hash over the sums of all sections, manifest included.
  std::uint64_t content_hash() const;

  /// Checks every byte: padding, sums and table, for stages that read the whole file. Throws CorruptFile with file,
  /// section and place.
  void verify(const Resources& resources) const;
  /// Checks a section's bytes against its checksums without mapping them. Throws CorruptFile like verify().
  void check_section(std::string_view section) const;

  /// Releases the memory of all mapped pages; the system reads them again on access.
  void release() const { release_pages(mapped_.bytes()); }

  [[noreturn]] void fail(std::string_view section, std::string_view why) const;

 private:
  void read_header(FileKind kind);
  void read_table(std::uint64_t table_offset, std::uint32_t count, std::uint64_t checksum);
  void check_array(std::string_view section, std::uint64_t size, std::uint64_t number_bytes) const;
  void verify_padding() const;
  Bytes chunk_sums(const SectionInfo& info) const;
  void check_sums(const SectionInfo& info, ByteView bytes) const;
  void verify_section(const SectionInfo& info, const Resources& resources) const;

  std::shared_ptr<const File> file_;
  std::uint64_t file_size_ = 0;
  std::uint64_t sums_offset_ = 0;
  std::vector<SectionInfo> sections_;
  MappedFile mapped_;

  friend class CheckedSection;
};

/// An open container with its manifest, checked: the base of a kind's `Reader`.
template <class Reader, class Manifest, FileKind kind>
class ManifestReader {
 public:
  static Reader open(const std::string& path) { return Reader(ContainerReader::open(path, kind)); }

  const std::string& name() const { return container_.name(); }
  const ContainerReader& container() const { return container_; }
  const Manifest& manifest() const { return manifest_; }

 protected:
  explicit ManifestReader(ContainerReader container)
      : container_(std::move(container)), manifest_(Manifest::from_json(container_.manifest(), container_.name())) {}

  ContainerReader container_;
  Manifest manifest_;
};

/// A mapped section whose chunks are checked against their checksums on first use, so that damage is always an error.
/// Checking reads from the file, so only used pages stay in memory. Copies share the state. Thread-safe. The
/// ContainerReader must outlive it, but may move.
class CheckedSection {
 public:
  CheckedSection() = default;
  CheckedSection(const ContainerReader& container, std::string_view section);

  std::uint64_t size() const { return bytes_.size(); }
  /// The bytes [from, to) of the section, which must exist. Throws CorruptFile.
  ByteView bytes(std::uint64_t from, std::uint64_t to) const {
    for (std::uint64_t chunk = from / container_chunk_bytes; chunk * container_chunk_bytes < to; ++chunk)
      if (!state_->sound[chunk].load(std::memory_order_acquire)) check(chunk);
    return bytes_.subspan(from, to - from);
  }
  /// Releases the memory of its pages; the system reads them again on access.
  void release() const { release_pages(bytes_); }
  /// The i-th number of an array; it must exist. Throws CorruptFile.
  template <class Number>
  Number number(std::uint64_t i) const {
    return load_le<Number>(bytes(i * sizeof(Number), (i + 1) * sizeof(Number)).data());
  }

 private:
  struct State {
    std::shared_ptr<const File> file;
    SectionInfo info;
    Bytes sums;
    std::unique_ptr<std::atomic<bool>[]> sound;  ///< whether each chunk was checked
  };
  void check(std::uint64_t chunk) const;

  ByteView bytes_;
  std::shared_ptr<State> state_;
};

/// An index is a folder with this file; all other kinds are single files.
inline constexpr const char* index_member = "index.quern";
/// The forward file in an index's folder.
inline constexpr const char* forward_member = "forward.quern";

/// The documents' texts in an index's folder.
inline constexpr const char* texts_member = "texts.quern";
/// The documents' kept fields in an index's folder.
inline constexpr const char* fields_member = "fields.quern";

/// The statistics of all documents, in the folder of a shard with PageRank.
inline constexpr const char* statistics_member = "statistics.quern";

/// Names of the files in an index's folder: first the index, then its optional sidecars.
std::vector<std::string> index_members();

/// The path of a member of an index's folder, which may not exist. `index_path` is the folder or the file in it.
std::string member_path(const std::string& index_path, const char* member);
bool has_member(const std::string& index_path, const char* member);
/// member_path() of a file that must exist. Throws InvalidArgument, with `remedy`, if it doesn't.
std::string existing_member_path(const std::string& index_path, const char* member, std::string_view remedy);

/// The file for a user's path: the index file if it is a folder, otherwise the path itself. Throws InvalidArgument if a
/// folder isn't an index.
std::string quern_file(const std::string& path);

/// Opens a file that should be of a kind other than index. Throws InvalidArgument for a folder.
std::shared_ptr<const File> open_quern_file(const std::string& path, FileKind kind);

/// The kind of a Quern file or folder, from its header. Throws CorruptFile if it isn't a Quern file.
FileKind kind_of_file(const std::string& path);

}  // namespace quern
