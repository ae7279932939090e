#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "quern/core/random.hpp"
#include "quern/formats/plan_file.hpp"

#include "index/pipeline/query_checks.hpp"

namespace quern::testing {

/// Random fronts of random lists.
inline CachePlan random_plan(const IndexReader& index, RandomBits& random) {
  CachePlan plan;
  plan.manifest.block = index.block_size() * (1 + random.below(2));
  for (std::uint64_t block = 0; block < index.num_lexicon_blocks(); ++block)
    index.for_each_list(block, [&](std::string_view, const PostingList& list) {
      if (random.below(3) > 0) return;
      const std::uint64_t blocks = (list.df + plan.manifest.block - 1) / plan.manifest.block;
      plan.lists.push_back({list.number, static_cast<std::uint32_t>(1 + random.below(blocks)), 0});
    });
  return plan;
}

inline std::vector<std::string> texts_of_queries(const std::vector<std::vector<std::string>>& queries) {
  std::vector<std::string> texts;
  for (const auto& terms : queries) texts.push_back(text_of(terms));
  return texts;
}

}  // namespace quern::testing
