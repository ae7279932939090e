#pragma once

namespace quern {

/// How likely |T| is at least |t|, for Student's distribution with so many degrees of freedom, at least 1: the
/// two-sided p of a t-test. Its relative error is below 1e-12 where t and the degrees are below 1e6. 0 for an infinite
/// t.
double student_t_tails(double t, double degrees);

}  // namespace quern
