#include "quern/index/forward/build_forward.hpp"

#include <bit>
#include <mutex>
#include <unordered_map>

#include "quern/formats/forward_segment.hpp"
#include "quern/index/forward/recode_forward.hpp"
#include "quern/io/checksum.hpp"
#include "quern/io/external_sort.hpp"
#include "quern/order/document_terms.hpp"
#include "quern/order/in_links.hpp"
#include "quern/text/analyzer.hpp"

namespace quern {
namespace {

/// Minimum memory for sorting and reading.
constexpr std::uint64_t min_forward_bytes = 16 << 20;

/// Disk space of a link: its text and target are sorted by page and then by docID, each time with some 25 bytes of
/// numbers and a text of a few words.
constexpr std::uint64_t sorted_link_bytes = 2 * 48;

/// Per document: docID, position in the order, numbers of links, up to two scores held by the caller, and a shard's
/// URL.
std::uint64_t forward_table_bytes(const CollectionReader& collection) {
  return std::uint64_t{collection.num_documents()} * (4 * 6 + 2) + collection.table_bytes() +
         IndexTerms::table_bytes(collection);
}

/// Kinds of the rows sorted by docID: a document's own streams come before the texts of links to it.
enum RowKind : std::uint8_t { head_row, title_row, body_row, url_row, anchor_row };

/// A link whose target is looked up; sorts by itself within a page.
struct AnchorQuestion {
  docid_t from;
  std::uint32_t chunk;
  std::uint32_t number;
};

IndexTerms terms_of(const CollectionReader& collection, const ForwardShard* shard) {
  return shard == nullptr ? IndexTerms(collection) : IndexTerms(collection, shard->index, shard->statistics);
}

/// A filter for the URLs of a shard's documents: rejects most others without sorting them (a Bloom filter with one
/// hash, Bloom 1970).
class ShardUrls {
 public:
  /// Memory use in bytes.
  static std::uint64_t table_bytes(std::uint64_t documents) { return bits_of(documents) / 8; }
  explicit ShardUrls(std::uint64_t documents)
      : mask_(bits_of(documents) - 1), words_(bits_of(documents) / bits_of_word) {}

  void add(const Hash128& url) { words_[place(url)] |= bit(url); }
  /// False only if the shard lacks the URL; true for a few missing URLs too.
  bool may_have(const Hash128& url) const { return (words_[place(url)] & bit(url)) != 0; }

 private:
  static constexpr std::uint64_t bits_of_word = 64;
  /// A power of two, 8 to 16 bits per document.
  static std::uint64_t bits_of(std::uint64_t documents) {
    return std::bit_ceil(documents < bits_of_word ? bits_of_word : documents * 8);
  }
  std::uint64_t place(const Hash128& url) const { return (url.high & mask_) / bits_of_word; }
  static std::uint64_t bit(const Hash128& url) { return std::uint64_t{1} << url.high % bits_of_word; }

  std::uint64_t mask_;
  std::vector<std::uint64_t> words_;
};

/// Encodes titles, bodies and URLs of a collection's documents as segments. One per thread.
class TextSegments {
 public:
  explicit TextSegments(const IndexTerms& terms) : terms_(terms) {}

  /// Begins a chunk. `chunk_terms` maps its terms to the collection's lexicon and must outlive the chunk.
  void begin_chunk(std::span<const term_t> chunk_terms) {
    chunk_terms_ = chunk_terms;
    keys_.assign(chunk_terms.size(), {});
  }

  /// Adds a stream of the current document and appends full segments to `out`. Throws CorruptFile, with `what`, if the
  /// stream has a term that isn't in the chunk.
  void add_stream(DocumentStream stream, ByteView tokens, std::string_view what, Bytes& out) {
    for (TokenCursor cursor(tokens); !cursor.done();) {
      const std::uint32_t token = cursor.next();
      if (token > chunk_terms_.size()) throw CorruptFile(std::string(what) + ": an unknown term");
      builder_.add_place(stream,
                         token == TokenCursor::phrase_end_token ? SegmentBuilder::phrase_end_key : key_of(token - 1));
      if (builder_.is_full()) end_document(out);
    }
  }
  /// Ends the document's last segment.
  void end_document(Bytes& out) {
    builder_.encode(terms_.size(), out);
    ++segment_;
  }
  const SegmentCounts& counts() const { return builder_.counts(); }

 private:
  struct Keyed {
    std::uint64_t segment = 0;
    SegmentBuilder::Key key = 0;
  };

  SegmentBuilder::Key key_of(std::uint32_t chunk_term) {
    Keyed& keyed = keys_[chunk_term];
    if (keyed.segment != segment_) {
      const term_t in_collection = chunk_terms_[chunk_term];
      const auto number = terms_.number(in_collection);
      keyed = {segment_, number ? builder_.add_term(*number) : add_literal(terms_.term(in_collection))};
    }
    return keyed.key;
  }
  SegmentBuilder::Key add_literal(std::string_view term) {
    return builder_.add_literal(term, terms_.whole_has_list(term));
  }

  const IndexTerms& terms_;
  std::span<const term_t> chunk_terms_;
  std::vector<Keyed> keys_;    ///< of chunk terms, valid only for the current segment
  std::uint64_t segment_ = 1;  ///< number of the current segment
  SegmentBuilder builder_;
};

/// Encodes the texts of links to a document as segments.
class AnchorSegments {
 public:
  AnchorSegments(const IndexTerms& terms, const AnalyzerOptions& options) : terms_(terms), analyzer_(options) {}

  /// Adds a link's text as a phrase and appends full segments to `out`.
  void add(std::string_view text, Bytes& out) {
    const auto on_phrase_end = [&] { add_place(SegmentBuilder::phrase_end_key, out); };
    const auto on_term = [&](std::string_view term) {
      const auto [place, is_new] = keys_.try_emplace(std::string(term));
      if (is_new) {
        const auto number = numbers_.number(term, [&](std::string_view unknown) { return terms_.number(unknown); });
        place->second = number ? builder_.add_term(*number) : builder_.add_literal(term, terms_.whole_has_list(term));
      }
      add_place(place->second, out);
    };
    analyzer_.analyze(text, on_term, on_phrase_end);
    on_phrase_end();
  }
  /// Ends the document's last segment.
  void end_document(Bytes& out) {
    builder_.encode(terms_.size(), out);
    keys_.clear();
  }
  const SegmentCounts& counts() const { return builder_.counts(); }

 private:
  void add_place(SegmentBuilder::Key key, Bytes& out) {
    builder_.add_place(DocumentStream::anchor, key);
    if (builder_.is_full()) end_document(out);
  }

  const IndexTerms& terms_;
  TermNumberCache numbers_;
  Analyzer analyzer_;
  std::unordered_map<std::string, SegmentBuilder::Key> keys_;  ///< of the current segment
  SegmentBuilder builder_;
};

/// A thread's buffers for a chunk.
struct ForwardReading {
  explicit ForwardReading(const IndexTerms& terms) : segments(terms) {}

  LinkReading links;
  TextSegments segments;
  std::vector<StaticNumbers> numbers;  ///< of the chunk's rows
  Bytes payload;
};

class ForwardBuilder {
 public:
  ForwardBuilder(const CollectionReader& collection, const ForwardTarget& target, const Resources& resources, File& out)
      : collection_(collection),
        target_(target),
        resources_(resources),
        working_bytes_(resources.memory_bytes - forward_table_bytes(collection)),
        file_(out),
        range_(target.shard == nullptr ? DocidRange{0, collection.num_documents()} : target.shard->docids),
        terms_(terms_of(collection, target.shard)),
        rows_(resources.tmp_folder, working_bytes_ / 2),
        out_links_(range_.size()),
        in_links_(range_.size()) {}

  ForwardReport run() {
    check_free_space(resources_.tmp_folder,
                     collection_.manifest().tokens * 2 + collection_.manifest().links * sorted_link_bytes,
                     "the forward file");
    number_documents();
    if (target_.shard != nullptr) read_shard_urls();
    resources_.progress->start("write forward file", collection_.num_documents(), "documents");
    {
      LinkQuestions<AnchorQuestion> questions(collection_, resources_, working_bytes_ / 4);
      read_chunks(questions);
      add_anchors(questions);
    }
    write();
    resources_.progress->finish();
    return std::move(report_);
  }

 private:
  void number_documents() {
    if (target_.documents.size() != collection_.num_documents())
      throw InvalidArgument(collection_.name() + ": its number of documents differs from the order's");
    docids_.resize(target_.documents.size());
    for (docid_t docid = 0; docid < docids_.size(); ++docid) docids_[target_.documents[docid]] = docid;
  }

  /// Whether the index contains a document of the collection.
  bool is_indexed(docid_t document) const { return range_.has(docids_[document]); }
  /// The docID in the index of a document that it contains.
  docid_t docid_of(docid_t document) const { return docids_[document] - range_.first; }

  bool has_indexed(std::size_t chunk) const {
    const docid_t first = collection_.first_document(chunk), end = first + collection_.num_rows(chunk);
    for (docid_t document = first; document < end; ++document)
      if (is_indexed(document)) return true;
    return false;
  }

  /// Reads the URLs of the shard's documents, to skip links between other documents.
  void read_shard_urls() {
    shard_urls_.emplace(range_.size());
    ChunkBuffers buffers;
    for (std::size_t chunk = 0; chunk < collection_.num_chunks(); ++chunk) {
      if (!has_indexed(chunk)) continue;
      docid_t document = collection_.first_document(chunk);
      for (const DocumentRow& row : collection_.documents(chunk, buffers))
        if (is_indexed(document++) && !row.url.empty()) shard_urls_->add(NameTable::hash_of(page_url(row.url)));
    }
  }

  bool is_of_interest(const PageLink& link) const {
    return !shard_urls_ || is_indexed(link.from) || shard_urls_->may_have(link.to_url);
  }

  void read_chunks(LinkQuestions<AnchorQuestion>& questions) {
    const std::uint64_t reading_bytes =
        std::max(link_reading_bytes(collection_), 3 * posting_reading_bytes(collection_));
    JobPool<ForwardReading> readings;
    for_each_chunk(
        collection_, reading_bytes, working_bytes_ / 4, resources_, readings,
        [&] { return std::make_unique<ForwardReading>(terms_); },
        [&](ForwardReading& reading, std::size_t chunk) { read_chunk(chunk, reading, questions); });
    readings.for_each([&](const ForwardReading& reading) { report_.manifest.counts += reading.segments.counts(); });
  }

  void read_chunk(std::size_t chunk, ForwardReading& reading, LinkQuestions<AnchorQuestion>& questions) {
    reading.numbers.assign(collection_.num_rows(chunk), {});
    ChunkBuffers& buffers = reading.links.buffers;
    std::size_t row = 0;
    for (const DocumentRow& document : collection_.documents(chunk, buffers)) {
      reading.numbers[row].url_bytes = document.url.size();
      reading.numbers[row++].url_depth = url_path_depth(document.url);
    }
    questions.add_chunk(chunk, reading.links, [&](const PageLink& link) -> std::optional<LinkQuestion<AnchorQuestion>> {
      if (!is_of_interest(link)) return std::nullopt;
      return LinkQuestion<AnchorQuestion>{{link.from, link.chunk, link.number}, as_bytes(link.anchor)};
    });
    if (target_.shard != nullptr) target_.shard->statistics.statistics().container().release();
    if (!has_indexed(chunk)) return;
    collection_.links(chunk, buffers, [&](std::uint32_t link_row, std::string_view, std::string_view) {
      ++reading.numbers[link_row].links;
    });
    add_streams(chunk, reading);
  }

  void add_streams(std::size_t chunk, ForwardReading& reading) {
    const std::span<const ForwardRow> rows = collection_.forward(chunk, reading.links.buffers);
    reading.segments.begin_chunk(reading.links.buffers.terms);
    for (std::uint32_t row = 0; row < rows.size(); ++row) {
      const docid_t document = collection_.first_document(chunk) + row;
      if (!is_indexed(document)) continue;
      const docid_t docid = docid_of(document);
      const bool is_split = (row == 0 && collection_.is_continued(chunk)) || row == collection_.chunk(chunk).documents;
      Bytes& payload = reading.payload;
      payload.clear();
      const StaticNumbers& numbers = reading.numbers[row];
      for (const std::uint64_t number : {numbers.url_bytes, numbers.url_depth, numbers.links})
        put_varint(payload, number);
      const std::pair<DocumentStream, ByteView> streams[] = {{DocumentStream::title, rows[row].title},
                                                             {DocumentStream::body, rows[row].body},
                                                             {DocumentStream::url, rows[row].url}};
      // Streams of a split document join across chunks: each is a separate row.
      if (is_split) add_row(docid, head_row, chunk, payload);
      for (const auto& [stream, tokens] : streams) {
        if (is_split) payload.clear();
        reading.segments.add_stream(stream, tokens, collection_.name(), payload);
        if (!is_split) continue;
        reading.segments.end_document(payload);
        if (!payload.empty())
          add_row(docid, static_cast<RowKind>(title_row + static_cast<int>(stream)), chunk, payload);
      }
      if (is_split) continue;
      reading.segments.end_document(payload);
      add_row(docid, head_row, chunk, payload);
    }
  }

  void add_row(docid_t docid, RowKind kind, std::size_t chunk, ByteView payload) {
    const SortKey key(docid, kind, static_cast<std::uint32_t>(chunk), std::uint32_t{0}, std::uint32_t{0});
    with_isolated_lock(adding_, [&] { rows_.add(key.view(), payload); });
  }

  /// Adds the texts of links to the documents that they lead to.
  void add_anchors(LinkQuestions<AnchorQuestion>& questions) {
    docid_t last_to = end_docid, last_from = end_docid;
    questions.answer([&](docid_t to, const AnchorQuestion& link, bool, ByteView anchor) {
      if (to == end_docid) return;
      // Links to one document come together, by linking document.
      const bool is_first = to != last_to || link.from != last_from;
      last_to = to;
      last_from = link.from;
      if (is_first && is_indexed(link.from)) ++out_links_[docid_of(link.from)];
      if (!is_indexed(to)) return;
      ++anchors_;
      const docid_t docid = docid_of(to);
      if (is_first) ++in_links_[docid];
      rows_.add(SortKey(docid, anchor_row, docids_[link.from], link.chunk, link.number).view(), anchor);
    });
  }

  void write() {
    ForwardWriter writer(file_, resources_.tmp_folder);
    AnchorSegments anchors(terms_, collection_.manifest().analyzer);
    StaticNumbers numbers;
    Bytes segments;
    docid_t next = 0;          // the document after the current one
    bool has_numbers = false;  // not written yet
    const auto end_numbers = [&] {
      if (has_numbers) writer.begin_document(numbers);
      has_numbers = false;
    };
    const auto end_document = [&] {
      end_numbers();
      segments.clear();
      anchors.end_document(segments);
      writer.add_segments(segments);
    };
    rows_.merge([&](std::string_view key, ByteView payload) {
      const auto docid = number_in_key<docid_t>(key, 0);
      const auto kind = static_cast<RowKind>(key[sizeof docid]);
      if (docid + 1 != next) {
        if (next > 0) end_document();
        if (docid != next++) throw CorruptFile(collection_.name() + ": a document is missing");
        numbers = {};
        has_numbers = true;
      }
      if (kind == head_row) {
        ByteReader reader(payload, collection_.name());
        numbers.url_bytes += reader.varint();
        numbers.url_depth += reader.varint();
        numbers.links += reader.varint();
        payload = reader.take(reader.left());
        if (payload.empty()) return;
      }
      end_numbers();
      if (kind != anchor_row) return writer.add_segments(payload);
      segments.clear();
      anchors.add(as_text(payload), segments);
      writer.add_segments(segments);
    });
    if (next > 0) end_document();
    if (next != range_.size()) throw CorruptFile(collection_.name() + ": a document is missing");
    report_.manifest.counts += anchors.counts();
    report_.manifest.index_hash = target_.index_hash;
    report_.manifest.documents = range_.size();
    report_.manifest.index_terms = terms_.size();
    writer.finish(report_.manifest, out_links_, in_links_);
    report_.file_bytes = file_.size();
    report_.anchors = anchors_;
  }

  const CollectionReader& collection_;
  const ForwardTarget& target_;
  const Resources& resources_;
  std::uint64_t working_bytes_;
  File& file_;
  DocidRange range_;  ///< range of the order in the index
  IndexTerms terms_;
  std::mutex adding_;
  ExternalSort rows_;
  std::vector<docid_t> docids_;  ///< docID of each document of the collection
  std::optional<ShardUrls> shard_urls_;
  std::vector<std::uint32_t> out_links_, in_links_;
  std::uint64_t anchors_ = 0;
  ForwardReport report_;
};

}  // namespace

void check_forward_memory(const CollectionReader& collection, const Resources& resources) {
  if (collection.manifest().impacts)
    throw InvalidArgument(collection.name() + ": holds term weights, not the text that " + option_name<"forward"> +
                          " needs; omit it");
  const std::uint64_t needed = forward_table_bytes(collection) + min_forward_bytes;
  if (needed > resources.memory_bytes) {
    throw InvalidArgument("{}: the forward file of {} documents needs {} of memory, but {} allows {}; raise it",
                          collection.name(), collection.num_documents(), size_text(needed), option_name<"memory">,
                          size_text(resources.memory_bytes));
  }
}

ForwardReport build_forward(const CollectionReader& collection, const ForwardTarget& target, const Resources& resources,
                            File& out) {
  return run_stage(resources, [&] {
    check_forward_memory(collection, resources);
    return ForwardBuilder(collection, target, resources, out).run();
  });
}

}  // namespace quern
