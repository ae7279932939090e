#pragma once
#include <span>
#include <string>
#include <string_view>

/// Models that users choose by name, with parameters, as in "qld", "qld:mu=1500" and "tfidf:k1=0.9,b=0.4".
namespace quern {

/// A parameter of a model, with the value that it has unless another is given, and the values allowed.
struct ModelParameter {
  std::string_view name;
  double value, least, greatest;
  bool whole = false;  ///< only integers are allowed
};

/// The model's name in such a text.
inline std::string_view model_name(std::string_view text) { return text.substr(0, text.find(':')); }
/// Sets `values` to the parameters' values in a text, or to their usual ones. Messages call the model `what`. Throws
/// InvalidArgument for a parameter that the model lacks or that is given twice, and a value out of range.
void read_parameters(std::string_view text, std::string_view what, std::span<const ModelParameter> parameters,
                     std::span<double> values);
/// Sets one of them. Throws likewise.
void set_parameter(std::string_view name, double value, std::string_view what,
                   std::span<const ModelParameter> parameters, std::span<double> values);
/// The text of a model called `name` with all values.
std::string model_text(std::string_view name, std::span<const ModelParameter> parameters,
                       std::span<const double> values);

}  // namespace quern
