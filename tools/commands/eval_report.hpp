#pragma once
#include "quern/api/evaluation.hpp"

/// An evaluation as a page for browsers.
namespace quern::tools {

/// p of a significance test, "-" if there is none.
std::string p_text(std::optional<double> p);

/// The files and options of an evaluation.
struct EvaluationInputs {
  std::span<const std::string> runs;
  const std::string& qrels;
  const api::EvaluationOptions& options;
};

/// A page of HTML that needs no other file and runs no script: the measures of all runs, recall-precision curves (the
/// evaluation must have them), and the values of each query by the first measure that is a mean, as bars and as a
/// table, or with EvaluationOptions::compare the other runs' differences from the first one.
std::string html_report(const api::Evaluation& evaluation, const EvaluationInputs& inputs);

}  // namespace quern::tools
