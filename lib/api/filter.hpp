#pragma once
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>

#include "quern/api/index.hpp"
#include "quern/api/work.hpp"

namespace quern::api {

/// A set of an index's documents, which alone may be results. A handle; many threads may use it at once.
class QUERN_API Filter {
 public:
  /// The documents that an expression names, such as "lang=en and not url^=http://a.example/":
  /// formats/queries/filter.md. Throws Error: invalid_argument, with the place, for what is no filter, and for fields
  /// that the index has not kept.
  static Filter matching(const Index& index, std::string_view expression, const Work& work = {});
  /// Those with these docnos; docnos that the index lacks are left out.
  static Filter of_docnos(const Index& index, std::span<const std::string_view> docnos);
  /// Those with these docIDs. Throws Error: invalid_argument for a docID that the index doesn't have.
  static Filter of_docids(const Index& index, std::span<const std::uint32_t> docids);

  /// How many documents pass.
  std::uint64_t count() const;

  struct QUERN_INTERNAL Impl;
  /// What is behind the handle, for the library itself.
  const std::shared_ptr<const Impl>& impl() const noexcept { return impl_; }

 private:
  explicit Filter(std::shared_ptr<const Impl> impl);
  std::shared_ptr<const Impl> impl_;
};

}  // namespace quern::api
