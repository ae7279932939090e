#include "quern/formats/texts_file.hpp"

#include <fmt/format.h>
#include <tbb/enumerable_thread_specific.h>
#include <tbb/parallel_for.h>

#include <atomic>

#include "quern/formats/manifest_settings.hpp"
#include "quern/io/checksum.hpp"
#include "quern/text/utf8.hpp"

namespace quern {
namespace {

constexpr std::uint64_t frame_row_bytes = 16;

/// Frames that threads compress together.
constexpr std::size_t frames_at_once = 32;

std::size_t varint_bytes(std::uint64_t value) {
  std::size_t bytes = 1;
  for (; value >= 0x80; value >>= 7) ++bytes;
  return bytes;
}

/// Bytes of an overlong text for its next frame: up to a character boundary if it is UTF-8.
std::size_t part_bytes(ByteView text) {
  const std::size_t bytes = cut_at_character(as_text(text), text_frame_bytes).size();
  return bytes >= min_text_part_bytes ? bytes : text_frame_bytes;
}

constexpr auto describe_texts = [](const auto& io, auto& texts) {
  io("libraries", "zstd", texts.zstd);
  io("documents", texts.documents);
  io("text_bytes", texts.text_bytes);
  io("index_hash", texts.index_hash);
};

}  // namespace

TextsReader TextsReader::open_beside(const IndexReader& index) {
  const std::string remedy = std::string("build the index again with ") + option_name<"store-text">;
  TextsReader texts = open(existing_member_path(index.name(), texts_member, remedy));
  texts.check_belongs_to(index);
  return texts;
}

TextsReader::TextsReader(ContainerReader container) : ManifestReader(std::move(container)) {
  if (manifest_.documents >= end_docid) container_.fail("manifest", "too many documents");
  const SectionInfo& rows = container_.find("text_frames");
  if (rows.size == 0 || rows.size % frame_row_bytes != 0) container_.fail("text_frames", "has an impossible size");
  num_frames_ = rows.size / frame_row_bytes - 1;
  rows_ = CheckedSection(container_, "text_frames");
  frames_ = CheckedSection(container_, "texts");
}

void TextsReader::check_belongs_to(const IndexReader& index) const {
  if (manifest_.index_hash == hash_text(index.container().content_hash()) &&
      manifest_.documents == index.num_documents())
    return;
  throw InvalidArgument("{}: holds the texts of another index, not of {}; build the index again with {}", name(),
                        index.name(), option_name<"store-text">);
}

void TextsReader::fail_at(std::uint64_t i, std::string_view why) const {
  container_.fail("text_frames", fmt::format("frame {} {}", i, why));
}

TextFrame TextsReader::frame(std::uint64_t i) const {
  const ByteView row = rows_.bytes(i * frame_row_bytes, (i + 1) * frame_row_bytes);
  return {load_le<std::uint64_t>(row.data()), load_le<docid_t>(row.data() + 8),
          load_le<std::uint32_t>(row.data() + 12)};
}

std::uint64_t TextsReader::first_frame_from(std::uint64_t docid) const {
  return first_without(0, num_frames_, [&](std::uint64_t i) { return frame(i).first_document < docid; });
}

void TextsReader::load(std::uint64_t i, TextBuffers& buffers) const {
  if (buffers.frame == i) return;
  buffers.frame.reset();
  const TextFrame at = frame(i), next = frame(i + 1);
  if (at.offset > next.offset || next.offset > frames_.size()) fail_at(i, "reaches past section 'texts'");
  if (at.raw_bytes > text_frame_bytes) fail_at(i, "is too large");
  buffers.zstd.decompress(frames_.bytes(at.offset, next.offset), at.raw_bytes, buffers.raw,
                          fmt::format("{}: section 'texts': frame {}", name(), i));
  buffers.frame = i;
}

/// The text of one of the documents that share a frame.
std::string_view TextsReader::in_group(std::uint64_t i, docid_t documents, docid_t place,
                                       const TextBuffers& buffers) const {
  if (documents == 1) return as_text(buffers.raw);
  const std::string what = fmt::format("{}: section 'texts': frame {}", name(), i);
  ByteReader reader(buffers.raw, what);
  if (documents > reader.left()) reader.fail("ends too early");
  std::uint64_t before = 0, size = 0;
  for (docid_t each = 0; each < documents; ++each) {
    const std::uint64_t bytes = reader.varint32();
    if (each < place) before += bytes;
    if (each == place) size = bytes;
  }
  reader.take(before);
  return as_text(reader.take(size));
}

void TextsReader::read(docid_t docid, TextBuffers& buffers, const std::function<void(std::string_view)>& visit) const {
  if (docid >= manifest_.documents) throw InvalidArgument("{}: no docID {}", name(), docid);
  const std::uint64_t end = first_frame_from(std::uint64_t{docid} + 1);
  if (end == 0) fail_at(0, "does not begin with the first document");
  const docid_t first = frame(end - 1).first_document, next = frame(end).first_document;
  const std::uint64_t begin = first_frame_from(first);
  if (first > docid || next <= docid || begin >= end) fail_at(end - 1, "is not in the order of documents");
  if (end - begin == 1) {
    load(begin, buffers);
    return visit(in_group(begin, next - first, docid - first, buffers));
  }
  if (next - first != 1) fail_at(begin, "holds part of a document together with others");
  for (std::uint64_t i = begin; i < end; ++i) {
    load(i, buffers);
    visit(as_text(buffers.raw));
  }
}

std::string TextsReader::text(docid_t docid) const {
  TextBuffers buffers;
  std::string text;
  read(docid, buffers, [&](std::string_view piece) { text += piece; });
  return text;
}

/// Returns a frame's bytes of text.
std::uint64_t TextsReader::verify_frame(std::uint64_t i, TextBuffers& buffers) const {
  const TextFrame at = frame(i), next = frame(i + 1);
  if (i == 0 && (at.offset != 0 || at.first_document != 0)) fail_at(i, "does not begin at offset 0 with document 0");
  if (next.first_document < at.first_document) fail_at(i, "is not in the order of documents");
  const docid_t documents = next.first_document - at.first_document;
  const bool is_last_part = i > 0 && frame(i - 1).first_document == at.first_document;
  if (is_last_part && documents > 1) fail_at(i, "holds part of a document together with others");
  if (documents == 0 && at.raw_bytes < min_text_part_bytes) fail_at(i, "is too small for a text that continues");
  load(i, buffers);
  if (documents <= 1) return buffers.raw.size();
  const std::string what = fmt::format("{}: section 'texts': frame {}", name(), i);
  ByteReader reader(buffers.raw, what);
  if (documents > reader.left()) reader.fail("ends too early");
  std::uint64_t bytes = 0;
  for (docid_t each = 0; each < documents; ++each) bytes += reader.varint32();
  if (bytes != reader.left()) reader.fail("its sizes differ from those of its texts");
  return bytes;
}

void TextsReader::verify_contents(const Resources& resources) const {
  return run_stage(resources, [&] {
    const TextFrame end = frame(num_frames_);
    if (end.offset != frames_.size() || end.first_document != manifest_.documents || end.raw_bytes != 0)
      fail_at(num_frames_, "is not the end of the texts");
    if (num_frames_ == 0 && (manifest_.documents > 0 || frames_.size() > 0)) fail_at(0, "is missing");
    if (num_frames_ > 0 && frame(num_frames_ - 1).first_document == manifest_.documents)
      fail_at(num_frames_ - 1, "belongs to no document");
    std::atomic<std::uint64_t> text_bytes = 0;
    tbb::enumerable_thread_specific<TextBuffers> buffers;
    tbb::parallel_for(std::uint64_t{0}, num_frames_, [&](std::uint64_t i) {
      text_bytes += verify_frame(i, buffers.local());
      resources.progress->add(frame(i).raw_bytes);
    });
    if (text_bytes != manifest_.text_bytes)
      container_.fail("manifest", "its number of bytes differs from that of the texts");
  });
}

std::string TextsManifest::to_json() const { return described_manifest("texts", *this, describe_texts); }

TextsManifest TextsManifest::from_json(const std::string& text, const std::string& what) {
  return read_described_manifest<TextsManifest>(text, what, describe_texts);
}

/// Frames waiting to be written, and all rows.
struct TextsWriter::Frames {
  explicit Frames(const std::string& tmp_folder) : rows(tmp_folder) {}

  void add(docid_t first_document, ByteView raw, ContainerWriter& out) {
    if (waiting == frames_at_once) write(out);
    Frame& frame = frames[waiting++];
    frame.first_document = first_document;
    frame.raw.assign(raw.begin(), raw.end());
  }
  void write(ContainerWriter& out) {
    tbb::parallel_for(std::size_t{0}, waiting, [&](std::size_t i) {
      frames[i].packed.clear();
      compressors.local().append(frames[i].raw, frames[i].packed);
    });
    for (std::size_t i = 0; i < waiting; ++i) {
      put_row(out.section_size(), frames[i].first_document, static_cast<std::uint32_t>(frames[i].raw.size()));
      out.write(frames[i].packed);
    }
    waiting = 0;
  }
  void put_row(std::uint64_t offset, docid_t first_document, std::uint32_t raw_bytes) {
    Bytes row;
    put_le(row, offset);
    put_le(row, first_document);
    put_le(row, raw_bytes);
    rows.append(row);
  }

  struct Frame {
    docid_t first_document = 0;
    Bytes raw, packed;
  };
  std::array<Frame, frames_at_once> frames;
  std::size_t waiting = 0;
  tbb::enumerable_thread_specific<ZstdCompressor> compressors{3};
  Spool rows;
};

TextsWriter::TextsWriter(File& file, const std::string& tmp_folder)
    : out_(file, FileKind::texts), frames_(std::make_unique<Frames>(tmp_folder)) {
  out_.begin_section("texts");
}

TextsWriter::~TextsWriter() = default;

/// Moves the start of the open document to a separate frame.
void TextsWriter::put_part(std::size_t bytes) {
  frames_->add(static_cast<docid_t>(documents_), ByteView(open_).first(bytes), out_);
  open_.erase(open_.begin(), open_.begin() + static_cast<std::ptrdiff_t>(bytes));
  is_in_frames_ = true;
}

/// Puts the waiting documents into a frame.
void TextsWriter::end_group() {
  if (group_documents_ == 0) return;
  if (group_documents_ == 1) group_sizes_.clear();  // the frame's size is enough
  group_sizes_.insert(group_sizes_.end(), group_texts_.begin(), group_texts_.end());
  frames_->add(static_cast<docid_t>(documents_ - group_documents_), group_sizes_, out_);
  group_sizes_.clear();
  group_texts_.clear();
  group_documents_ = 0;
}

void TextsWriter::add(std::string_view piece) {
  text_bytes_ += piece.size();
  while (!piece.empty()) {
    const std::string_view step = piece.substr(0, text_frame_bytes);
    piece.remove_prefix(step.size());
    put_bytes(open_, step);
    while (open_.size() > text_frame_bytes) {
      end_group();
      put_part(part_bytes(open_));
    }
  }
}

void TextsWriter::end_document() {
  if (is_in_frames_) {
    put_part(open_.size());
    is_in_frames_ = false;
  } else {
    const std::size_t bytes = varint_bytes(open_.size()) + open_.size();
    if (group_sizes_.size() + group_texts_.size() + bytes > text_frame_bytes) end_group();
    put_varint(group_sizes_, open_.size());
    group_texts_.insert(group_texts_.end(), open_.begin(), open_.end());
    ++group_documents_;
    open_.clear();
  }
  ++documents_;
}

void TextsWriter::finish(const std::string& index_hash) {
  end_group();
  frames_->write(out_);
  frames_->put_row(out_.section_size(), static_cast<docid_t>(documents_), 0);
  out_.end_section();
  out_.add_section("text_frames", frames_->rows);
  const TextsManifest manifest{documents_, text_bytes_, index_hash, zstd_version()};
  out_.finish(manifest.to_json());
}

}  // namespace quern
