#include "quern/formats/rankers/model_format.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <filesystem>

#include "quern/formats/tables/text_lines.hpp"
#include "quern/io/byte_source.hpp"

namespace quern {
namespace {

/// Model formats that Quern can't read, with a remedy.
struct UnreadModelForm {
  std::string_view magic;
  std::string_view message;
};
constexpr UnreadModelForm unread_model_forms[] = {
    {"binf", "a model in XGBoost's old binary form; save it as .json or .ubj with booster.save_model()"},
    {"CBM1", "a CatBoost model, which Quern can't read; train with LightGBM or XGBoost"},
    {"\x80", "a pickled Python object; save the model with booster.save_model() instead"},
    {"PK\x03\x04", "a zip archive; unpack it first"},
};

}  // namespace

const std::vector<const ModelFormat*>& all_model_formats() {
  static const std::vector<const ModelFormat*> formats = {
      &lightgbm_format,          &lightgbm_json_format,     &xgboost_json_format, &xgboost_ubjson_format,
      &xgboost_json_dump_format, &xgboost_text_dump_format, &ranklib_format,      &ranker_description_format};
  return formats;
}

const ModelFormat* find_model_format(std::string_view head) {
  head = without_byte_order_mark(head);
  for (const ModelFormat* format : all_model_formats())
    if (format->detect(head)) return format;
  return nullptr;
}

namespace {

/// The format of a file that begins with `bytes`. Throws InvalidArgument if there is none.
const ModelFormat& model_format_of(std::string_view bytes, const std::string& name) {
  if (const ModelFormat* const format = find_model_format(bytes.substr(0, model_detection_bytes))) return *format;
  for (const UnreadModelForm& form : unread_model_forms)
    if (bytes.substr(0, form.magic.size()) == form.magic) throw InvalidArgument("{} is {}", name, form.message);
  throw InvalidArgument("{}: unknown model format: matches none of {}; name another file", name,
                        fmt::join(names_of(all_model_formats()), ", "));
}

}  // namespace

RankerModel parse_ranker(const ModelFile& file) {
  RankerModel model =
      model_format_of(file.bytes, file.name).read({file.name, without_byte_order_mark(file.bytes), file.read_beside});
  check_model(model, file.name);
  return model;
}

RankerModel read_ranker(const std::string& path) {
  const std::string name = source_name(path);
  const std::string bytes =
      read_whole(path, max_model_bytes, [&](std::string_view head) { (void)model_format_of(head, name); });
  const std::filesystem::path folder = path == "-" ? "." : std::filesystem::path(path).parent_path();
  const auto read_beside = [&](const std::string& other) {
    return read_whole((folder / other).string(), max_model_bytes);
  };
  return parse_ranker({name, bytes, read_beside});
}

}  // namespace quern
