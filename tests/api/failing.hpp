#pragma once
#include <filesystem>
#include <string>
#include <vector>

#include "quern/api/error.hpp"

#include "catch.hpp"
#include "corpus/temporary_folder.hpp"

namespace quern::testing {

/// The exception of `work`, which must be an Error of the interface.
template <class Work>
api::Error error_of(Work&& work) {
  try {
    work();
  } catch (const api::Error& error) {
    return error;
  }
  FAIL("nothing was thrown");
  throw std::logic_error("not reached");
}

template <class Work>
api::ErrorCode code_of(Work&& work) {
  return error_of(work).code();
}

/// The names in a folder, including hidden files.
inline std::vector<std::string> files_in(const TemporaryFolder& folder) {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(folder.path(""))) names.push_back(entry.path());
  return names;
}

}  // namespace quern::testing
