#include "quern/search/kernel_loops.hpp"

namespace quern {

const QueryKernels portable_query_kernels = {query_loops::find,       query_loops::term_scores,
                                             query_loops::add,        query_loops::take_above,
                                             query_loops::keep_above, query_loops::count_up_to};

}  // namespace quern
