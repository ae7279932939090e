#include <fmt/format.h>

#include <numeric>
#include <unordered_map>

#include "quern/formats/collection.hpp"
#include "quern/formats/manifest_settings.hpp"
#include "quern/io/checksum.hpp"
#include "quern/text/field_value.hpp"

namespace quern {
namespace {

constexpr std::uint64_t chunk_row_bytes = 56;
constexpr std::uint64_t size_row_bytes = 8;

ChunkRow get_row(ByteReader& reader) {
  ChunkRow row;
  row.documents = reader.le<std::uint32_t>();
  row.terms = reader.le<std::uint32_t>();
  row.offset = reader.le<std::uint64_t>();
  for (auto* sizes : {&row.sizes, &row.raw_sizes})
    for (std::size_t i = 0; i < num_fixed_pieces; ++i) (*sizes)[i] = reader.le<std::uint32_t>();
  row.terms_offset = reader.le<std::uint64_t>();
  row.terms_size = reader.le<std::uint32_t>();
  const auto flags = reader.le<std::uint32_t>();
  if (flags > 1) reader.fail("has an unknown flag in a row of section 'chunks'");
  row.unfinished = flags == 1;
  return row;
}

/// Sizes of a row's streams.
struct ForwardSizes {
  std::uint32_t title, body, url;
};

/// Bytes of the first `count` pieces.
std::uint64_t pieces_size(const ChunkRow& row, std::size_t count = num_chunk_pieces) {
  return std::accumulate(row.sizes, row.sizes + count, std::uint64_t{0});
}

bool fits(std::uint64_t offset, std::uint64_t size, std::uint64_t whole) {
  return offset <= whole && size <= whole - offset;
}

/// Throws unless a collection can be combined with the first.
void check_fits(const ContainerReader& first, const CollectionManifest& first_manifest, const ContainerReader& other,
                const CollectionManifest& other_manifest) {
  if (parse_settings(first_manifest) != parse_settings(other_manifest) ||
      first_manifest.text_bytes.has_value() != other_manifest.text_bytes.has_value())
    throw InvalidArgument(
        "{}: was parsed with different options than {}; compare them with quern inspect and parse one again",
        other.name(), first.name());
  if (first_manifest.libraries != other_manifest.libraries)
    throw InvalidArgument("{}: was parsed with different library versions than {}; parse one again", other.name(),
                          first.name());
}

/// Adds another collection's counts.
void add_counts(CollectionManifest& sum, const CollectionManifest& other) {
  sum.documents += other.documents;
  sum.empty_documents += other.empty_documents;
  sum.tokens += other.tokens;
  sum.postings += other.postings;
  sum.links += other.links;
  sum.input_hash += other.input_hash;
  sum.documents_without_url += other.documents_without_url;
  if (sum.text_bytes) *sum.text_bytes += *other.text_bytes;
}

}  // namespace

CollectionReader CollectionReader::open(const std::string& path) { return open(std::vector<std::string>{path}); }

CollectionReader CollectionReader::open(const std::vector<std::string>& paths) {
  std::vector<std::shared_ptr<const File>> files;
  for (const std::string& path : paths) files.push_back(open_quern_file(path, FileKind::collection));
  return CollectionReader(files);
}

CollectionReader::CollectionReader(std::shared_ptr<const File> file)
    : CollectionReader(std::vector<std::shared_ptr<const File>>{std::move(file)}) {}

CollectionReader::CollectionReader(const std::vector<std::shared_ptr<const File>>& files) {
  if (files.empty()) throw InvalidArgument("no collection given");
  parts_.reserve(files.size());
  for (const std::shared_ptr<const File>& file : files) add_part(file);
  name_ = parts_.front().container.name();
  if (files.size() > 1) name_ = fmt::format("{} and {} more", name_, files.size() - 1);
}

void CollectionReader::add_part(std::shared_ptr<const File> file) {
  ContainerReader container(std::move(file), FileKind::collection);
  CollectionManifest manifest = CollectionManifest::from_json(container.manifest(), container.name());
  if (manifest.documents >= end_docid || manifest.terms >= end_docid ||
      manifest.title_tokens.value_or(0) > manifest.tokens)
    container.fail("manifest", "impossible counts");
  container.check_count(container.find("lengths"), manifest.documents, 4);
  const auto first_document = static_cast<docid_t>(manifest_.documents);
  if (parts_.empty()) {
    manifest_ = manifest;
  } else {
    check_fits(parts_.front().container, parts_.front().manifest, container, manifest);
    manifest_.add_optional_counts(manifest, container.name());
    add_counts(manifest_, manifest);
    manifest_.terms = 0;
    if (manifest_.documents >= end_docid)
      throw InvalidArgument("the collections up to {} have more than 2^32 - 2 documents; split the corpus into shards",
                            container.name());
  }
  parts_.push_back({std::move(container), std::move(manifest), rows_.size(), first_document, true});
  const Part& part = parts_.back();
  read_rows(part);
  if (has_texts()) read_sizes(part, "text_rows", ChunkPiece::texts);
  if (has_fields()) read_sizes(part, "field_rows", ChunkPiece::fields);
}

void CollectionReader::join_lexicons(const std::string& tmp_folder, std::uint64_t memory_bytes,
                                     const std::function<bool(docid_t)>& is_wanted) {
  if (parts_.size() == 1) return;
  std::vector<JoinedLexicon::Source> sources;
  for (Part& part : parts_) {
    const docid_t end = part.first_document + static_cast<docid_t>(part.manifest.documents);
    part.is_read = !is_wanted;
    for (docid_t document = part.first_document; document < end && !part.is_read; ++document)
      part.is_read = is_wanted(document);
    sources.push_back({part.is_read ? &part.container : nullptr, part.manifest.terms});
  }
  joined_ = std::make_shared<const JoinedLexicon>(sources, tmp_folder, memory_bytes);
  manifest_.terms = joined_->terms();
}

std::uint64_t CollectionReader::content_hash() const {
  if (parts_.size() == 1) return container().content_hash();
  Bytes hashes;
  for (const Part& part : parts_) put_le(hashes, part.container.content_hash());
  return xxh3(hashes);
}

std::vector<CollectionSplit> CollectionReader::splits() const {
  std::vector<CollectionSplit> splits;
  for (const Part& part : parts_) splits.push_back({part.container.content_hash(), part.manifest.documents});
  return splits;
}

void CollectionReader::verify(const Resources& resources, bool all) const {
  for (const Part& part : parts_)
    if (all || part.is_read) part.container.verify(resources);
}

void CollectionReader::read_rows(const Part& part) {
  const ContainerReader& container = part.container;
  const SectionInfo& section = container.find("chunks");
  const std::uint64_t data_size = container.find("chunk_data").size;
  const std::uint64_t terms_size = container.find("chunk_terms").size;
  if (section.size % chunk_row_bytes != 0) container.fail("chunks", "has an impossible size");
  Bytes bytes(section.size);
  container.file().read_at(section.offset, bytes);
  ByteReader reader(bytes, container.name());
  rows_.reserve(rows_.size() + section.size / chunk_row_bytes);
  first_documents_.reserve(rows_.capacity());
  const std::uint64_t end = part.first_document + part.manifest.documents;
  std::uint64_t documents = part.first_document;
  while (!reader.done()) {
    const ChunkRow row = get_row(reader);
    const std::uint64_t size = pieces_size(row);
    if (row.terms > part.manifest.terms) container.fail("chunks", "a chunk has more terms than the lexicon");
    if (!fits(row.offset, size, data_size) || !fits(row.terms_offset, row.terms_size, terms_size))
      container.fail("chunks", "a chunk reaches past its section");
    first_documents_.push_back(static_cast<docid_t>(documents));
    const bool is_continued = !rows_.empty() && rows_.back().unfinished;
    if (is_continued) {
      if (row.documents == 0 && !row.unfinished) container.fail("chunks", "a document is not terminated");
      split_documents_.back().last_chunk = rows_.size();
    }
    documents += row.documents;
    if (documents > end) break;
    if (row.unfinished && !(is_continued && row.documents == 0))
      split_documents_.push_back({static_cast<docid_t>(documents), rows_.size(), rows_.size()});
    rows_.push_back(row);
  }
  if (documents != end) container.fail("chunks", "has a different number of documents than the manifest");
  if (rows_.size() > part.first_chunk && rows_.back().unfinished)
    container.fail("chunks", "the last document is not terminated");
}

void CollectionReader::read_sizes(const Part& part, std::string_view section, ChunkPiece piece) {
  const ContainerReader& container = part.container;
  const SectionInfo& info = container.find(section);
  const std::span<ChunkRow> rows = std::span(rows_).subspan(part.first_chunk);
  container.check_count(info, rows.size(), size_row_bytes);
  const std::uint64_t data_size = container.find("chunk_data").size;
  Bytes bytes(info.size);
  container.file().read_at(info.offset, bytes);
  ByteReader reader(bytes, container.name());
  for (ChunkRow& row : rows) {
    row.sizes[static_cast<std::size_t>(piece)] = reader.le<std::uint32_t>();
    row.raw_sizes[static_cast<std::size_t>(piece)] = reader.le<std::uint32_t>();
    if (!fits(row.offset, pieces_size(row), data_size))
      container.fail(section, "a frame of a chunk reaches past section 'chunk_data'");
  }
}

std::uint64_t CollectionReader::table_bytes() const {
  return rows_.capacity() * sizeof rows_[0] + first_documents_.capacity() * sizeof first_documents_[0] +
         split_documents_.capacity() * sizeof split_documents_[0];
}

std::uint64_t CollectionReader::forward_bytes(std::size_t chunk) const {
  const ChunkRow& row = rows_[chunk];
  const auto piece = static_cast<std::size_t>(ChunkPiece::forward);
  const std::uint64_t joined_terms = joined_ ? part_of(chunk).manifest.terms * sizeof(term_t) : 0;
  return std::uint64_t{row.sizes[piece]} + row.raw_sizes[piece] + row.terms_size + joined_terms +
         std::uint64_t{row.terms} * 2 * sizeof(term_t) +
         std::uint64_t{num_rows(chunk)} * (sizeof(ForwardRow) + sizeof(ForwardSizes));
}

std::size_t CollectionReader::part_number(std::size_t chunk) const {
  const auto after = std::upper_bound(parts_.begin(), parts_.end(), chunk,
                                      [](std::size_t wanted, const Part& part) { return wanted < part.first_chunk; });
  return static_cast<std::size_t>(after - parts_.begin()) - 1;
}

std::string CollectionReader::place(std::size_t chunk, std::string_view what) const {
  const Part& part = part_of(chunk);
  return fmt::format("{}: section 'chunk_data': {} of chunk {}", part.container.name(), what, chunk - part.first_chunk);
}

void CollectionReader::load_terms(std::size_t chunk, ChunkBuffers& buffers) const {
  const ChunkRow& row = rows_[chunk];
  const std::size_t number = part_number(chunk);
  const Part& part = parts_[number];
  if (parts_.size() > 1 && (!joined_ || !part.is_read))
    throw Error(part.container.name() + ": its lexicon was not joined");
  const std::string what =
      fmt::format("{}: section 'chunk_terms': chunk {}", part.container.name(), chunk - part.first_chunk);
  buffers.frame.resize(row.terms_size);
  part.container.file().read_at(part.container.find("chunk_terms").offset + row.terms_offset, buffers.frame);
  buffers.zstd.decompress(buffers.frame, std::uint64_t{row.terms} * 4, buffers.raw, what);
  buffers.terms.resize(row.terms);
  if (row.terms > 0) std::memcpy(buffers.terms.data(), buffers.raw.data(), buffers.raw.size());
  for (const term_t term : buffers.terms)
    if (term >= part.manifest.terms) throw CorruptFile(what + ": has a term that is not in the lexicon");
  if (!joined_) return;
  if (!buffers.joined_terms || buffers.joined_terms->collection != number)
    buffers.joined_terms = joined_->terms_of(number);
  for (term_t& term : buffers.terms) term = buffers.joined_terms->numbers[term];
}

template <class Read>
void CollectionReader::read_piece(std::size_t chunk, ChunkPiece piece, std::string_view name, ChunkBuffers& buffers,
                                  Read&& read) const {
  const ContainerReader& container = part_of(chunk).container;
  const ChunkRow& row = rows_[chunk];
  const auto i = static_cast<std::size_t>(piece);
  const std::string what = place(chunk, name);
  buffers.frame.resize(row.sizes[i]);
  container.file().read_at(container.find("chunk_data").offset + row.offset + pieces_size(row, i), buffers.frame);
  buffers.zstd.decompress(buffers.frame, row.raw_sizes[i], buffers.raw, what);
  ByteReader reader(buffers.raw, what);
  read(reader);
  if (!reader.done()) reader.fail("has trailing bytes");
}

std::span<const DocumentRow> CollectionReader::documents(std::size_t chunk, ChunkBuffers& buffers) const {
  buffers.documents.clear();
  read_piece(chunk, ChunkPiece::documents, "the documents", buffers, [&](ByteReader& reader) {
    for (std::uint32_t i = 0; i < rows_[chunk].documents; ++i) {
      DocumentRow row;
      row.docno = reader.string();
      row.url = reader.string();
      row.title = reader.string();
      row.tokens = reader.varint32();
      buffers.documents.push_back(row);
    }
  });
  return buffers.documents;
}

std::span<const ForwardRow> CollectionReader::forward(std::size_t chunk, ChunkBuffers& buffers) const {
  load_terms(chunk, buffers);
  buffers.forward.clear();
  read_piece(chunk, ChunkPiece::forward, "the forward lists", buffers, [&](ByteReader& reader) {
    std::vector<ForwardSizes> sizes(std::min<std::uint64_t>(num_rows(chunk), reader.left() / 3 + 1));
    if (sizes.size() != num_rows(chunk)) reader.fail("ends too early");
    for (ForwardSizes& size : sizes) size = {reader.varint32(), reader.varint32(), reader.varint32()};
    for (const ForwardSizes& size : sizes) {
      ForwardRow row;
      row.title = reader.take(size.title);
      row.body = reader.take(size.body);
      row.url = reader.take(size.url);
      buffers.forward.push_back(row);
    }
  });
  return buffers.forward;
}

std::span<const std::string_view> CollectionReader::texts(std::size_t chunk, ChunkBuffers& buffers) const {
  if (!has_texts())
    throw InvalidArgument(name() + ": keeps no texts; parse the corpus with " + option_name<"store-text">);
  buffers.texts.clear();
  read_piece(chunk, ChunkPiece::texts, "the texts", buffers, [&](ByteReader& reader) {
    if (num_rows(chunk) > reader.left()) reader.fail("ends too early");
    std::vector<std::uint32_t> sizes(num_rows(chunk));
    for (std::uint32_t& size : sizes) size = reader.varint32();
    for (const std::uint32_t size : sizes) buffers.texts.push_back(as_text(reader.take(size)));
  });
  return buffers.texts;
}

std::span<const ByteView> CollectionReader::fields(std::size_t chunk, ChunkBuffers& buffers) const {
  if (!has_fields())
    throw InvalidArgument(name() + ": keeps no fields; parse the corpus with " + option_name<"keep-fields">);
  buffers.fields.clear();
  read_piece(chunk, ChunkPiece::fields, "the kept fields", buffers, [&](ByteReader& reader) {
    for (std::uint32_t i = 0; i < rows_[chunk].documents; ++i) {
      const std::uint8_t* const begin = reader.position();
      for (std::size_t field = 0; field < manifest_.field_names.kept.size(); ++field) read_field_value(reader);
      buffers.fields.emplace_back(begin, reader.position());
    }
  });
  return buffers.fields;
}

void CollectionReader::links(
    std::size_t chunk, ChunkBuffers& buffers,
    const std::function<void(std::uint32_t, std::string_view, std::string_view)>& visit) const {
  read_piece(chunk, ChunkPiece::links, "the links", buffers, [&](ByteReader& reader) {
    for (std::uint32_t i = 0; i < num_rows(chunk); ++i) {
      for (std::uint64_t count = reader.varint(); count > 0; --count) {
        const std::string_view url = reader.string();
        visit(i, url, reader.string());
      }
    }
  });
}

std::vector<std::uint32_t> CollectionReader::lengths() const {
  const auto lengths_of = [](const Part& part) {
    return part.container.load_array<std::uint32_t>("lengths", part.manifest.documents);
  };
  if (parts_.size() == 1) return lengths_of(parts_.front());
  std::vector<std::uint32_t> lengths(manifest_.documents);
  for (const Part& part : parts_) {
    const std::vector<std::uint32_t> part_lengths = lengths_of(part);
    std::copy(part_lengths.begin(), part_lengths.end(), lengths.begin() + part.first_document);
  }
  return lengths;
}

}  // namespace quern
