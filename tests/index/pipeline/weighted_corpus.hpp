#pragma once
#include <nlohmann/json.hpp>

#include <map>
#include <span>
#include <string>
#include <vector>

#include "quern/core/random.hpp"
#include "quern/formats/queries/query_file.hpp"
#include "quern/search/top_k.hpp"

#include "index/pipeline/pipeline.hpp"

/// Documents with given weights, and naive results of queries.
namespace quern::testing {

/// The terms as JSON for parse_query_vector().
inline std::string query_vector_text(const std::vector<QueryTerm>& terms) {
  nlohmann::ordered_json json = nlohmann::ordered_json::object();
  for (const QueryTerm& term : terms) json[term.term] = term.weight;
  return json.dump();
}

/// A document's terms with their weights.
using WeightedDocument = std::map<std::string, std::uint32_t>;

inline std::vector<WeightedDocument> random_weights(std::uint64_t seed, std::size_t documents, std::size_t terms,
                                                    std::uint32_t max_weight) {
  RandomBits random(seed);
  std::vector<WeightedDocument> all(documents);
  for (WeightedDocument& document : all) {
    const auto weight = [&] { return static_cast<std::uint32_t>(1 + random.below(1 + random.below(max_weight))); };
    if (random.below(50) == 0) continue;
    document["everywhere"] = weight();
    if (random.below(3) == 0) document["##often"] = weight();
    // Some terms are common, most are rare.
    for (std::uint64_t some = random.below(8); some > 0; --some)
      document["T" + std::to_string(random.below(1 + random.below(terms)))] = weight();
  }
  return all;
}

inline std::string as_vector_jsonl(const std::vector<WeightedDocument>& documents) {
  std::string lines;
  for (std::size_t i = 0; i < documents.size(); ++i) {
    std::vector<QueryTerm> terms;
    for (const auto& [term, weight] : documents[i]) terms.push_back({term, static_cast<double>(weight)});
    lines += "{\"id\": \"D" + std::to_string(i) +
             "\", \"contents\": \"not read\", \"vector\": " + query_vector_text(terms) + "}\n";
  }
  return lines;
}

/// A collection of documents with weights.
inline StageFile parse_weights(const Pipeline& pipeline, const std::string& corpus, const ImpactSettings& settings,
                               ParseReport* report = nullptr) {
  ParseOptions options;
  options.corpus = {pipeline.folder.write("weights", corpus)};
  options.reader.batch_bytes = pipeline.batch_bytes;
  options.chunk_limits = pipeline.chunk_limits;
  options.store_text = pipeline.store_text;
  options.impacts = settings;
  StageFile file = pipeline.new_file();
  const ParseReport parsed = parse_corpus(options, pipeline.resources, *file);
  if (report != nullptr) *report = parsed;
  return file;
}

/// The k best documents with any (all) of the terms. order[docID] is the document's index.
inline std::vector<ScoredDocument> best_documents(const std::vector<WeightedDocument>& documents,
                                                  std::span<const docid_t> order, const std::vector<QueryTerm>& query,
                                                  bool conjunctive, std::size_t k) {
  std::map<std::string, double> weights;
  for (const QueryTerm& term : query) weights[term.term] += term.weight;
  std::vector<ScoredDocument> found;
  for (docid_t docid = 0; docid < order.size(); ++docid) {
    const WeightedDocument& document = documents[order[docid]];
    double score = 0;
    std::size_t terms = 0;
    for (const auto& [term, weight] : weights) {
      const auto in_document = document.find(term);
      if (in_document == document.end()) continue;
      score += weight * in_document->second;
      ++terms;
    }
    if (terms > 0 && (!conjunctive || terms == weights.size())) found.push_back({docid, static_cast<float>(score)});
  }
  std::stable_sort(found.begin(), found.end(),
                   [](const ScoredDocument& a, const ScoredDocument& b) { return a.score > b.score; });
  if (found.size() > k) found.resize(k);
  return found;
}

}  // namespace quern::testing
