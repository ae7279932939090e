#pragma once

namespace quern::gpu {

/// Adds the given members of `from` to those of `to`, and returns `to`.
template <class T, class... Members>
T& add_members(T& to, const T& from, Members T::*... members) {
  ((to.*members += from.*members), ...);
  return to;
}

}  // namespace quern::gpu
