#pragma once
#include <string>
#include <string_view>

#include "quern/formats/rankers/model_format.hpp"

namespace quern {

/// Throws CorruptFile with the line that contains the byte at `offset` of a file.
[[noreturn]] void fail_at(const ModelFile& file, std::size_t offset, std::string_view why);

/// Reads RankLib's tree ensembles in XML. `averages`: the file has several bags, and the score is their mean.
RankerModel read_ranklib_trees(const ModelFile& file, bool averages);

/// Reads RankLib's linear models, "1:0.5 2:0.25"; with a constant "0:1.5" if `has_constant`.
RankerModel read_ranklib_linear(const ModelFile& file, bool has_constant);

}  // namespace quern
