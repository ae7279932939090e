#pragma once
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "quern/index/posting_runs.hpp"
#include "quern/io/external_sort.hpp"
#include "quern/io/file.hpp"

namespace quern {

/// Takes lists in the order of a foreign file and hands them out in that of their terms, from work files: the postings
/// once, and a row for each list that says where they are.
class ListStore {
 public:
  /// `source` is what messages call the foreign file.
  ListStore(std::string source, const std::string& tmp_folder, std::uint64_t memory_bytes);

  void add_posting(docid_t docid, freq_t freq);
  /// Ends a list; one without postings is forgotten.
  void end_list(std::string_view term);
  /// Ends the input, and sorts. Throws CorruptFile where a term has two lists.
  void sort();

  std::uint64_t postings() const { return postings_; }
  /// No term has a byte beyond ASCII.
  bool ascii() const { return ascii_; }

  /// The lists in the order of their terms, numbered from 0. The store must outlive it.
  std::unique_ptr<ListSource> lists() const;
  /// The term of a list; numbers must rise from call to call. The view holds until the next call.
  std::string_view term_at(term_t number);

 private:
  /// A list in the order of terms.
  struct Row {
    std::uint64_t first_posting = 0;
    std::uint64_t postings = 0;
    std::uint64_t term_end = 0;  ///< in the file of terms
  };
  /// Goes over the rows, many a read.
  class RowScan {
   public:
    explicit RowScan(const File& file) : file_(file) {}
    /// Rows are asked for in rising order.
    const Row& at(std::uint64_t number, std::uint64_t count);

   private:
    const File& file_;
    std::vector<Row> rows_;
    std::uint64_t first_ = 0;
  };
  class Source;

  std::string source_;
  std::uint64_t max_list_postings_;
  std::shared_ptr<File> postings_file_;
  FileAppender postings_out_;
  ExternalSort terms_;
  File rows_file_, terms_file_;
  std::uint64_t postings_ = 0, list_begin_ = 0, rows_ = 0;
  bool ascii_ = true;
  RowScan term_rows_;
  std::uint64_t term_begin_ = 0;
  std::string term_;
  term_t next_term_ = 0;
};

}  // namespace quern
