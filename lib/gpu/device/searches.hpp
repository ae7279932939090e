#pragma once
#include <cstdint>
#include <type_traits>

/// Searches by one thread, for host and device, so that host tests run what kernels run. They stay within the given
/// bounds even if the numbers are not sorted.
namespace quern::gpu {

/// The index of the first of the rising `values` in [begin, end) that is not below `value`; `end` if there is none.
template <class T>
constexpr std::uint32_t lower_bound(const T* values, std::uint32_t begin, std::uint32_t end,
                                    std::type_identity_t<T> value) {
  while (begin < end) {
    const std::uint32_t middle = begin + (end - begin) / 2;
    if (values[middle] < value)
      begin = middle + 1;
    else
      end = middle;
  }
  return begin;
}

/// lower_bound() in [0, count) with seven reads at a time, for lanes that would otherwise wait for one read after
/// another.
constexpr std::uint32_t lower_bound_by_eighths(const std::uint32_t* values, std::uint32_t count, std::uint32_t value) {
  constexpr std::uint32_t parts = 8;
  std::uint32_t begin = 0, end = count;
  while (begin < end) {
    const std::uint32_t step = (end - begin + parts - 1) / parts;
    std::uint32_t below = 0;
    for (std::uint32_t i = 1; i < parts; ++i) {
      const std::uint32_t probe = begin + i * step - 1;
      below += probe < end && values[probe] < value ? 1 : 0;
    }
    begin += below * step;
    // The next probe, if there is one, is not below.
    if (below + 1 < parts && begin + step - 1 < end) end = begin + step - 1;
  }
  return begin;
}

/// lower_bound() in [0, count) of values spread over all 32-bit numbers. Reads eight neighbours where the value would
/// be if they were spread evenly, and at most twice more at the distance that it is off; far off, it searches by
/// eighths. Takes fewer reads from memory than that, most of them neighbours.
constexpr std::uint32_t lower_bound_by_guess(const std::uint32_t* values, std::uint32_t count, std::uint32_t value) {
  constexpr std::uint32_t at_once = 8, near = 64;
  constexpr unsigned max_guesses = 3;
  // The number of values that a distance spans on average.
  const auto span_of = [count](std::uint32_t distance) {
    return static_cast<std::uint32_t>(std::uint64_t{distance} * count >> 32);
  };
  std::uint32_t begin = 0, end = count, guess = span_of(value);
  for (unsigned guesses = 0; guesses < max_guesses && end - begin > at_once; ++guesses) {
    std::uint32_t first = guess > begin + at_once / 2 ? guess - at_once / 2 : begin;
    if (first > end - at_once) first = end - at_once;
    std::uint32_t below = 0;
    for (std::uint32_t i = 0; i < at_once; ++i) below += values[first + i] < value ? 1 : 0;
    if (below > 0 && below < at_once) return first + below;
    std::uint32_t off = 0;
    if (below == 0) {
      end = first;
      off = span_of(values[first] - value);
      guess = off < first ? first - off : 0;
    } else {
      begin = first + at_once;
      off = span_of(value - values[begin - 1]);
      guess = begin + off;
    }
    if (off > near) break;
  }
  return begin + lower_bound_by_eighths(values + begin, end - begin, value);
}

/// The first row from `from` on whose docID is not below `target`, or `rows`. Fast if the row is near.
constexpr std::uint32_t next_row(const std::uint32_t* last, std::uint32_t from, std::uint32_t rows,
                                 std::uint32_t target) {
  std::uint32_t step = 1;
  while (step <= rows - from && last[from + step - 1] < target) {
    from += step;
    step *= 2;
  }
  return lower_bound(last, from, step < rows - from ? from + step : rows, target);
}

/// The directory's entry of a bucket. `first_docid`: the first bucket's.
constexpr std::uint32_t bucket_start(const std::uint32_t* docids, std::uint32_t df, std::uint8_t shift,
                                     std::uint32_t first_docid, std::uint32_t bucket) {
  const std::uint64_t first = first_docid + (std::uint64_t{bucket} << shift);
  return first > 0xffffffffu ? df : lower_bound(docids, 0, df, static_cast<std::uint32_t>(first));
}
/// Whether the list contains a document, which must be in the directory's range.
constexpr bool bucket_has(const std::uint32_t* docids, std::uint32_t df, const std::uint32_t* starts,
                          std::uint8_t shift, std::uint32_t first_docid, std::uint32_t docid) {
  const std::uint32_t bucket = (docid - first_docid) >> shift;
  const std::uint32_t place = lower_bound(docids, starts[bucket], starts[bucket + 1], docid);
  return place < df && docids[place] == docid;
}

/// The last i below `count` with first(i) <= number, for non-decreasing first(i); 0 if there is none. Finds the list of
/// a block by its number in a batch.
template <class Number, class First>
constexpr std::uint32_t last_not_above(std::uint32_t count, Number number, First&& first) {
  std::uint32_t found = 0;
  while (count > 1) {
    const std::uint32_t half = count / 2;
    if (first(found + half) <= number) found += half;
    count -= half;
  }
  return found;
}

/// The number of ones, by sums of neighbouring bits, pairs, and so on. Without <bit>, which kernels can't use.
constexpr std::uint32_t count_ones(std::uint32_t bits) {
  bits -= bits >> 1 & 0x55555555;
  bits = (bits & 0x33333333) + (bits >> 2 & 0x33333333);
  return ((bits + (bits >> 4)) & 0x0f0f0f0f) * 0x01010101 >> 24;
}

}  // namespace quern::gpu
