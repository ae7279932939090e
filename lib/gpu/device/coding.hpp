#pragma once
#include <cstdint>

/// The codings of posting lists that kernels decode. Each has the name of its codec, except rpfd_once: rpfd of
/// recursion 1, which is the default. This is the only list: cmake/cuda.cmake reads it and generates one source per
/// coding and family of kernels. A new coding also needs decoders in decode/decoder.cuh and decode/serial_decoder.hpp.
#define QUERN_GPU_CODINGS(each) each(newpfd) each(rpfd) each(rpfd_once) each(rice)

namespace quern::gpu {

enum class Coding : std::uint8_t {
#define QUERN_GPU_CODING(name) name,
  QUERN_GPU_CODINGS(QUERN_GPU_CODING)
#undef QUERN_GPU_CODING
};

/// The serial decoder of rpfd takes any recursion.
constexpr Coding serial_coding(Coding coding) { return coding == Coding::rpfd_once ? Coding::rpfd : coding; }

/// Calls with.operator()<coding>().
template <class With>
void with_coding(Coding coding, With&& with) {
  switch (coding) {
#define QUERN_GPU_CODING(name) \
  case Coding::name:           \
    return with.template operator()<Coding::name>();
    QUERN_GPU_CODINGS(QUERN_GPU_CODING)
#undef QUERN_GPU_CODING
  }
}

}  // namespace quern::gpu
