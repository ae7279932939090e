#include "quern/core/named.hpp"
#include "quern/intersect/method.hpp"

namespace quern {

const std::vector<IntersectionMethod>& all_intersection_methods() {
  static const std::vector<IntersectionMethod> methods = {
      {"block-skipping", "decodes only blocks that a document of the shorter lists may lie in", nullptr,
       thin_out_by_blocks},
      {"galloping", "decodes all; doubling steps through the longer list, then binary search", thin_out_by_galloping,
       nullptr},
      {"stride", "decodes all; a segment a step through the longer list, then back inside it", thin_out_by_stride,
       nullptr, true},
      {"merge", "decodes all; both lists docID by docID", thin_out_by_merging, nullptr},
  };
  return methods;
}

const IntersectionMethod& intersection_method_named(std::string_view name) {
  return find_named(all_intersection_methods(), name, "method of intersection");
}

}  // namespace quern
