#pragma once
#include "quern/formats/exchange/inverted_file.hpp"
#include "quern/formats/index_file.hpp"
#include "quern/index/build_index.hpp"
#include "quern/index/list_source.hpp"
#include "quern/io/external_sort.hpp"
#include "quern/io/spool.hpp"

namespace quern {

/// A format of inverted files for other engines. To add one, write a reader and a writer in formats/, and functions
/// here for the registry.
struct InterchangeFormat {
  std::string_view name;
  std::string_view description;  ///< one line for help texts
  /// Whether a path looks like this format, without reading the content.
  bool (*is_at)(const std::string& path);
  /// Passes the files' content to the sink. The memory of `resources` limits the windows of zstd files. Throws IoError,
  /// CorruptFile, UnsupportedVersion, and InvalidArgument for too large a window.
  void (*read)(const std::string& path, InvertedSink& sink, const Resources& resources);
  /// Writes an index in this format; the files appear together, complete or not at all. Throws InvalidArgument if one
  /// exists and `force` is not set, or if the format can't represent the index.
  void (*write)(const IndexReader& index, const std::string& path, bool force, const Resources& resources);
  std::string_view alias_of = {};  ///< the name of the same format, if this is another one
};

/// All formats, in the order of help texts.
std::span<const InterchangeFormat> all_interchange_formats();
/// The format of this name or alias. Throws InvalidArgument, with the known names, if there is none.
const InterchangeFormat& interchange_format_named(std::string_view name);
/// The format of the files at a path. Throws InvalidArgument if there are none.
const InterchangeFormat& detect_interchange_format(const std::string& path);

/// Passes an index to `sink`: lists by term in byte order, then documents in docID order. Throws CorruptFile if the
/// index contradicts itself, and what the sink throws.
void export_index(const IndexReader& index, InvertedSink& sink, Progress& progress);

struct ImportOptions {
  std::string source;        ///< the file's name in messages
  std::string format;        ///< the file's format, for the manifest
  AnalyzerOptions analyzer;  ///< for queries: should match the one that produced the terms
  BuildOptions build;        ///< with impacts, frequencies are weights and queries aren't analyzed
};

/// Builds an index from an inverted file: `read` passes the file's content to a sink. docIDs stay; lists are sorted by
/// term on disk, within the memory budget. Document lengths are marked as exact if they are the sums of the
/// frequencies, otherwise as lossy. Throws like `read`, CorruptFile if a term has two lists, and InvalidArgument
/// like build_index().
BuildReport import_index(const std::function<void(InvertedSink&)>& read, const ImportOptions& options,
                         const Resources& resources, File& out);

/// Takes lists in file order and returns them in term order, through work files: one with all postings, and one with a
/// row per list that locates its postings.
class ListStore {
 public:
  /// `source`: the foreign file's name in messages.
  ListStore(std::string source, const std::string& tmp_folder, std::uint64_t memory_bytes);

  void add_posting(docid_t docid, freq_t freq) { postings_->add({docid, freq}); }
  /// Ends a list; drops it if it has no postings.
  void end_list(std::string_view term);
  /// Ends the input and sorts. Throws CorruptFile if a term has two lists.
  void sort();

  std::uint64_t postings() const { return postings_->count(); }

  /// The lists in term order, numbered from 0. The store must outlive the source.
  std::unique_ptr<ListSource> lists() const;
  /// The term of a list; numbers must not decrease from call to call. The view is valid until the next call.
  std::string_view term_at(term_t number);

 private:
  /// A list, in term order.
  struct Row {
    std::uint64_t first_posting = 0;
    std::uint64_t postings = 0;
    std::uint64_t term_end = 0;  ///< end of the term in terms_
  };
  class Source;

  std::string source_;
  std::uint64_t max_list_postings_;
  std::shared_ptr<RecordSpool<SpooledPosting>> postings_;
  ExternalSort sorted_terms_;
  RecordSpool<Row> rows_;
  Spool terms_;  ///< in order, concatenated
  std::uint64_t list_begin_ = 0;
  std::optional<RecordSpool<Row>::Reader> term_rows_;
  std::uint64_t term_begin_ = 0;
  std::string term_;
  term_t next_term_ = 0;
};

}  // namespace quern
