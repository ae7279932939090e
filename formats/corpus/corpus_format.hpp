#pragma once
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "quern/core/quantized.hpp"
#include "quern/formats/corpus/json_fields.hpp"
#include "quern/formats/corpus/record_finder.hpp"
#include "quern/formats/corpus/record_text.hpp"
#include "quern/text/html.hpp"
#include "quern/text/text_block.hpp"

namespace quern {

struct JsonParser;

/// Buffers, parsers and counters that parsing reuses from record to record. One per thread.
struct RecordScratch {
  /// For work files.
  std::string tmp_folder = ".";
  /// No document may have more bytes than this once its transfer and content encodings are undone.
  std::uint64_t max_document_bytes = std::uint64_t{64} << 20;
  /// Which keys of JSON objects are fields.
  JsonKeys json_keys;
  /// If the corpus gives the weights of terms: what becomes of these.
  std::optional<ImpactSettings> impacts = std::nullopt;
  /// Invalid UTF-8 sequences that were replaced, over all records so far.
  std::uint64_t repaired_utf8 = 0;

  HtmlExtractor html;
  std::string text;                  ///< repaired text
  std::string converted;             ///< text brought to UTF-8
  std::shared_ptr<JsonParser> json;  ///< made by the JSONL format when it is first used
};

/// What becomes of a record.
enum class RecordKind {
  document,  ///< a document to index, perhaps without any text
  skipped,   ///< sound, but not a document: a request, an image, the crawl's own notes
  bad        ///< can't be read as a document
};

struct ParsedRecord {
  RecordKind kind = RecordKind::document;
  std::string reason;          ///< of bad and skipped ones
  std::string remark = {};     ///< of a document: what the user may miss in it
  bool needs_options = false;  ///< of a bad one: it is sound, but the options don't fit it, and perhaps no other one
};

/// A corpus format: how to detect it, where records end, and how to parse them.
class CorpusFormat {
 public:
  virtual ~CorpusFormat() = default;
  /// As --format takes it.
  virtual std::string_view name() const = 0;
  /// One line for help texts.
  virtual std::string_view description() const = 0;
  /// Whether a file that begins with `head` (up to detection_bytes of it, decompressed) has this format.
  virtual bool detect(std::string_view head) const = 0;
  /// For one file.
  virtual std::unique_ptr<RecordFinder> make_finder(const RecordLimits& limits) const = 0;
  /// Parses a record as the finder cut it. Replaces `out` (on skipped and bad ones what it holds means nothing).
  /// docno, URL, title and body come out as valid UTF-8, with phrase_end between sections. Safe to call from several
  /// threads where each has its own scratch.
  virtual ParsedRecord parse(const RecordText& record, RecordScratch& scratch, DocumentText& out) const = 0;
  /// What the record's headers say of it. Reads no more than its head, and is as safe to call as parse().
  virtual RecordLabels labels(const RecordText&) const { return {}; }
  /// Whether labels() may find languages.
  virtual bool states_languages() const { return false; }
  /// Whether parse() finds weights of terms where the scratch asks for them.
  virtual bool gives_weights() const { return false; }
};

/// How much of a file detect() reads.
inline constexpr std::size_t detection_bytes = 64 << 10;

/// Records <DOC> with a web page and its HTTP header in DOCHDR: WT10g, .GOV, GOV2; see trecweb.md.
const CorpusFormat& trecweb_format();
/// Records <DOC> with sections of text: news and abstracts as TREC distributed them; see trectext.md.
const CorpusFormat& trectext_format();
/// WARC 0.18 and 1.x, of which response records are documents: ClueWeb, Common Crawl; see warc.md.
const CorpusFormat& warc_format();
/// JSON objects, one per line, over several lines, or in an array: the corpora of Anserini and BEIR; see jsonl.md.
const CorpusFormat& jsonl_format();
/// Lines with tabs: MS MARCO; see tsv.md.
const CorpusFormat& tsv_format();

/// All formats, in the order in which detection tries them. The one place to add one.
const std::vector<const CorpusFormat*>& all_corpus_formats();

/// Throws InvalidArgument, with all names, if no format has that name.
const CorpusFormat& corpus_format_named(std::string_view name);

/// The format of a file that begins with `head`; null if none fits.
const CorpusFormat* find_corpus_format(std::string_view head);
/// The same. Throws InvalidArgument, with the file's name and the remedy, if none
/// fits.
const CorpusFormat& detect_corpus_format(std::string_view head, const std::string& file_name);

}  // namespace quern
