#pragma once
#include <string>

#include "quern/formats/exchange/inverted_sink.hpp"
#include "quern/io/byte_source.hpp"
#include "quern/io/spool.hpp"

/// The Common Index File Format (Lin et al., Supporting Interoperability Between Open-Source Search Engines with the
/// Common Index File Format, SIGIR 2020). See ciff.md.
namespace quern {

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

}  // namespace quern
