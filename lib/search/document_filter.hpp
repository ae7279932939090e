#pragma once
#include <cstdint>
#include <string>

#include "quern/core/resources.hpp"
#include "quern/formats/fields_file.hpp"
#include "quern/formats/index_file.hpp"
#include "quern/formats/queries/filter_expression.hpp"
#include "quern/io/byte_source.hpp"
#include "quern/search/document_set.hpp"

/// Which documents of an index may be results: by an expression over their fields, or by a list of docnos.
namespace quern {

/// The documents that pass a filter, looked at once each, in parallel. `fields`: the kept fields of the index; null if
/// it has none. Throws InvalidArgument if the filter names a field that the documents do not have, or if the set does
/// not fit the memory of `resources`.
DocumentSet evaluate_filter(const FilterExpression& filter, const IndexReader& index, const FieldsReader* fields,
                            const Resources& resources);

struct ListedDocuments {
  DocumentSet documents;
  std::uint64_t listed = 0;   ///< lines of the list
  std::uint64_t unknown = 0;  ///< of which the index has no document
  std::string first_unknown;
};

/// The documents whose docnos a text lists, one in a line; all documents with a docno, where there are several. Throws
/// CorruptFile if a line has more than 1 MiB, and InvalidArgument as evaluate_filter() does.
ListedDocuments read_docno_list(ByteSource& list, const IndexReader& index, const Resources& resources);

}  // namespace quern
