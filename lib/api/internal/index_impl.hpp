#pragma once
#include <mutex>
#include <optional>
#include <string>

#include "quern/api/filter.hpp"
#include "quern/api/index.hpp"
#include "quern/core/scratch_memory.hpp"
#include "quern/formats/index_file.hpp"
#include "quern/formats/texts_file.hpp"
#include "quern/search/document_set.hpp"
#include "quern/text/analyzer.hpp"

namespace quern::api {

/// An open index, with the objects that its users share.
struct Index::Impl {
  explicit Impl(const std::string& index_path);

  /// Throws InvalidArgument if there is no such document.
  void check(std::uint32_t docid) const;
  /// Opened at the first call. Throws InvalidArgument if the index has none.
  const TextsReader& texts();

  std::string path;
  IndexReader reader;
  SparePool<Analyzer> analyzers;

 private:
  std::mutex texts_mutex_;
  std::optional<TextsReader> texts_;
};

struct Filter::Impl {
  DocumentSet passing;
};

}  // namespace quern::api
