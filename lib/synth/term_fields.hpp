#pragma once
#include <span>
#include <string>
#include <vector>

#include "quern/synth/df_table.hpp"
#include "quern/synth/term_field.hpp"

namespace quern {

/// The field of each term of a table; `clustering` is 0 to 1. Keys come from seed and term, so that a term keeps its
/// list when others come or go. A term shares noise with a topic, one of a few that the term's bytes choose. Where
/// queries (their terms) are given, a term that stands in queries with a more frequent one follows that one instead:
/// the partner with which it is met most often beyond what the partner's own frequency in the queries would give.
std::vector<TermField> term_fields(const DfTable& table, double clustering, std::uint64_t seed,
                                   std::span<const std::vector<std::string>> queries);

}  // namespace quern
