#pragma once
#include "quern/core/resources.hpp"
#include "quern/io/byte_source.hpp"
#include "quern/io/external_sort.hpp"

namespace quern {

/// Lines of judgements and runs, joined by query and document in an external sort, so that files may have any size and
/// order.
class RunRows {
 public:
  struct Row {
    std::string_view qid, docno;
    std::uint32_t file = 0;  ///< in the order of read_file()
    double value = 0;
    bool begins_query = false, begins_document = false;
  };

  /// Sorts in a quarter of the memory.
  explicit RunRows(const Resources& resources);

  /// Calls `read`, which add()s the lines of the next file; shows the progress. `remedy`: what to do about a document
  /// that a query has twice.
  void read_file(const std::string& name, std::string_view remedy, const std::function<void()>& read);
  /// Reads judgements as the next file. Throws like read_qrels() and add().
  void read_judgements(ByteSource& qrels);
  /// Throws CorruptFile, with the line, if a name contains a zero byte.
  void add(std::string_view qid, std::string_view docno, double value, std::uint64_t line);
  /// Calls visit(row) for all rows by query, document and file, each in the order of its bytes or numbers; the views
  /// are valid during the call. Throws CorruptFile, with both lines, if a file has a document twice in a query. Call
  /// once.
  void merge(const std::function<void(const Row&)>& visit);

 private:
  struct InputFile {
    std::string name;
    std::string_view remedy;
  };

  Resources resources_;
  std::vector<InputFile> files_;
  std::uint64_t lines_ = 0;  ///< of the last file
  ExternalSort rows_;
  std::string key_;
};

}  // namespace quern
