#pragma once
#include "quern/formats/container.hpp"
#include "quern/formats/forward_segment.hpp"
#include "quern/formats/index_file.hpp"
#include "quern/io/spool.hpp"

/// The forward file: the tokens of every document of an index, for a second stage that reads documents instead of
/// lists. See forward.md.
namespace quern {

struct ForwardManifest {
  std::string index_hash;  ///< content hash of the index's container, 16 hexadecimal digits
  std::uint64_t documents = 0;
  std::uint64_t index_terms = 0;  ///< lists of the index
  SegmentCounts counts;

  std::string to_json() const;
  /// Throws CorruptFile, with `what`.
  static ForwardManifest from_json(const std::string& text, const std::string& what);
};

/// Query-independent numbers of a document.
struct StaticNumbers {
  std::uint64_t url_bytes = 0;  ///< of its URL in the collection; 0 without one
  std::uint64_t url_depth = 0;  ///< non-empty segments of the URL's path
  std::uint64_t links = 0;      ///< anchors of the page, with any target
  std::uint32_t out_links = 0;  ///< other documents of the collection that it links to
  std::uint32_t in_links = 0;   ///< other documents of the collection that link to it

  bool operator==(const StaticNumbers&) const = default;
};

/// Writes a forward file: documents in docID order, then finish().
class ForwardWriter {
 public:
  ForwardWriter(File& file, const std::string& tmp_folder);
  /// Begins the next document, whose segments follow. Uses only the URL and link numbers of `numbers`.
  void begin_document(const StaticNumbers& numbers);
  /// Adds encoded segments of the current document.
  void add_segments(ByteView segments) { out_.write(segments); }
  /// Ends the file. All functions throw IoError.
  void finish(const ForwardManifest& manifest, const std::vector<std::uint32_t>& out_links,
              const std::vector<std::uint32_t>& in_links);

 private:
  ContainerWriter out_;
  RecordSpool<std::uint64_t> offsets_;
  Bytes head_;
};

/// A mapped forward file. Thread-safe. Checks bytes against their checksums before using them.
class ForwardReader : public ManifestReader<ForwardReader, ForwardManifest, FileKind::forward> {
 public:
  /// Opens an index's forward file. Throws InvalidArgument, with the remedy, if it is missing or belongs to another
  /// index.
  static ForwardReader open(const IndexReader& index);
  explicit ForwardReader(ContainerReader container);
  /// Throws InvalidArgument if the file belongs to another index.
  void check_belongs_to(const IndexReader& index) const;

  docid_t num_documents() const { return static_cast<docid_t>(manifest_.documents); }

  /// A document's location, for error messages.
  std::string place(docid_t docid) const;
  StaticNumbers numbers(docid_t docid) const;
  std::uint32_t out_links(docid_t docid) const { return out_links_.number<std::uint32_t>(docid); }
  std::uint32_t in_links(docid_t docid) const { return in_links_.number<std::uint32_t>(docid); }
  /// Bytes of the documents section. Readers may read ForwardSegment::slack_bytes beyond them.
  struct Range {
    std::uint64_t from = 0, to = 0;
  };
  /// A document's range in the section. Throws CorruptFile.
  Range document_range(docid_t docid) const;
  std::uint64_t section_bytes() const { return documents_.size(); }
  /// Bytes of the section, checked against their checksums. Throws CorruptFile.
  ByteView section_part(Range range) const { return documents_.bytes(range.from, range.to); }
  /// Calls visit(segment) for a document's segments, in order. Throws CorruptFile.
  template <class Visit>
  StaticNumbers for_each_segment(docid_t docid, Visit&& visit) const {
    const ByteView bytes = document_bytes(docid);
    ByteReader reader(bytes, container_.name());
    const StaticNumbers numbers = read_head(docid, reader);
    while (!reader.done()) visit(ForwardSegment(reader, manifest_.index_terms));
    return numbers;
  }
  /// Decodes every document and compares its length with the index's, and the numbers of links with each other, in
  /// addition to checking the sums.
  void verify_contents(const IndexReader& index, const Resources& resources) const;

 private:
  std::uint64_t offset(std::uint64_t i) const;
  ByteView document_bytes(docid_t docid) const;
  StaticNumbers read_head(docid_t docid, ByteReader& reader) const;

  CheckedSection documents_, offsets_, out_links_, in_links_;
};

/// Receives a position of a document: a term, or an empty text for a phrase end.
using TokenVisitor = std::function<void(DocumentStream stream, std::string_view term)>;

/// Calls visit(stream, term) for a document's positions, in order, with one segment in memory at a time. Throws
/// CorruptFile if the document is damaged.
void for_each_token(const ForwardReader& forward, const IndexReader& index, docid_t docid, const TokenVisitor& visit);

}  // namespace quern
