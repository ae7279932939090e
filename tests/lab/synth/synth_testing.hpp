#pragma once
#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "quern/formats/posting_reader.hpp"
#include "quern/lab/synth/synth_index.hpp"

#include "index/pipeline/pipeline.hpp"

/// Helpers for tests of synthetic indexes.
namespace quern::testing {

/// Terms of all densities, from one document to all of them.
inline DfTable small_table(std::uint64_t documents) {
  DfTable table;
  table.name = "small";
  table.documents = documents;
  std::set<std::uint64_t> dfs = {1,
                                 2,
                                 15,
                                 16,
                                 17,
                                 63,
                                 64,
                                 65,
                                 127,
                                 128,
                                 129,
                                 documents / 2 - 1,
                                 documents / 2,
                                 documents / 2 + 1,
                                 documents - 1,
                                 documents};
  for (std::uint64_t df = 3; df < documents; df += df / 3 + 1) dfs.insert(df);
  for (const std::uint64_t df : dfs)
    if (df >= 1 && df <= documents) table.terms.push_back({"t" + std::to_string(df), df});
  std::sort(table.terms.begin(), table.terms.end(), [](const auto& a, const auto& b) { return a.term < b.term; });
  return table;
}

inline StageFile synthesize(const SynthOptions& options, const Pipeline& pipeline) {
  StageFile file = pipeline.new_file();
  synthesize_index(options, pipeline.resources, *file);
  return file;
}

inline std::vector<docid_t> docids_of(const IndexReader& index, const std::string& term) {
  std::vector<docid_t> docids;
  if (const auto list = index.find(term))
    for (PostingCursor cursor(index, *list); cursor.docid() != end_docid; cursor.next())
      docids.push_back(cursor.docid());
  return docids;
}

}  // namespace quern::testing
