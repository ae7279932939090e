#include <fmt/format.h>
#include <tbb/enumerable_thread_specific.h>
#include <tbb/parallel_for.h>

#include <atomic>
#include <filesystem>

#include "quern/core/bytes.hpp"
#include "quern/core/option_name.hpp"
#include "quern/core/own_errors.hpp"
#include "quern/core/run_stage.hpp"
#include "quern/formats/texts_file.hpp"
#include "quern/io/atomic_output.hpp"
#include "quern/io/checksum.hpp"

namespace quern {
namespace {

constexpr std::uint64_t frame_row_bytes = 16;

}  // namespace

std::string texts_path(const std::string& index_path) {
  return with_own_errors([&] { return folder_of(quern_file(index_path)) + "/" + texts_member; });
}

TextsReader TextsReader::open(const std::string& path) {
  return with_own_errors([&] { return TextsReader(ContainerReader::open(path, FileKind::texts)); });
}

TextsReader TextsReader::open_beside(const IndexReader& index) {
  return with_own_errors([&] {
    const std::string path = texts_path(index.name());
    std::error_code ignored;
    if (!std::filesystem::exists(path, ignored))
      throw InvalidArgument(fmt::format("{}: there is no file {} beside it; build the index with {}", index.name(),
                                        texts_member, option_name<"store-text">));
    TextsReader texts = open(path);
    texts.check_belongs_to(index);
    return texts;
  });
}

TextsReader::TextsReader(ContainerReader container) try
    : container_(std::move(container)), manifest_(TextsManifest::from_json(container_.manifest(), container_.name())) {
  if (manifest_.documents >= end_docid) container_.fail("manifest", "too many documents");
  const SectionInfo& rows = container_.find("text_frames");
  if (rows.size == 0 || rows.size % frame_row_bytes != 0) container_.fail("text_frames", "has an impossible size");
  num_frames_ = rows.size / frame_row_bytes - 1;
  rows_ = CheckedSection(container_, "text_frames");
  frames_ = CheckedSection(container_, "texts");
} catch (...) {
  throw_own_error();
}

void TextsReader::check_belongs_to(const IndexReader& index) const {
  if (manifest_.index_hash == hash_text(index.container().content_hash()) &&
      manifest_.documents == index.num_documents())
    return;
  throw InvalidArgument(fmt::format("{}: holds the texts of another index, not of {}; build the index again with {}",
                                    name(), index.name(), option_name<"store-text">));
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
  std::uint64_t low = 0, high = num_frames_;
  while (low < high) {
    const std::uint64_t middle = low + (high - low) / 2;
    if (frame(middle).first_document < docid) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low;
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
  with_own_errors([&] {
    if (docid >= manifest_.documents) throw InvalidArgument(fmt::format("{}: no docID {}", name(), docid));
    const std::uint64_t end = first_frame_from(std::uint64_t{docid} + 1);
    if (end == 0) fail_at(0, "does not begin with the first document");
    const docid_t first = frame(end - 1).first_document, next = frame(end).first_document;
    const std::uint64_t begin = first_frame_from(first);
    if (first > docid || next <= docid || begin >= end) fail_at(end - 1, "is not in the order of documents");
    if (end - begin == 1) {
      load(begin, buffers);
      return visit(in_group(begin, next - first, docid - first, buffers));
    }
    if (next - first != 1) fail_at(begin, "holds a part of a document, and others");
    for (std::uint64_t i = begin; i < end; ++i) {
      load(i, buffers);
      visit(as_text(buffers.raw));
    }
  });
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
  if (i == 0 && (at.offset != 0 || at.first_document != 0)) fail_at(i, "is not the first");
  if (next.first_document < at.first_document) fail_at(i, "is not in the order of documents");
  const docid_t documents = next.first_document - at.first_document;
  const bool is_last_part = i > 0 && frame(i - 1).first_document == at.first_document;
  if (is_last_part && documents > 1) fail_at(i, "holds a part of a document, and others");
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

}  // namespace quern
