#pragma once
#include <string>
#include <vector>

#include "quern/eval/run_evaluator.hpp"

#include "corpus/temporary_folder.hpp"

namespace quern::testing {

/// Evaluates runs from texts, named run1, run2, ...; the judgements are named qrels.
inline Evaluation evaluate_texts(const std::vector<std::string>& runs, const std::string& qrels,
                                 const EvaluationOptions& options = {}, std::uint64_t memory_bytes = 64 << 20) {
  const TemporaryFolder folder;
  Resources resources;
  resources.tmp_folder = folder.path("");
  resources.memory_bytes = memory_bytes;
  RunEvaluator evaluator(*ByteSource::from_memory("qrels", qrels), options, resources);
  std::size_t number = 0;
  for (const std::string& run : runs)
    evaluator.add_run(*ByteSource::from_memory("run" + std::to_string(++number), run));
  return evaluator.finish();
}

}  // namespace quern::testing
