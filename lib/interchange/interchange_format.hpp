#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "quern/core/progress.hpp"
#include "quern/core/resources.hpp"
#include "quern/formats/exchange/inverted_sink.hpp"
#include "quern/formats/index_file.hpp"

namespace quern {

/// A form of inverted files that other engines read and write. To add one: a reader and a writer in formats/, a class
/// here, a line in the registry.
class InterchangeFormat {
 public:
  virtual ~InterchangeFormat() = default;
  virtual std::string_view name() const = 0;
  /// What help texts say of it.
  virtual std::string_view description() const = 0;
  /// Whether a path looks like one of this form; the content is not read.
  virtual bool is_at(const std::string& path) const = 0;
  /// Hands what is there to the sink. Throws IoError, CorruptFile, UnsupportedVersion.
  virtual void read(const std::string& path, InvertedSink& sink) const = 0;
  /// Writes an index in this form; files appear whole. Throws InvalidArgument where one exists and `force` is not set,
  /// or the form can't hold the index.
  virtual void write(const IndexReader& index, const std::string& path, bool force,
                     const Resources& resources) const = 0;
};

/// All forms, in the order in which help texts show them.
const std::vector<const InterchangeFormat*>& all_interchange_formats();
/// Throws InvalidArgument with the names that there are.
const InterchangeFormat& interchange_format_named(std::string_view name);
/// The form of what is at a path. Throws InvalidArgument where none fits.
const InterchangeFormat& detect_interchange_format(const std::string& path);

/// Hands an index to `sink`: lists in the byte order of their terms, then documents in docID order, decoded block by
/// block. Throws CorruptFile where the index contradicts itself, and what the sink throws.
void export_index(const IndexReader& index, InvertedSink& sink, Progress& progress);

}  // namespace quern
