#include "quern/formats/fields_file.hpp"

#include <fmt/format.h>
#include <tbb/enumerable_thread_specific.h>
#include <tbb/parallel_for.h>

#include "quern/formats/manifest_settings.hpp"
#include "quern/io/checksum.hpp"

namespace quern {

FieldsReader FieldsReader::open_beside(const IndexReader& index) {
  const std::string remedy = std::string("build the index again with ") + option_name<"index keep-fields">;
  FieldsReader fields = open(existing_member_path(index.name(), fields_member, remedy));
  fields.check_belongs_to(index);
  return fields;
}

FieldsReader::FieldsReader(ContainerReader container) : ManifestReader(std::move(container)) {
  if (manifest_.documents >= end_docid) container_.fail("manifest", "too many documents");
  if (manifest_.names.empty() || manifest_.names.size() > max_kept_fields)
    container_.fail("manifest", "has no fields, or too many");
  for (const std::string& name : manifest_.names)
    if (!is_kept_name(name)) container_.fail("manifest", "has a field with an impossible name");
  const std::uint64_t frames = num_groups() * manifest_.names.size();
  container_.check_count(container_.find("field_offsets"), frames + 1, sizeof(std::uint64_t));
  container_.check_count(container_.find("field_sizes"), frames, sizeof(std::uint32_t));
  frames_ = CheckedSection(container_, "fields");
  offsets_ = CheckedSection(container_, "field_offsets");
  sizes_ = CheckedSection(container_, "field_sizes");
}

void FieldsReader::check_belongs_to(const IndexReader& index) const {
  if (manifest_.index_hash == hash_text(index.container().content_hash()) &&
      manifest_.documents == index.num_documents())
    return;
  throw InvalidArgument("{}: holds the fields of another index, not of {}; build the index again", name(),
                        index.name());
}

std::optional<std::size_t> FieldsReader::find(std::string_view field) const {
  const auto found = std::find(manifest_.names.begin(), manifest_.names.end(), field);
  if (found == manifest_.names.end()) return std::nullopt;
  return static_cast<std::size_t>(found - manifest_.names.begin());
}

const std::vector<FieldValue>& FieldsReader::values(std::size_t field, std::uint64_t group,
                                                    FieldBuffers& buffers) const {
  if (field >= manifest_.names.size() || group >= num_groups())
    throw InvalidArgument("{}: no field number {} for documents from {} on", name(), field, group * fields_per_frame);
  const std::uint64_t frame = group * manifest_.names.size() + field;
  if (buffers.frame == frame) return buffers.values;
  buffers.frame.reset();
  const auto from = offsets_.number<std::uint64_t>(frame), to = offsets_.number<std::uint64_t>(frame + 1);
  const auto size = sizes_.number<std::uint32_t>(frame);
  const std::string what = fmt::format("{}: section 'fields': frame {}", name(), frame);
  if (from > to || to > frames_.size()) throw CorruptFile(what + ": reaches past the section");
  if (size > max_field_frame_bytes) throw CorruptFile(what + ": is too large");
  buffers.zstd.decompress(frames_.bytes(from, to), size, buffers.raw, what);
  ByteReader reader(buffers.raw, what);
  buffers.values.clear();
  const std::uint64_t documents =
      std::min<std::uint64_t>(fields_per_frame, manifest_.documents - group * fields_per_frame);
  for (std::uint64_t i = 0; i < documents; ++i) buffers.values.push_back(read_field_value(reader));
  if (!reader.done()) reader.fail("has trailing bytes");
  buffers.frame = frame;
  return buffers.values;
}

FieldValue FieldsReader::value(std::size_t field, docid_t docid, FieldBuffers& buffers) const {
  if (docid >= manifest_.documents) throw InvalidArgument("{}: no docID {}", name(), docid);
  return values(field, docid / fields_per_frame, buffers)[docid % fields_per_frame];
}

void FieldsReader::verify_contents(const Resources& resources) const {
  run_stage(resources, [&] {
    const std::size_t fields = manifest_.names.size();
    tbb::enumerable_thread_specific<FieldBuffers> buffers;
    tbb::parallel_for(std::uint64_t{0}, num_groups(), [&](std::uint64_t group) {
      for (std::size_t field = 0; field < fields; ++field) values(field, group, buffers.local());
      resources.progress->add(
          std::min<std::uint64_t>(fields_per_frame, manifest_.documents - group * fields_per_frame));
    });
    if (offsets_.number<std::uint64_t>(0) != 0 ||
        offsets_.number<std::uint64_t>(num_groups() * fields) != frames_.size())
      container_.fail("field_offsets", "do not begin with 0, or do not end with section 'fields'");
  });
}

namespace {

constexpr auto describe_fields = [](const auto& io, auto& fields) {
  io("libraries", "zstd", fields.zstd);
  io("documents", fields.documents);
  io("fields", fields.names);
  io("index_hash", fields.index_hash);
};

}  // namespace

std::string FieldsManifest::to_json() const { return described_manifest("fields", *this, describe_fields); }

FieldsManifest FieldsManifest::from_json(const std::string& text, const std::string& what) {
  return read_described_manifest<FieldsManifest>(text, what, describe_fields);
}

FieldsWriter::FieldsWriter(File& file, const std::string& tmp_folder, std::vector<std::string> names)
    : out_(file, FileKind::fields), columns_(names.size()), offsets_(tmp_folder), sizes_(tmp_folder) {
  manifest_.names = std::move(names);
  out_.begin_section("fields");
}

void FieldsWriter::add(ByteView values) {
  ByteReader reader(values, "a document's kept fields");
  for (Bytes& column : columns_) {
    const std::uint8_t* const begin = reader.position();
    read_field_value(reader);
    column.insert(column.end(), begin, reader.position());
  }
  if (!reader.done()) reader.fail("has trailing bytes");
  if (++manifest_.documents % fields_per_frame == 0) end_frames();
}

void FieldsWriter::end_frames() {
  for (Bytes& column : columns_) {
    const std::uint64_t offset = out_.section_size();
    const auto size = static_cast<std::uint32_t>(column.size());
    frame_.clear();
    zstd_.append(column, frame_);
    out_.write(frame_);
    column.clear();
    offsets_.append_array(std::span(&offset, 1));
    sizes_.append_array(std::span(&size, 1));
  }
}

void FieldsWriter::finish(const std::string& index_hash) {
  if (manifest_.documents % fields_per_frame != 0) end_frames();
  const std::uint64_t end = out_.section_size();
  offsets_.append_array(std::span(&end, 1));
  out_.end_section();
  out_.add_section("field_offsets", offsets_);
  out_.add_section("field_sizes", sizes_);
  manifest_.index_hash = index_hash;
  manifest_.zstd = zstd_version();
  out_.finish(manifest_.to_json());
}

}  // namespace quern
