#pragma once
#include <cstdint>
#include <string_view>

#include "quern/core/error.hpp"
#include "quern/core/types.hpp"

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
    if (docid < next_) return "docIDs that do not ascend";
    if (docid >= documents_) return "a docID that no document has";
    if (freq == 0 || freq > 0xffffffffu) return "a frequency that is not 1 to 2^32 - 1";
    next_ = docid + 1;
    return nullptr;
  }

 private:
  std::uint64_t documents_;
  std::uint64_t next_ = 0;
};

}  // namespace quern
