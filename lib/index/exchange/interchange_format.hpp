#pragma once
#include "quern/formats/exchange/inverted_file.hpp"
#include "quern/formats/index_file.hpp"

namespace quern {

/// A format of inverted files for other engines. To add one, write a reader and a writer in formats/, and functions
/// here for the registry.
struct InterchangeFormat {
  std::string_view name;
  std::string_view description;  ///< one line for help texts
  /// Whether a path looks like this format, without reading the content.
  bool (*is_at)(const std::string& path);
  /// Passes the files' content to the sink. The memory of `resources` limits the windows of zstd files. Throws IoError,
  /// CorruptFile, UnsupportedVersion, and InvalidArgument for too large a window.
  void (*read)(const std::string& path, InvertedSink& sink, const Resources& resources);
  /// Writes an index in this format; the files appear together, complete or not at all. Throws InvalidArgument if one
  /// exists and `force` is not set, or if the format can't represent the index.
  void (*write)(const IndexReader& index, const std::string& path, bool force, const Resources& resources);
};

/// All formats, in the order of help texts.
std::span<const InterchangeFormat> all_interchange_formats();
/// Throws InvalidArgument, with the known names, if no format has this name.
const InterchangeFormat& interchange_format_named(std::string_view name);
/// The format of the files at a path. Throws InvalidArgument if there are none.
const InterchangeFormat& detect_interchange_format(const std::string& path);

/// Passes an index to `sink`: lists by term in byte order, then documents in docID order. Throws CorruptFile if the
/// index contradicts itself, and what the sink throws.
void export_index(const IndexReader& index, InvertedSink& sink, Progress& progress);

}  // namespace quern
