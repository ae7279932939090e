#pragma once
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "quern/formats/rankers/ranker_model.hpp"

namespace quern {

/// A model's file, decompressed.
struct ModelFile {
  std::string name;        ///< what messages call it
  std::string_view bytes;  ///< all of it
  /// Reads a file that the model's file names, beside it, decompressed. Absent: there are none.
  std::function<std::string(const std::string& path)> read_beside = {};
};

/// A format of learned models: how to detect it, and how to read it.
struct ModelFormat {
  std::string_view name;
  std::string_view description;  ///< one line for help texts
  /// Whether a file that begins with `head` (up to model_detection_bytes of it) has this format.
  bool (*detect)(std::string_view head);
  /// Reads a whole file. Throws CorruptFile, with the place in it, if it contradicts itself, UnsupportedVersion if its
  /// version is unknown, and InvalidArgument, with the reason, if it is a model of a kind that Quern does not read.
  RankerModel (*read)(const ModelFile& file);
};

/// How much of a file detect() reads.
inline constexpr std::size_t model_detection_bytes = 4 << 10;
/// Files of models are read whole; larger ones are refused.
inline constexpr std::uint64_t max_model_bytes = std::uint64_t{1} << 30;

/// LightGBM's text files and JSON dumps; see lightgbm.md.
const ModelFormat& lightgbm_format();
const ModelFormat& lightgbm_json_format();
/// XGBoost's model files and dumps; see xgboost.md.
const ModelFormat& xgboost_json_format();
const ModelFormat& xgboost_ubjson_format();
const ModelFormat& xgboost_json_dump_format();
const ModelFormat& xgboost_text_dump_format();
/// RankLib's trees and linear models; see ranklib.md.
const ModelFormat& ranklib_format();
/// Quern's own descriptions of networks; see description.md.
const ModelFormat& ranker_description_format();

/// All formats, in the order in which detection tries them. The one place to add one.
const std::vector<const ModelFormat*>& all_model_formats();

/// Throws InvalidArgument, with all names, if no format has that name.
const ModelFormat& model_format_named(std::string_view name);

/// The format of a file that begins with `head`; null if none fits.
const ModelFormat* find_model_format(std::string_view head);

/// Reads a model from memory. Throws what ModelFormat::read() throws, and InvalidArgument if no format fits.
RankerModel parse_ranker(const ModelFile& file);

/// Reads a learned model of any format from a file, which may be compressed; the first bytes decide which format it
/// is. Throws what parse_ranker() and read_whole() throw.
RankerModel read_ranker(const std::string& path);

}  // namespace quern
