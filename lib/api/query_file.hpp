#pragma once
#include "quern/api/work.hpp"

namespace quern::api {

/// How a file of queries is read: `quern query -q`, formats/queries/query_file.md.
struct QueryFileOptions {
  std::string queries_format = "auto";   ///< a name of that page
  std::string id_field;                  ///< the key, tag or attribute of ids; empty: the format's own
  std::vector<std::string> text_fields;  ///< keys or tags whose texts together are a query; none: the format's own
};

/// A query of a file: a text, or with the format "vector" terms of the index and their weights.
struct FileQuery {
  std::string id;
  std::string text;
  std::vector<std::pair<std::string, double>> terms;
};

/// The queries of a file, plain or compressed, "-" for standard input, in its order; ids may be repeated. Throws Error:
/// invalid_argument for an unknown format, a file whose format can't be decided and one without queries, corrupt_file
/// for one that contradicts its format, io, cancelled: `work` only stops, also while it waits for a pipe.
QUERN_API std::vector<FileQuery> read_queries(const std::string& path, const QueryFileOptions& options = {},
                                              const Work& work = {});

}  // namespace quern::api
