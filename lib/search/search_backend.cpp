#include "quern/search/search_backend.hpp"

#include <algorithm>
#include <deque>
#include <utility>

namespace quern {

namespace {

void run_searches(SearchBackend& backend, const SearchRequest& request, const AnswerConsumer& consumer) {
  struct Begun {
    std::size_t first;
    std::unique_ptr<PendingSearch> search;
  };
  std::deque<Begun> begun;
  for (std::size_t next = 0; next < request.queries.size() || !begun.empty();) {
    while (next < request.queries.size()) {
      // Asked each time, since processors may fail.
      const std::size_t left = request.queries.size() - next;
      const SearchDivision division = backend.division(request.part(next, left), consumer.held_bytes);
      if (begun.size() >= std::max<std::size_t>(division.searches, 1)) break;
      const std::size_t count = std::min(std::max<std::size_t>(division.queries, 1), left);
      begun.push_back({next, backend.begin(request.part(next, count))});
      next += count;
    }
    const Begun first = std::move(begun.front());
    begun.pop_front();
    AnswerConsumer shifted = consumer;
    if (consumer.render)
      shifted.render = [&](std::size_t i, QueryAnswer& answer) { consumer.render(first.first + i, answer); };
    shifted.take = [&](std::size_t i, const QueryAnswer& answer) { consumer.take(first.first + i, answer); };
    backend.finish(*first.search, shifted);
  }
}

}  // namespace

void run(SearchBackend& backend, const SearchRequest& request, const AnswerConsumer& consumer) {
  run_searches(backend, request, consumer);
}

}  // namespace quern
