#pragma once
#include <limits>
#include <optional>

#include "quern/formats/rankers/json_events.hpp"
#include "quern/formats/rankers/tree_collector.hpp"

/// What LightGBM's text files and JSON dumps have in common; see lightgbm.md.
namespace quern {

/// Which values LightGBM treats as missing.
enum class LightgbmMissing : std::uint8_t { none = 0, zero = 1, nan = 2 };

/// A column's values in training, as feature_infos has them; constant columns have none.
struct LightgbmColumn {
  bool is_categorical = false;
  double least = std::numeric_limits<double>::infinity(), greatest = -least;

  void add(double value) {
    least = std::min(least, value);
    greatest = std::max(greatest, value);
  }
};

/// A model's header, and what follows its trees.
struct LightgbmHead {
  std::string version, objective;
  std::uint64_t classes = 1, trees_per_iteration = 1;
  std::uint64_t features = 0;  ///< the greatest feature number plus one
  bool has_features = false;
  std::vector<std::string> names;
  bool averages = false;                ///< the score is the trees' mean (random forests)
  std::vector<LightgbmColumn> columns;  ///< feature_infos, one per feature; empty: not in the file
  std::optional<std::vector<std::uint64_t>> categorical_columns;  ///< the parameter categorical_feature
  /// pandas_categorical: the categories of a data frame's columns, in the order of these columns.
  std::vector<ColumnCategories> data_frame;
};

/// Throws UnsupportedVersion or InvalidArgument if Quern can't read the model, CorruptFile if something is missing.
void check_lightgbm_head(const LightgbmHead& head, const std::string& name);

/// Reads a list of lists of categories, as pandas_categorical has them, or null. Throws CorruptFile.
class DataFrameReader : public JsonEvents {
 public:
  explicit DataFrameReader(const std::string& name) : name_(name) {}

  void begin_object() override { fail(); }
  void end_object() override {}
  void begin_array() override {
    if (++depth_ > 2) fail();
    if (depth_ == 2) columns_.emplace_back();
  }
  void end_array() override {
    if (depth_-- == 2) columns_.back().check_distinct();
  }
  void key(std::string_view) override {}
  void text(std::string_view value) override { column().add_text(value); }
  void number(const JsonNumber& value) override {
    double number = 0;
    if (!value.get(number)) fail();
    column().add(number);
  }
  void boolean(bool value) override { column().add(value); }  // pandas takes True for 1
  void null() override {
    if (depth_ != 0) fail();
  }

  std::vector<ColumnCategories> take() { return std::move(columns_); }

 private:
  [[noreturn]] void fail() const {
    throw CorruptFile("{}: pandas_categorical is not a list of lists of categories", name_);
  }
  ColumnCategories& column() {
    if (depth_ != 2) fail();
    return columns_.back();
  }

  const std::string& name_;
  unsigned depth_ = 0;
  std::vector<ColumnCategories> columns_;
};

/// A split as written.
struct LightgbmSplit {
  std::uint64_t feature = 0;
  bool is_categorical = false, default_left = false;
  LightgbmMissing missing = LightgbmMissing::none;
  double threshold = 0;                   ///< values up to it go left
  std::vector<std::uint32_t> categories;  ///< of a categorical split: they go left
};

/// Collects a model's trees.
class LightgbmTrees : public TreeCollector {
 public:
  /// `head` must stay. If the file has a data frame, it is complete before the first split.
  LightgbmTrees(std::string name, const LightgbmHead& head) : TreeCollector(std::move(name)), head_(head) {}

  /// Makes `node`, whose children are set, a split. `feature` is an index in features(). Throws CorruptFile for a NaN
  /// threshold, InvalidArgument if features can't be compared with the categories of a data frame.
  void set_split(LooseTree::Node& node, std::uint32_t feature, LightgbmSplit split);
  /// The model of all trees, with the file's complete head.
  RankerModel finish(const LightgbmHead& head, std::string_view format);

 private:
  std::size_t list_of(std::uint64_t column);

  const LightgbmHead& head_;
  std::vector<std::size_t> lists_;  ///< by column: its place in data_frame, if any; a single one for all columns
};

}  // namespace quern
