#pragma once
#include <array>
#include <string>

#include "quern/formats/exchange/inverted_sink.hpp"
#include "quern/io/byte_source.hpp"
#include "quern/io/spool.hpp"

/// The binary collections of ds2i and PISA: five files with a common name. See ds2i.md.
namespace quern {

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
