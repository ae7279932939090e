#include <tbb/enumerable_thread_specific.h>
#include <tbb/parallel_for.h>

#include "quern/core/bytes.hpp"
#include "quern/core/types.hpp"
#include "quern/formats/manifest_json.hpp"
#include "quern/formats/texts_file.hpp"
#include "quern/text/utf8.hpp"

namespace quern {
namespace {

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

}  // namespace

std::string TextsManifest::to_json() const {
  ManifestJson json = new_manifest("texts");
  json["libraries"] = {{"zstd", zstd}};
  json["documents"] = documents;
  json["text_bytes"] = text_bytes;
  json["index_hash"] = index_hash;
  return manifest_text(json);
}

TextsManifest TextsManifest::from_json(const std::string& text, const std::string& what) {
  TextsManifest manifest;
  read_manifest(text, what, [&](const ManifestJson& json) {
    json.at("libraries").at("zstd").get_to(manifest.zstd);
    json.at("documents").get_to(manifest.documents);
    json.at("text_bytes").get_to(manifest.text_bytes);
    json.at("index_hash").get_to(manifest.index_hash);
  });
  return manifest;
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
  out_.add_section("manifest", as_bytes(manifest.to_json()));
  out_.finish();
}

}  // namespace quern
