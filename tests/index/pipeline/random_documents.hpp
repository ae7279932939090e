#pragma once
#include <cstdint>

#include "quern/core/random.hpp"
#include "quern/search/document_set.hpp"

/// Filters for tests.
namespace quern::testing {

/// Includes each document with a probability of 1 / `one_in`.
inline DocumentSet random_documents(docid_t num_documents, std::uint64_t one_in, RandomBits& random) {
  DocumentSet documents(num_documents);
  for (docid_t docid = 0; docid < num_documents; ++docid)
    if (random.below(one_in) == 0) documents.add(docid);
  return documents;
}

}  // namespace quern::testing
