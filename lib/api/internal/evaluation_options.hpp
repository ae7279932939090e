#pragma once
#include "quern/api/evaluation.hpp"
#include "quern/eval/run_evaluator.hpp"

namespace quern::api {

/// What a caller chooses besides measures, for evaluators. Throws WrongUsage for another version of trec_eval, and
/// InvalidArgument for numbers out of range.
quern::EvaluationOptions reading_options(const EvaluationOptions& options);

}  // namespace quern::api
