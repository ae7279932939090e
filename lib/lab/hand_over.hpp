#pragma once

namespace quern {

/// Median microseconds from a query's arrival until an idle thread starts on it: the overhead of dispatcher and system
/// for queries that take no time. At least 1 thread and more than 0 queries per second. Measures for at most a fifth of
/// a second.
double measure_hand_over_us(unsigned threads, double queries_per_second);

}  // namespace quern
