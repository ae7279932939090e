#include <algorithm>

#include "quern/core/ascii_text.hpp"
#include "quern/formats/rankers/xgboost_model.hpp"

namespace quern {
namespace {

/// Whether an object's first key is one of a model's.
bool begins_model(std::string_view key) { return key.substr(0, 8) == "learner\"" || key.substr(0, 8) == "version\""; }

bool is_xgboost_json(std::string_view head) {
  head = trim(head);
  if (head.empty() || head.front() != '{') return false;
  head = trim(head.substr(1));
  return !head.empty() && head.front() == '"' && begins_model(head.substr(1));
}

/// An object with a key "learner" or "version", whose length is 7 in one of five types.
bool is_xgboost_ubjson(std::string_view head) {
  if (head.size() < 10 || head[0] != '{') return false;
  std::size_t bytes = 0;
  switch (head[1]) {
    case 'i':
    case 'U':
      bytes = 1;
      break;
    case 'I':
      bytes = 2;
      break;
    case 'l':
      bytes = 4;
      break;
    case 'L':
      bytes = 8;
      break;
    default:
      return false;
  }
  const std::string_view key = head.substr(std::min(head.size(), 2 + bytes), 7);
  return key == "learner" || key == "version";
}

RankerModel read_xgboost_json(const ModelFile& file) {
  return read_xgboost_model(file, xgboost_json_format().name, read_json);
}
RankerModel read_xgboost_ubjson(const ModelFile& file) {
  return read_xgboost_model(file, xgboost_ubjson_format().name, read_ubjson);
}

}  // namespace

const ModelFormat& xgboost_json_format() {
  static const ModelFormat format = {"xgboost-json", "XGBoost's model files in JSON", is_xgboost_json,
                                     read_xgboost_json};
  return format;
}

const ModelFormat& xgboost_ubjson_format() {
  static const ModelFormat format = {"xgboost-ubjson", "XGBoost's model files in UBJSON", is_xgboost_ubjson,
                                     read_xgboost_ubjson};
  return format;
}

}  // namespace quern
