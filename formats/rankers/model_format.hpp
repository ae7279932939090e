#pragma once
#include "quern/formats/rankers/ranker_model.hpp"

namespace quern {

/// A model's file, decompressed.
struct ModelFile {
  std::string name;        ///< its name in messages
  std::string_view bytes;  ///< all of it
  /// Reads a file named in the model's file, from the same folder, decompressed. Absent: not supported.
  std::function<std::string(const std::string& path)> read_beside = {};
};

/// A format of learned models: detects and reads files.
struct ModelFormat {
  std::string_view name;
  std::string_view description;  ///< one line for help texts
  /// Whether a file has this format. `head` holds its first bytes, up to model_detection_bytes.
  bool (*detect)(std::string_view head);
  /// Reads a whole file. Throws CorruptFile, with the position, if the file contradicts itself, UnsupportedVersion if
  /// its version is unknown, and InvalidArgument, with the reason, if Quern can't read this kind of model.
  RankerModel (*read)(const ModelFile& file);
};

/// Bytes of a file that detect() reads.
inline constexpr std::size_t model_detection_bytes = 4 << 10;
/// Model files are read whole; larger ones are refused.
inline constexpr std::uint64_t max_model_bytes = std::uint64_t{1} << 30;

/// LightGBM's text files and JSON dumps; see lightgbm.md.
extern const ModelFormat lightgbm_format;
extern const ModelFormat lightgbm_json_format;
/// XGBoost's model files and dumps; see xgboost.md.
extern const ModelFormat xgboost_json_format;
extern const ModelFormat xgboost_ubjson_format;
extern const ModelFormat xgboost_json_dump_format;
extern const ModelFormat xgboost_text_dump_format;
/// RankLib's trees and linear models; see ranklib.md.
extern const ModelFormat ranklib_format;
/// Quern's own descriptions of networks; see description.md.
extern const ModelFormat ranker_description_format;

/// All formats, in the order that detection tries them. Add new ones here only.
const std::vector<const ModelFormat*>& all_model_formats();

/// The format of a file that begins with `head`, after a byte order mark if there is one; null if none fits.
const ModelFormat* find_model_format(std::string_view head);

/// Reads a model from memory. Throws like ModelFormat::read(), and InvalidArgument if no format fits.
RankerModel parse_ranker(const ModelFile& file);

/// Reads a learned model of any format, detected from the first bytes, from a file that may be compressed. Throws like
/// parse_ranker() and read_whole().
RankerModel read_ranker(const std::string& path);

}  // namespace quern
