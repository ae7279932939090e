#pragma once
#include "quern/formats/container.hpp"
#include "quern/formats/index_file.hpp"
#include "quern/io/file.hpp"
#include "quern/io/spool.hpp"
#include "quern/io/zstd_frame.hpp"
#include "quern/text/field_value.hpp"

/// The kept fields of an index's documents: a columnar file beside the index. See fields.md.
namespace quern {

/// Documents per frame of a field.
inline constexpr docid_t fields_per_frame = 1024;
/// Limit of a frame's bytes before compression.
inline constexpr std::size_t max_field_frame_bytes = fields_per_frame * (max_kept_text_bytes + 3);

struct FieldsManifest {
  std::uint64_t documents = 0;
  std::vector<std::string> names;
  std::string index_hash;  ///< content hash of the index's container, 16 hexadecimal digits
  std::string zstd;        ///< version of the library that compressed the values

  std::string to_json() const;
  /// Throws CorruptFile, with `what` first.
  static FieldsManifest from_json(const std::string& text, const std::string& what);
};

/// Writes the values of documents in docID order. Holds one frame of each field in memory.
class FieldsWriter {
 public:
  FieldsWriter(File& file, const std::string& tmp_folder, std::vector<std::string> names);
  /// Adds the next document's encoded values of all fields. Throws CorruptFile if they are malformed.
  void add(ByteView values);
  /// Ends the file. `index_hash` is the content hash of the index's container, as written by hash_text().
  void finish(const std::string& index_hash);

 private:
  void end_frames();

  ContainerWriter out_;
  FieldsManifest manifest_;
  ZstdCompressor zstd_{3};
  std::vector<Bytes> columns_;  ///< of the current frames
  Bytes frame_;
  Spool offsets_, sizes_;
};

/// A thread's buffers for reading a field.
struct FieldBuffers {
  ZstdDecompressor zstd;
  Bytes raw;
  std::optional<std::uint64_t> frame;  ///< number of the frame in `raw`
  std::vector<FieldValue> values;      ///< of its documents
};

/// Reads kept fields. Thread-safe if each thread uses its own buffers. Throws CorruptFile if parts contradict each
/// other.
class FieldsReader : public ManifestReader<FieldsReader, FieldsManifest, FileKind::fields> {
 public:
  /// Opens the fields beside an index. Throws InvalidArgument if there are none, or if they belong to another index.
  static FieldsReader open_beside(const IndexReader& index);
  explicit FieldsReader(ContainerReader container);

  docid_t num_documents() const { return static_cast<docid_t>(manifest_.documents); }
  /// Throws InvalidArgument if the fields belong to another index.
  void check_belongs_to(const IndexReader& index) const;

  /// The index of the field with this name.
  std::optional<std::size_t> find(std::string_view field) const;
  /// A field's values for up to fields_per_frame documents from docID group · fields_per_frame; views of the buffers.
  const std::vector<FieldValue>& values(std::size_t field, std::uint64_t group, FieldBuffers& buffers) const;
  /// A field's value for one document.
  FieldValue value(std::size_t field, docid_t docid, FieldBuffers& buffers) const;
  std::uint64_t num_groups() const { return (manifest_.documents + fields_per_frame - 1) / fields_per_frame; }

  /// Decodes every frame, in parallel, and looks for bytes between frames, in addition to checking the sums.
  void verify_contents(const Resources& resources) const;

 private:
  CheckedSection frames_, offsets_, sizes_;
};

}  // namespace quern
