#pragma once

namespace quern {

/// Microseconds from a query's arrival until an idle thread begins with it, the median: what a dispatcher and the
/// system take, for so many threads, at least 1, and so many queries per second, above 0, that take no time to answer.
/// Takes at most a fifth of a second.
double measure_hand_over_us(unsigned threads, double queries_per_second);

}  // namespace quern
