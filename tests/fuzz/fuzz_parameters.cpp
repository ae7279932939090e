#include <cmath>
#include <cstdlib>
#include <string_view>

#include "quern/core/weighting_model.hpp"
#include "quern/search/expansion.hpp"
#include "quern/tune/parameter_grid.hpp"

namespace {

using namespace quern;

void require(bool is_true) {
  if (!is_true) std::abort();
}

/// A text that `read` accepts has values that its model allows, and `write` names all of them.
template <class Read, class Write>
void check_model(std::string_view text, const Read& read, const Write& write) {
  try {
    const auto model = read(text);
    for (std::size_t i = 0; i < model.model->parameters.size(); ++i) {
      const ModelParameter& parameter = model.model->parameters[i];
      require(model.values[i] >= parameter.least && model.values[i] <= parameter.greatest);
      require(!parameter.whole || model.values[i] == std::floor(model.values[i]));
    }
    const auto again = read(write(model));
    require(again.model == model.model && again.values == model.values);
  } catch (const InvalidArgument&) {
  }
}

std::string expansion_text(const Expansion& expansion) {
  return model_text(expansion.model->name, expansion.model->parameters, expansion.values);
}

void check_values(std::string_view text) {
  try {
    const std::vector<double> values = parameter_values(text);
    require(!values.empty() && values.size() <= max_grid_points);
    for (const double value : values) require(std::isfinite(value));
    for (std::size_t i = 1; i < values.size(); ++i) require(values[i - 1] < values[i]);
    const std::size_t colon = text.find(':');
    if (colon != text.npos) require(values.front() == parameter_values(text.substr(0, colon)).front());
  } catch (const InvalidArgument&) {
  }
}

}  // namespace

/// Any text of a model with parameters, or of values to tune, is refused or has allowed values.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  check_model(text, read_expansion, expansion_text);
  check_model(text, static_cast<Weighting (*)(std::string_view)>(read_weighting), weighting_text);
  check_values(text);
  return 0;
}
