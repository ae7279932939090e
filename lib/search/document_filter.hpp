#pragma once
#include <cstdint>
#include <string>

#include "quern/core/resources.hpp"
#include "quern/formats/fields_file.hpp"
#include "quern/formats/index_file.hpp"
#include "quern/formats/queries/filter_expression.hpp"
#include "quern/io/byte_source.hpp"
#include "quern/search/document_set.hpp"

/// Filters: the documents of an index that may be results, by an expression over their fields or a list of docnos.
namespace quern {

/// The documents that pass a filter, evaluated in parallel. `fields`: the kept fields of the index; null if it has
/// none. Throws InvalidArgument if the filter names an unknown field or the set does not fit the memory of `resources`.
DocumentSet evaluate_filter(const FilterExpression& filter, const IndexReader& index, const FieldsReader* fields,
                            const Resources& resources);

struct ListedDocuments {
  DocumentSet documents;
  std::uint64_t listed = 0;   ///< lines of the list
  std::uint64_t unknown = 0;  ///< lines whose docno is not in the index
  std::string first_unknown;
};

/// The documents whose docnos a text lists, one per line; a docno may name several documents. Throws CorruptFile if a
/// line exceeds 1 MiB, and InvalidArgument if the set does not fit the memory of `resources`.
ListedDocuments read_docno_list(ByteSource& list, const IndexReader& index, const Resources& resources);

}  // namespace quern
