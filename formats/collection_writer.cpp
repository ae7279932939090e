#include "quern/formats/collection.hpp"
#include "quern/formats/manifest_settings.hpp"
#include "quern/io/checksum.hpp"
#include "quern/text/field_value.hpp"

namespace quern {
namespace {

/// Limit of a piece.
constexpr std::uint64_t max_piece_bytes = std::uint64_t{4} << 30;

void put_row(Bytes& out, const ChunkRow& row) {
  put_le(out, row.documents);
  put_le(out, row.terms);
  put_le(out, row.offset);
  for (const auto* sizes : {&row.sizes, &row.raw_sizes})
    for (std::size_t i = 0; i < num_fixed_pieces; ++i) put_le(out, (*sizes)[i]);
  put_le(out, row.terms_offset);
  put_le(out, row.terms_size);
  put_le(out, std::uint32_t{row.unfinished});
}

Features features_of(const CollectionManifest& manifest) {
  return manifest.impacts ? Features{std::string(weights_feature)} : Features{};
}

constexpr auto describe_collection = [](const auto& io, auto& collection) {
  io("counts", "documents", collection.documents);
  io("counts", "empty_documents", collection.empty_documents);
  io("counts", "documents_without_url", collection.documents_without_url);
  io("counts", "terms", collection.terms);
  io("counts", "tokens", collection.tokens);
  io("counts", "title_tokens", collection.title_tokens);
  io("counts", "postings", collection.postings);
  io("counts", "links", collection.links);
  io("counts", "text_bytes", collection.text_bytes);
  io("counts", "bad_documents", collection.bad_documents);
  io("counts", "max_bad_documents", collection.max_bad_documents);
};

}  // namespace

void pack_piece(ChunkPiece piece, ByteView raw, ZstdCompressor& zstd, PackedChunk& packed) {
  if (raw.size() >= max_piece_bytes)
    throw InvalidArgument(std::string("a chunk would be 4 GiB or larger; lower ") + option_name<"max-document">);
  const auto i = static_cast<std::size_t>(piece);
  const std::size_t before = packed.frames.size();
  zstd.append(raw, packed.frames);
  packed.row.sizes[i] = static_cast<std::uint32_t>(packed.frames.size() - before);
  packed.row.raw_sizes[i] = static_cast<std::uint32_t>(raw.size());
}

void ChunkEncoder::clear() {
  ended_streams_ = 0;
  is_continued_ = false;
  begin_chunk();
}

/// Streams of the open document that ended in earlier chunks have no bytes here.
void ChunkEncoder::begin_chunk() {
  for (Bytes* piece :
       {&documents_, &stream_sizes_, &streams_, &links_, &document_links_, &text_sizes_, &texts_, &fields_})
    piece->clear();
  stream_begin_ = text_begin_ = 0;
  num_document_links_ = documents_ended_ = 0;
  for (put_sizes_ = 0; put_sizes_ < ended_streams_; ++put_sizes_) put_varint(stream_sizes_, 0);
}

void ChunkEncoder::end_stream() {
  put_varint(stream_sizes_, streams_.size() - stream_begin_);
  stream_begin_ = streams_.size();
  ++ended_streams_;
  ++put_sizes_;
}

void ChunkEncoder::add_link(std::string_view url, std::string_view anchor) {
  put_string(document_links_, url);
  put_string(document_links_, anchor);
  ++num_document_links_;
}

/// Ends the open document's row in this chunk.
void ChunkEncoder::end_row() {
  for (; put_sizes_ < num_streams; ++put_sizes_) {
    put_varint(stream_sizes_, streams_.size() - stream_begin_);
    stream_begin_ = streams_.size();
  }
  put_varint(links_, num_document_links_);
  links_.insert(links_.end(), document_links_.begin(), document_links_.end());
  document_links_.clear();
  num_document_links_ = put_sizes_ = 0;
  put_varint(text_sizes_, texts_.size() - text_begin_);
  text_begin_ = texts_.size();
}

void ChunkEncoder::end_document(const DocumentRow& row, ByteView kept) {
  if (kept.empty())
    for (std::size_t field = 0; field < kept_fields_; ++field) put_field_value(fields_, {});
  fields_.insert(fields_.end(), kept.begin(), kept.end());
  put_string(documents_, row.docno);
  put_string(documents_, row.url);
  put_string(documents_, row.title);
  put_varint(documents_, row.tokens);
  end_row();
  ended_streams_ = 0;
  is_continued_ = false;
  ++documents_ended_;
}

void ChunkEncoder::pack(ZstdCompressor& zstd, PackedChunk& packed) {
  packed.row.unfinished = in_document();
  if (packed.row.unfinished) end_row();
  packed.row.documents = documents_ended_;
  stream_sizes_.insert(stream_sizes_.end(), streams_.begin(), streams_.end());
  pack_piece(ChunkPiece::documents, documents_, zstd, packed);
  pack_piece(ChunkPiece::forward, stream_sizes_, zstd, packed);
  pack_piece(ChunkPiece::links, links_, zstd, packed);
  if (with_texts_) {
    text_sizes_.insert(text_sizes_.end(), texts_.begin(), texts_.end());
    pack_piece(ChunkPiece::texts, text_sizes_, zstd, packed);
  }
  if (kept_fields_ > 0) pack_piece(ChunkPiece::fields, fields_, zstd, packed);
  is_continued_ = packed.row.unfinished;
  begin_chunk();
}

CollectionWriter::CollectionWriter(File& file, const std::string& tmp_folder, bool with_texts, bool with_fields)
    : out_(file, FileKind::collection),
      with_texts_(with_texts),
      with_fields_(with_fields),
      zstd_(1),
      lengths_(tmp_folder),
      dictionary_([this](ByteView bytes) { out_.write(bytes); }, tmp_folder) {
  out_.begin_section("chunk_data");
}

void CollectionWriter::add_chunk(const PackedChunk& chunk) {
  rows_.push_back(chunk.row);
  rows_.back().offset = out_.section_size();
  out_.write(chunk.frames);
  lengths_.append_array(std::span(chunk.lengths));
}

void CollectionWriter::begin_lexicon() {
  out_.end_section();
  out_.add_section("lengths", lengths_);
  out_.begin_section("lexicon");
}

void CollectionWriter::add_term(std::string_view term, std::uint64_t df, std::uint64_t cf) {
  Bytes payload;
  put_varint(payload, df);
  put_varint(payload, cf);
  dictionary_.add(term, payload);
}

void CollectionWriter::begin_chunk_terms() {
  const Spool& offsets = dictionary_.finish();
  out_.end_section();
  out_.add_section("lexicon_blocks", offsets);
  out_.begin_section("chunk_terms");
}

void CollectionWriter::add_chunk_terms(std::span<const term_t> terms) {
  Bytes frame;
  zstd_.append({reinterpret_cast<const std::uint8_t*>(terms.data()), terms.size_bytes()}, frame);
  ChunkRow& row = rows_.at(next_chunk_terms_++);
  row.terms_offset = out_.section_size();
  row.terms_size = static_cast<std::uint32_t>(frame.size());
  out_.write(frame);
}

void CollectionWriter::write_rows() {
  out_.begin_section("chunks");
  for (const ChunkRow& row : rows_) {
    Bytes bytes;
    put_row(bytes, row);
    out_.write(bytes);
  }
  out_.end_section();
  if (with_texts_) write_sizes("text_rows", ChunkPiece::texts);
  if (with_fields_) write_sizes("field_rows", ChunkPiece::fields);
}

void CollectionWriter::write_sizes(std::string_view section, ChunkPiece piece) {
  out_.begin_section(section);
  for (const ChunkRow& row : rows_) {
    Bytes bytes;
    put_le(bytes, row.sizes[static_cast<std::size_t>(piece)]);
    put_le(bytes, row.raw_sizes[static_cast<std::size_t>(piece)]);
    out_.write(bytes);
  }
  out_.end_section();
}

void CollectionWriter::finish(const CollectionManifest& manifest) {
  if (manifest.text_bytes.has_value() != with_texts_ || manifest.field_names.kept.empty() == with_fields_)
    throw Error("collection: the writer was misused");
  out_.end_section();
  write_rows();
  out_.finish(manifest.to_json());
}

std::string CollectionManifest::to_json() const {
  ManifestJson json = new_manifest("collection");
  json["features"] = features_of(*this);
  json["settings"] = parse_settings(*this);
  put_libraries(json, libraries);
  describe_collection(ManifestPut{json}, *this);
  json["input_hash"] = hash_text(input_hash);
  return manifest_text(json);
}

CollectionManifest CollectionManifest::from_json(const std::string& text, const std::string& what) {
  CollectionManifest manifest;
  read_manifest(text, what, [&](const ManifestJson& json) {
    read_parse_settings(json.at("settings"), what, manifest);
    manifest.libraries = read_libraries(json);
    describe_collection(ManifestGet{json}, manifest);
    const auto hash = hash_of_text(json.at("input_hash").get<std::string>());
    if (!hash) throw CorruptFile(what + ": section 'manifest': 'input_hash' is not a hash");
    manifest.input_hash = *hash;
    check_features(json, features_of(manifest), what);
  });
  return manifest;
}

void CollectionManifest::add_optional_counts(const CollectionManifest& other, const std::string& what) {
  if (pages.drop_copies)
    throw InvalidArgument(
        "{}: was parsed with {}, which compares the pages of one split only; parse the whole corpus "
        "at once, or omit the option",
        what, option_name<"drop-copies">);
  if (title_tokens && other.title_tokens)
    *title_tokens += *other.title_tokens;
  else
    title_tokens.reset();
  if (!other.bad_documents) return;
  const std::uint64_t most = other.max_bad_documents.value_or(0);
  bad_documents = bad_documents.value_or(0) + *other.bad_documents;
  max_bad_documents = std::min(max_bad_documents.value_or(most), most);
  if (*bad_documents > *max_bad_documents)
    throw InvalidArgument(
        "{}: has {}, and with those of the splits before it there are {}, more than {} {}; fix the corpus, or parse "
        "with another limit",
        what, count_text(*other.bad_documents, "bad document"), *bad_documents, option_name<"max-errors">,
        *max_bad_documents);
}

}  // namespace quern
