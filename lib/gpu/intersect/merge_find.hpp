#pragma once
#include "quern/gpu/device/searches.hpp"

/// Parallel Merge Find (Ding, He, Yan, Suel: Using Graphics Processors for High Performance IR Query Processing, WWW
/// 2009, section 7.2): for each element A_i of a rising list, a thread finds the j with B_j < A_i <= B_{j+1} in another
/// rising list. A few elements of A, the splitters, are looked up first. They divide both lists into sections, which
/// further splitters divide again; all other elements search only their section.
namespace quern::gpu {

/// Maximum levels of splitters; the paper tries no more.
inline constexpr unsigned max_merge_find_levels = 4;

/// The elements that each pass looks up: pass 0 the topmost splitters, pass `levels` all remaining elements.
class MergeFindPasses {
 public:
  /// `levels` levels of splitters (0: plain binary search) over `count` elements, with the same fan-out each.
  constexpr MergeFindPasses(std::uint32_t count, unsigned levels) : levels_(levels) {
    while (power(fan_out_, levels + 1) < count) ++fan_out_;
  }
  constexpr unsigned passes() const { return levels_ + 1; }
  /// The pass looks up elements whose numbers are multiples of this.
  constexpr std::uint32_t stride(unsigned pass) const {
    return static_cast<std::uint32_t>(power(fan_out_, levels_ - pass));
  }
  /// Whether an earlier pass looked up element i.
  constexpr bool looked_up(std::uint32_t i, unsigned pass) const { return pass > 0 && i % stride(pass - 1) == 0; }

 private:
  static constexpr std::uint64_t power(std::uint64_t base, unsigned exponent) {
    std::uint64_t product = 1;
    while (exponent-- > 0) product *= base;
    return product;
  }

  unsigned levels_;
  std::uint32_t fan_out_ = 1;
};

/// Finds j + 1 for element `i` of `a`: the index of the first element of `b` that is not below it, or b_count. `found`
/// holds the results of earlier passes, by element.
constexpr std::uint32_t merge_find(const MergeFindPasses& passes, unsigned pass, const std::uint32_t* a,
                                   std::uint32_t a_count, std::uint32_t i, const std::uint32_t* b,
                                   std::uint32_t b_count, const std::uint32_t* found) {
  if (pass == 0) return lower_bound(b, 0, b_count, a[i]);
  const std::uint32_t above = passes.stride(pass - 1), left = i - i % above;
  const std::uint32_t end = a_count - left > above ? found[left + above] : b_count;
  return lower_bound(b, found[left], end, a[i]);
}

}  // namespace quern::gpu
