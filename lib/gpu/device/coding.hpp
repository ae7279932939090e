#pragma once
#include <cstdint>

/// The codings of posting lists that kernels decode, in one list: each is a codec's name, but rpfd of recursion 1, the
/// usual one, is rpfd_once. cmake/cuda.cmake reads the names from here and makes a source of each family of kernels for
/// each; with decoders in decode/decoder.cuh and decode/serial_decoder.hpp a new one is complete.
#define QUERN_GPU_CODINGS(each) each(newpfd) each(rpfd) each(rpfd_once) each(rice)

namespace quern::gpu {

enum class Coding : std::uint8_t {
#define QUERN_GPU_CODING(name) name,
  QUERN_GPU_CODINGS(QUERN_GPU_CODING)
#undef QUERN_GPU_CODING
};

/// A thread by itself decodes rpfd of any recursion by one decoder.
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
