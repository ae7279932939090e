#pragma once
#include <string>
#include <string_view>

#include "quern/core/error.hpp"
#include "quern/formats/rankers/model_format.hpp"
#include "quern/formats/rankers/ranker_model.hpp"

namespace quern::fuzz {

/// Any bytes give a valid model or a library error. They are read with `format` even if they don't look like it.
inline void read_any_model(const ModelFormat& format, std::string_view bytes) {
  // The files of trees and weights that a description names.
  const auto read_beside = [](const std::string& path) -> std::string {
    if (path.find("npy") != path.npos)
      return "\x93NUMPY\x01" + std::string(1, '\0') + "\x3b" + std::string(1, '\0') +
             "{'descr': '<f4', 'fortran_order': False, 'shape': (2,), }\n\n" + "abcdefgh";
    if (path.find("tree") != path.npos) return "0:[a<1] yes=1,no=2,missing=2\n1:leaf=1\n2:leaf=2\n";
    return path;
  };
  try {
    const RankerModel model = format.read({"fuzz", bytes, read_beside});
    check_model(model, "fuzz");
  } catch (const Error&) {
  }
}

}  // namespace quern::fuzz
