#include <fmt/format.h>

#include <utility>

#include "quern/core/bytes.hpp"
#include "quern/core/error.hpp"
#include "quern/formats/rankers/json_events.hpp"
#include "quern/formats/rankers/weight_array.hpp"

namespace quern {
namespace {

constexpr std::size_t most_tensor_dimensions = 32, most_names_in_message = 20;

/// What a file's head says about the tensor that is looked for.
struct TensorEntry {
  std::string type;
  std::vector<std::uint64_t> shape, offsets;
};

/// The head of a safetensors file: an object with an object for each tensor.
class SafetensorsHead : public JsonEvents {
 public:
  SafetensorsHead(const std::string& name, std::string_view tensor) : name_(name), tensor_(tensor) {}

  void begin_object() override {
    if (++depth_ > 2 || in_list_) fail();
    if (depth_ == 2) {
      is_wanted_ = key_ == tensor_;
      if (is_wanted_ && std::exchange(is_found_, true)) fail();
      if (key_ != "__metadata__" && names_.size() < most_names_in_message) names_.push_back(key_);
    }
    key_.clear();
  }
  void end_object() override {
    --depth_;
    key_.clear();
  }
  void begin_array() override {
    if (depth_ != 2 || in_list_) fail();
    in_list_ = true;
  }
  void end_array() override { in_list_ = false; }
  void key(std::string_view name) override { key_ = name; }
  void text(std::string_view value) override {
    if (depth_ != 2) fail();
    if (is_wanted_ && key_ == "dtype") entry_.type = value;
  }
  void number(const JsonNumber& value) override {
    if (!in_list_) fail();
    if (!is_wanted_) return;
    std::int64_t number = 0;
    if (!value.get(number) || number < 0) fail();
    std::vector<std::uint64_t>* const to = key_ == "shape"          ? &entry_.shape
                                           : key_ == "data_offsets" ? &entry_.offsets
                                                                    : nullptr;
    if (to) to->push_back(static_cast<std::uint64_t>(number));
    if (to && to->size() > most_tensor_dimensions) fail();
  }
  void boolean(bool) override { fail(); }

  bool is_found() const { return is_found_; }
  const TensorEntry& entry() const { return entry_; }
  /// Those that there are, the first ones of them, for messages.
  std::string names() const {
    std::string text;
    for (const std::string& name : names_) text += fmt::format("{}{:.60}", text.empty() ? "" : ", ", name);
    return text;
  }

 private:
  [[noreturn]] void fail() const {
    throw CorruptFile(name_ + ": its head does not have the form of a safetensors file");
  }

  const std::string& name_;
  std::string_view tensor_;
  int depth_ = 0;
  bool in_list_ = false, is_wanted_ = false, is_found_ = false;
  std::string key_;
  std::vector<std::string> names_;
  TensorEntry entry_;
};

WeightType tensor_type(const std::string& type, const std::string& what) {
  if (type == "F32") return WeightType::float32;
  if (type == "F64") return WeightType::float64;
  if (type == "F16") return WeightType::float16;
  throw InvalidArgument(fmt::format("{}: has numbers of the type '{:.20}'; save float32 instead", what, type));
}

}  // namespace

WeightArray read_safetensors(std::string_view bytes, const std::string& name, std::string_view tensor) {
  constexpr std::size_t begin = 8;
  if (bytes.size() < begin) throw CorruptFile(name + ": ends within its head");
  const auto length = load_le<std::uint64_t>(bytes.data());
  if (length > bytes.size() - begin) throw CorruptFile(name + ": ends within its head, or is no safetensors file");
  SafetensorsHead head(name, tensor);
  read_json(bytes.substr(begin, length), name, head);
  if (!head.is_found())
    throw InvalidArgument(fmt::format("{}: has no tensor '{:.60}', but {}", name, tensor, head.names()));
  const std::string what = fmt::format("{}, tensor '{:.60}'", name, tensor);
  const std::vector<std::uint64_t>& offsets = head.entry().offsets;
  const std::string_view data = bytes.substr(begin + length);
  if (offsets.size() != 2 || offsets[0] > offsets[1] || offsets[1] > data.size())
    throw CorruptFile(what + ": its data_offsets are not in the file");
  return weights_of_bytes(data.substr(offsets[0], offsets[1] - offsets[0]), tensor_type(head.entry().type, what),
                          head.entry().shape, false, what);
}

}  // namespace quern
