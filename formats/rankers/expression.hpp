#pragma once
#include <functional>

#include "quern/formats/rankers/ranker_model.hpp"

namespace quern {

/// Reads an expression such as "log(body.length + 1) * 0.5 - url.depth" as steps; description.md defines it.
/// `number_of` gives the number of a feature's name. Throws CorruptFile, beginning with `place`, for anything else, and
/// for expressions that break the limits of ranker_model.hpp.
std::vector<ExpressionStep> read_expression(std::string_view text, const std::string& place,
                                            const std::function<std::uint32_t(std::string_view)>& number_of);

}  // namespace quern
