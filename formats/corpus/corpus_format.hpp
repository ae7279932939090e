#pragma once
#include "quern/core/bm25.hpp"
#include "quern/formats/corpus/record_finder.hpp"
#include "quern/text/field_value.hpp"
#include "quern/text/html.hpp"
#include "quern/text/text_block.hpp"

namespace quern {

// The keys of a JSON object that hold a document's fields; see jsonl.md for the rules.

enum class JsonField { docno, title, text, url, weights };
inline constexpr std::size_t json_fields = 5;

/// A field's key. If an object has several, the key of the lowest rank whose value isn't null counts.
struct JsonKey {
  std::string name;
  JsonField field;
  unsigned rank;
};

/// The keys of documents' fields.
class JsonKeys {
 public:
  /// A field in `names` has only that key, and no other field has it; the rest have the known keys. Throws
  /// InvalidArgument if two fields have one name, or a kept field an invalid one. The weights have a key only if
  /// `with_weights`: `vector`, unless `names` has another.
  explicit JsonKeys(const FieldNames& names = {}, bool with_weights = false);

  const std::vector<JsonKey>& all() const { return keys_; }
  /// Keys of the kept fields; not in all().
  const std::vector<std::string>& kept() const { return kept_; }
  /// The key's index in all(); nullopt for other names.
  std::optional<std::size_t> find(std::string_view name) const;
  /// Names of a field's keys, for messages: "id, _id and docno" if the last separator is " and ".
  std::string names_of(JsonField field, std::string_view last_separator) const;
  /// Length in bytes of the longest name, kept fields included.
  std::size_t longest_name() const;

 private:
  void keep(const std::vector<std::string>& names);

  std::vector<JsonKey> keys_;
  std::vector<std::string> kept_;
};

/// Names of a record's elements or keys that aren't fields: they explain why a document has no text.
class UnreadNames {
 public:
  /// Names are truncated to max_name_bytes, and only the first max_names are listed.
  static constexpr std::size_t max_name_bytes = 40, max_names = 4;

  void clear() { count_ = 0; }
  bool empty() const { return count_ == 0; }
  void add(std::string_view name);
  /// Whether it is one of those listed.
  bool has(std::string_view name) const;
  /// A sentence such as "its key 'a' is ignored" or "its keys 'a', 'b' and others are ignored".
  std::string sentence(std::string_view singular, std::string_view predicate) const;

 private:
  std::array<std::string, max_names> names_;
  std::size_t count_ = 0;  ///< distinct names, at most max_names + 1
};

/// Buffers, parsers and counters that are reused from record to record. One per thread.
struct RecordScratch {
  /// Folder for work files.
  std::string tmp_folder = ".";
  /// Limit of a document's bytes after its transfer and content encodings are undone.
  std::uint64_t max_document_bytes = std::uint64_t{64} << 20;
  /// Which keys of JSON objects are fields.
  JsonKeys json_keys;
  /// How to store term weights, if the corpus has any.
  std::optional<ImpactSettings> impacts = std::nullopt;
  /// The charset that the record's file declares, for records that aren't UTF-8 and declare none.
  std::string_view file_charset = "utf-8";
  /// Invalid UTF-8 sequences replaced in all records so far.
  std::uint64_t repaired_utf8 = 0;
  /// Elements or keys of the last record that aren't fields, if its format has names.
  UnreadNames unread;

  HtmlExtractor html;
  std::string text;       ///< repaired text
  std::string converted;  ///< text converted to UTF-8
};

/// The result of parsing a record.
enum class RecordKind {
  document,  ///< a document to index, perhaps without text
  skipped,   ///< valid, but not a document: a request, an image, crawl metadata
  bad        ///< can't be read as a document
};

struct ParsedRecord {
  RecordKind kind = RecordKind::document;
  std::string reason;          ///< why it is bad or skipped
  std::string remark = {};     ///< what the user may miss in a document
  bool needs_options = false;  ///< valid, but these options don't fit it, or perhaps any record
};

/// A corpus format: detects files, finds records and parses them. Thread-safe.
struct CorpusFormat {
  std::string_view name;         ///< value of the option format
  std::string_view description;  ///< one line for help texts
  /// Whether a file has this format. `head` holds its first bytes, decompressed, up to detection_bytes.
  bool (*detect)(std::string_view head);
  /// Makes a finder for one file.
  std::unique_ptr<RecordFinder> (*make_finder)(const RecordLimits& limits);
  /// Parses a record that the finder cut out. Replaces `out`, whose content is unspecified for skipped and bad records.
  /// docno, URL, title and body are valid UTF-8, with phrase_end between sections. Each thread needs its own scratch.
  ParsedRecord (*parse)(const RecordText& record, RecordScratch& scratch, DocumentText& out);
  /// Labels from the record's headers. Reads only its head.
  RecordLabels (*labels)(const RecordText& record) = [](const RecordText&) { return RecordLabels(); };
  bool states_languages = false;  ///< labels() can return languages
  bool gives_weights = false;     ///< parse() reads term weights if RecordScratch::impacts is set
  /// Where a document's text should be, for messages about documents without any: "under contents or text".
  std::string (*text_place)(const RecordScratch& scratch) = [](const RecordScratch&) {
    return std::string("in its page, outside of tags, scripts and style sheets");
  };
  std::string_view unread_part = {};  ///< what RecordScratch::unread names: "key"
};

/// "it has no text under contents or text; its key 'a' is ignored", for a document without text. The
/// predicate ends the sentence about the record's unread names, if it has any.
std::string without_text(const CorpusFormat& format, const RecordScratch& scratch, std::string_view predicate);

/// Bytes of a file that detect() reads.
inline constexpr std::size_t detection_bytes = 64 << 10;

/// <DOC> records with a web page and its HTTP header in DOCHDR: WT10g, .GOV, GOV2; see trecweb.md.
extern const CorpusFormat trecweb_format;
/// <DOC> records with sections of text: TREC's news and abstracts; see trectext.md.
extern const CorpusFormat trectext_format;
/// WARC 0.18 and 1.x, whose response records are documents: ClueWeb, Common Crawl; see warc.md.
extern const CorpusFormat warc_format;
/// JSON objects, one per line, spread over lines, or in an array: the corpora of Anserini and BEIR; see jsonl.md.
extern const CorpusFormat jsonl_format;
/// Tab-separated lines: MS MARCO; see tsv.md.
extern const CorpusFormat tsv_format;

/// All formats, in the order that detection tries them. Add new ones here only.
const std::vector<const CorpusFormat*>& all_corpus_formats();

/// Throws InvalidArgument, with all names, if no format has that name.
const CorpusFormat& corpus_format_named(std::string_view name);

/// The format of a file that begins with `head`; null if none fits.
const CorpusFormat* find_corpus_format(std::string_view head);
/// The kind of a file that can't be a corpus, from its first bytes, and the remedy: "a zip archive; unpack it first".
/// Empty if a corpus format fits.
std::string why_no_corpus(std::string_view head);

/// A longer first line isn't a title.
inline constexpr std::size_t max_extracted_title_bytes = 1000;

/// Reads title and body from text extracted from a page, as in WET files: one line per heading, paragraph or item. Each
/// line is a phrase. The first line is the title unless it is too long or the only one.
void read_extracted_text(PieceSource& text, RecordScratch& scratch, DocumentText& out);

}  // namespace quern
