#pragma once
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "quern/api/index.hpp"
#include "quern/api/work.hpp"

namespace quern::api {

/// A set of an index's documents to which results are restricted. A handle; thread-safe.
class QUERN_API Filter {
 public:
  /// The documents that an expression names, such as "lang=en and not url^=http://a.example/":
  /// formats/queries/filter.md. Throws Error: invalid_argument, with the position, for an invalid filter, and for
  /// fields that the index has not kept.
  static Filter matching(const Index& index, std::string_view expression, const Work& work = {});
  /// The documents whose docnos a file lists, one per line, plain, gzip or zstd; "-" is standard input. A remark names
  /// one that the index lacks. Throws Error: io; corrupt_file for a line above 1 MiB.
  static Filter listed(const Index& index, const std::string& path, const Work& work = {});
  /// The documents with these docnos; docnos that the index lacks are ignored.
  static Filter of_docnos(const Index& index, std::span<const std::string_view> docnos);
  /// The documents with these docIDs. Throws Error: invalid_argument for a docID that the index doesn't have.
  static Filter of_docids(const Index& index, std::span<const std::uint32_t> docids);

  /// The number of documents.
  std::uint64_t count() const;

  struct QUERN_INTERNAL Impl;
  /// The implementation, for the library itself.
  const std::shared_ptr<const Impl>& impl() const noexcept { return impl_; }

 private:
  explicit Filter(std::shared_ptr<const Impl> impl);
  std::shared_ptr<const Impl> impl_;
};

}  // namespace quern::api
