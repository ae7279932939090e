#pragma once
#include "quern/api/filter.hpp"
#include "quern/search/document_set.hpp"

namespace quern::api {

struct Filter::Impl {
  DocumentSet passing;
};

}  // namespace quern::api
