#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "quern/formats/corpus/corpus_format.hpp"
#include "quern/io/checksum.hpp"
#include "quern/io/external_sort.hpp"

namespace quern {

/// What is wrong with a document's weights.
struct WeightsProblem {
  std::string why;             ///< empty: nothing
  bool needs_options = false;  ///< as ParsedRecord has it
};

/// Takes the weights that a corpus gives for a document's terms: checks them, makes whole numbers of them, and refuses
/// a document that has a term twice. Of any number of terms it keeps some in memory, and a work file.
class DocumentWeights {
 public:
  /// `scratch` has the settings of weights.
  DocumentWeights(const RecordScratch& scratch, DocumentText& out);

  /// The next term, valid UTF-8, of which longer ones than max_term_bytes may be cut; `term_bytes` is its size.
  void add(std::string_view term, std::uint64_t term_bytes, double weight);
  /// The same if its weight is no number.
  void add_without_weight(std::string_view term) { note_problem(term, "has no number as weight"); }
  /// Ends the document.
  WeightsProblem finish();

 private:
  void note_problem(std::string_view term, const std::string& why, bool needs_options = false);
  /// The whole number that stands for a weight; 0 if there is none, which becomes the problem.
  std::uint32_t whole_weight(std::string_view term, double weight);
  void note_term(std::string_view term);
  bool has_repeated_term();

  const RecordScratch& scratch_;
  const ImpactSettings settings_;
  DocumentText& out_;
  WeightsProblem problem_;
  std::uint64_t sum_ = 0;
  std::vector<Hash128> terms_;          ///< as long as they are few
  std::optional<ExternalSort> sorted_;  ///< then
};

}  // namespace quern
