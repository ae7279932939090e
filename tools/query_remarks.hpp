#pragma once
#include <string_view>

#include "quern/formats/queries/query_file.hpp"
#include "quern/query/query_syntax.hpp"

#include "command.hpp"

namespace quern::tools {

/// Says, once for each, what in a command's queries is taken for words although it may be meant otherwise.
class QueryRemarks {
 public:
  explicit QueryRemarks(const CommonOptions& options) : options_(options) {}
  void look_at(std::string_view query);

 private:
  const CommonOptions& options_;
  QuerySyntax said_;
};

/// Says which format `auto` found a file of queries to have.
void say_format(const CommonOptions& options, const std::string& path, QueryFormat asked, QueryFormat found);

}  // namespace quern::tools
