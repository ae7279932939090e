#include "quern/formats/corpus/json_problems.hpp"

#include "quern/formats/corpus/document_fields.hpp"

namespace quern {

ParsedRecord json_is_damaged(const std::string& why) { return bad_record("it is no JSON object: " + why); }

ParsedRecord json_without_docno(const JsonKeys& keys) {
  const std::string names = keys.names_of(JsonField::docno, ", ");
  return bad_record(std::string("it has no docno: ") +
                    (names.find(',') == std::string::npos ? "no key " : "none of the keys ") + names);
}

WeightsProblem json_without_weights(const JsonKeys& keys) {
  return {"it has no object with weights of terms under the key " + keys.names_of(JsonField::weights, ", ")};
}

ParsedRecord json_with_weights(const WeightsProblem& problem, const DocumentText& out) {
  if (problem.why.empty()) return {};
  ParsedRecord record = bad_record("document " + out.docno + ": " + problem.why);
  record.needs_options = problem.needs_options;
  return record;
}

}  // namespace quern
