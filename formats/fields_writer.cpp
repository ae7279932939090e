#include <utility>

#include "quern/core/bytes.hpp"
#include "quern/core/types.hpp"
#include "quern/formats/fields_file.hpp"
#include "quern/formats/manifest_json.hpp"

namespace quern {

std::string FieldsManifest::to_json() const {
  ManifestJson json = new_manifest("fields");
  json["libraries"] = {{"zstd", zstd}};
  json["documents"] = documents;
  json["fields"] = names;
  json["index_hash"] = index_hash;
  return manifest_text(json);
}

FieldsManifest FieldsManifest::from_json(const std::string& text, const std::string& what) {
  FieldsManifest manifest;
  read_manifest(text, what, [&](const ManifestJson& json) {
    json.at("libraries").at("zstd").get_to(manifest.zstd);
    json.at("documents").get_to(manifest.documents);
    json.at("fields").get_to(manifest.names);
    json.at("index_hash").get_to(manifest.index_hash);
  });
  return manifest;
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
  if (!reader.done()) reader.fail("has bytes after its end");
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
  out_.add_section("manifest", as_bytes(manifest_.to_json()));
  out_.finish();
}

}  // namespace quern
