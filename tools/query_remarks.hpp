#pragma once
#include <string_view>

#include "quern/formats/queries/query_file.hpp"
#include "quern/search/query_syntax.hpp"
#include "quern/search/repeated_ids.hpp"

#include "command.hpp"

namespace quern::tools {

/// Says, once for each, what in a command's queries is taken for words although it may be meant otherwise.
class QueryRemarks {
 public:
  /// `format`: of the queries, perhaps `automatic`.
  QueryRemarks(const CommonOptions& options, QueryFormat format) : options_(options), format_(format) {}
  /// Nothing is said of vectors.
  void look_at(std::string_view query);
  /// Of a command whose results show the ids: says once if one occurs again.
  void look_at_id(std::string_view id);

 private:
  const CommonOptions& options_;
  QueryFormat format_;
  QuerySyntax said_;
  RepeatedIds ids_;
  bool said_repeated_ = false;
};

/// Says which format `auto` found a file of queries to have.
void say_format(const CommonOptions& options, const std::string& path, QueryFormat asked, QueryFormat found);

}  // namespace quern::tools
