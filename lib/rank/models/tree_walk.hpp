#pragma once
#include <cstdint>
#include <span>

#include "quern/rank/models/tree_program.hpp"

/// Trees for few documents, or with very many nodes: from root to leaf, document by document.
namespace quern {

/// The leaves of one document, whose ranks begin at `ranks` and are documents_per_block apart, in the trees
/// [first, first + leaves.size()), which have steps.
void walk_steps(const TreeProgram& program, std::uint64_t first, const std::int8_t* ranks, std::span<double> leaves);

/// The leaf of one document in a tree without steps; values[i] are those of input i by document.
double walk_nodes(const TreeProgram& program, std::uint64_t tree, std::span<const float* const> values,
                  std::size_t document);

}  // namespace quern
