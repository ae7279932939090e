#pragma once
#include "quern/core/feature_columns.hpp"

/// Feature files with a document per line, as ranker training programs read them; see letor_file.md.
namespace quern {

/// A document of a topic with its label and features.
struct LetorRow {
  std::int32_t label = 0;
  std::string_view qid, docno;
  FeatureColumns features;
  std::size_t row = 0;  ///< index in `features`
};

/// "label qid:ID 1:value 2:value … # docno", the features numbered from 1, zeros included; a value is the shortest text
/// that reads back as the same float32. Ends with a line break.
std::string letor_line(const LetorRow& row, std::size_t num_features);

/// The row as a JSON object on one line, with feature names.
std::string letor_json(const LetorRow& row, std::span<const std::string> names);

}  // namespace quern
