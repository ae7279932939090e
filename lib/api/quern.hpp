#pragma once

/// The whole public interface of the library.
#include "quern/api/cache_plan.hpp"
#include "quern/api/error.hpp"
#include "quern/api/evaluation.hpp"
#include "quern/api/fusion.hpp"
#include "quern/api/index.hpp"
#include "quern/api/index_builder.hpp"
#include "quern/api/query_file.hpp"
#include "quern/api/searcher.hpp"
#include "quern/api/second_stage.hpp"
#include "quern/api/stored.hpp"
#include "quern/api/tuning.hpp"
#include "quern/api/work.hpp"
