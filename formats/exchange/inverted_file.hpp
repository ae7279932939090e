#pragma once
#include "quern/io/byte_source.hpp"
#include "quern/io/spool.hpp"

namespace quern {

/// Counts in the header of an inverted file.
struct InvertedCounts {
  std::uint64_t lists = 0;  ///< 0 if the file doesn't say
  std::uint64_t documents = 0;
  std::uint64_t total_documents = 0;  ///< of the whole collection; the file may hold a part
  std::uint64_t total_tokens = 0;     ///< of the whole collection; 0 if the file doesn't say
};

/// Receives the content of an inverted file in any format: readers of foreign files call it, writers implement it.
/// Order of calls: begin(); for each list add_posting() and end_list(); then add_document() for each docID; end().
/// Readers ensure that docIDs of a list ascend and are below the number of documents, that frequencies are at least 1,
/// and that documents come in docID order without gaps.
class InvertedSink {
 public:
  virtual ~InvertedSink() = default;
  virtual void begin(const InvertedCounts& counts) = 0;
  /// Adds a posting to the current list.
  virtual void add_posting(docid_t docid, freq_t freq) = 0;
  /// Ends the list of `term`, which may be empty. `term` is valid during the call.
  virtual void end_list(std::string_view term) = 0;
  /// Adds the next document; `docno` is valid during the call.
  virtual void add_document(std::string_view docno, std::uint32_t length) = 0;
  virtual void end() = 0;
};

/// Checks that the postings of a foreign file are valid in an index. Returns an error message, or null.
class PostingCheck {
 public:
  explicit PostingCheck(std::uint64_t documents) : documents_(documents) {}
  void begin_list() { next_ = 0; }
  const char* wrong(std::uint64_t docid, std::uint64_t freq) {
    if (docid < next_) return "docIDs do not ascend";
    if (docid >= documents_) return "a docID that is not below the number of documents";
    if (freq == 0 || freq > 0xffffffffu) return "a frequency outside 1 to 2^32 - 1";
    next_ = docid + 1;
    return nullptr;
  }

 private:
  std::uint64_t documents_;
  std::uint64_t next_ = 0;
};

// The Common Index File Format (Lin et al., Supporting Interoperability Between Open-Source Search Engines with the
// Common Index File Format, SIGIR 2020). See ciff.md.

/// Passes the file's content to `sink`. Throws CorruptFile, with file and offset, if it violates the format, and
/// UnsupportedVersion for versions other than 1.
void read_ciff(ByteSource& source, InvertedSink& sink);

/// Writes a file, list by list.
class CiffWriter : public InvertedSink {
 public:
  CiffWriter(File& file, const std::string& tmp_folder);
  /// Throws InvalidArgument if the counts exceed the format's limits (2^31 - 1 documents or lists).
  void begin(const InvertedCounts& counts) override;
  void add_posting(docid_t docid, freq_t freq) override;
  void end_list(std::string_view term) override;
  void add_document(std::string_view docno, std::uint32_t length) override;
  void end() override;

 private:
  void put_message();

  FileAppender out_;
  Spool postings_;
  Bytes message_, posting_;
  std::uint64_t df_ = 0, cf_ = 0, last_ = 0;
  std::uint64_t documents_ = 0;
};

// The binary collections of ds2i and PISA: five files with a common name. See ds2i.md.

/// The files' extensions, in the order of Ds2iSources and of the writer's files.
inline constexpr std::array<const char*, 5> ds2i_endings = {".docs", ".freqs", ".sizes", ".terms", ".documents"};

/// The files of a collection, each plain or compressed.
struct Ds2iSources {
  ByteSource& docs;
  ByteSource& freqs;
  ByteSource& sizes;
  ByteSource& terms;
  ByteSource& documents;
};

/// Passes the collection to `sink`. Throws CorruptFile, with file and offset, if a file violates the format or
/// contradicts another one.
void read_ds2i(const Ds2iSources& sources, InvertedSink& sink);

/// Writes the five files of a collection, in the order of ds2i_endings.
class Ds2iWriter : public InvertedSink {
 public:
  Ds2iWriter(const std::array<File*, 5>& files, const std::string& tmp_folder);
  void begin(const InvertedCounts& counts) override;
  void add_posting(docid_t docid, freq_t freq) override;
  /// Throws InvalidArgument if the term contains a line feed or ends with a CR, which the format can't represent.
  void end_list(std::string_view term) override;
  /// Throws InvalidArgument for the same reasons as end_list().
  void add_document(std::string_view docno, std::uint32_t length) override;
  void end() override;

 private:
  FileAppender docs_, freqs_, sizes_, terms_, documents_;
  Spool list_docids_, list_freqs_;
};

}  // namespace quern
