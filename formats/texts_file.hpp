#pragma once
#include "quern/formats/container.hpp"
#include "quern/formats/index_file.hpp"
#include "quern/io/file.hpp"
#include "quern/io/zstd_frame.hpp"

/// The texts of an index's documents, in a file beside the index. See texts.md.
namespace quern {

/// Limit of a frame's bytes before compression.
inline constexpr std::size_t text_frame_bytes = 64 << 10;
/// Least size of a frame whose text continues: it lacks less than one character.
inline constexpr std::size_t min_text_part_bytes = text_frame_bytes - 3;

struct TextsManifest {
  std::uint64_t documents = 0;
  std::uint64_t text_bytes = 0;  ///< of all texts, before compression
  std::string index_hash;        ///< content hash of the index's container, 16 hexadecimal digits
  std::string zstd;              ///< version of the library that compressed the texts

  std::string to_json() const;
  /// Throws CorruptFile, with `what` first.
  static TextsManifest from_json(const std::string& text, const std::string& what);
};

/// A frame, or the end of all frames: a row of the section "text_frames".
struct TextFrame {
  std::uint64_t offset = 0;    ///< in the section "texts"
  docid_t first_document = 0;  ///< the first with text in it
  std::uint32_t raw_bytes = 0;
};

/// Writes the texts of documents in docID order, each in pieces that may end anywhere. The calling stage's threads
/// compress frames, of which a few are in memory at a time.
class TextsWriter {
 public:
  TextsWriter(File& file, const std::string& tmp_folder);
  ~TextsWriter();
  /// Adds a piece of the current document.
  void add(std::string_view piece);
  void end_document();
  /// Ends the file. `index_hash` is the content hash of the index's container, as written by hash_text().
  void finish(const std::string& index_hash);

 private:
  struct Frames;
  void end_group();
  void put_part(std::size_t bytes);

  ContainerWriter out_;
  std::unique_ptr<Frames> frames_;
  Bytes group_sizes_, group_texts_;  ///< of documents that will share a frame
  docid_t group_documents_ = 0;
  Bytes open_;                   ///< text of the current document that is not in a frame yet
  bool is_in_frames_ = false;    ///< the start of the current document is in separate frames
  std::uint64_t documents_ = 0;  ///< completed documents
  std::uint64_t text_bytes_ = 0;
};

/// A thread's buffers for reading texts. They keep the last frame, so reading in docID order is cheap.
struct TextBuffers {
  ZstdDecompressor zstd;
  Bytes raw;
  std::optional<std::uint64_t> frame;  ///< number of the frame in `raw`
};

/// Reads single texts of an index's documents. Thread-safe if each thread uses its own buffers. Throws CorruptFile if
/// parts contradict each other.
class TextsReader : public ManifestReader<TextsReader, TextsManifest, FileKind::texts> {
 public:
  /// Opens the texts beside an index. Throws InvalidArgument if there are none, or if they belong to another index.
  static TextsReader open_beside(const IndexReader& index);
  explicit TextsReader(ContainerReader container);

  docid_t num_documents() const { return static_cast<docid_t>(manifest_.documents); }
  std::uint64_t num_frames() const { return num_frames_; }
  /// Throws InvalidArgument if the texts belong to another index.
  void check_belongs_to(const IndexReader& index) const;

  /// Calls visit(piece) for consecutive pieces of a document's text, of at most text_frame_bytes each; pieces end
  /// between characters.
  void read(docid_t docid, TextBuffers& buffers, const std::function<void(std::string_view)>& visit) const;
  /// The whole text, in memory.
  std::string text(docid_t docid) const;

  /// Decompresses every frame, in parallel, and compares rows, sizes and counts, in addition to checking the sums.
  void verify_contents(const Resources& resources) const;

 private:
  TextFrame frame(std::uint64_t i) const;
  /// The first frame whose documents are at least `docid`; may be the end.
  std::uint64_t first_frame_from(std::uint64_t docid) const;
  void load(std::uint64_t i, TextBuffers& buffers) const;
  std::string_view in_group(std::uint64_t i, docid_t documents, docid_t place, const TextBuffers& buffers) const;
  std::uint64_t verify_frame(std::uint64_t i, TextBuffers& buffers) const;
  [[noreturn]] void fail_at(std::uint64_t i, std::string_view why) const;

  CheckedSection rows_, frames_;
  std::uint64_t num_frames_ = 0;
};

}  // namespace quern
