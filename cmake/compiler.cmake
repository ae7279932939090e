# Flags that every target shares. Results are the same bits everywhere, so floating point is never contracted.
add_compile_options($<$<COMPILE_LANGUAGE:CXX>:-ffp-contract=off>)
if(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
  # A baseline of 2015 and later; wider SIMD is chosen at run time.
  add_compile_options($<$<COMPILE_LANGUAGE:CXX>:-march=x86-64-v3>)
endif()
add_compile_options($<$<COMPILE_LANGUAGE:CXX>:-Wall> $<$<COMPILE_LANGUAGE:CXX>:-Wextra> $<$<COMPILE_LANGUAGE:CXX>:-Wshadow>)
if(QUERN_WERROR)
  add_compile_options($<$<COMPILE_LANGUAGE:CXX>:-Werror>)
endif()
if(QUERN_SANITIZE)
  add_compile_options($<$<COMPILE_LANGUAGE:CXX>:-fsanitize=${QUERN_SANITIZE}>
                      $<$<COMPILE_LANGUAGE:CXX>:-fno-omit-frame-pointer>)
  add_link_options(-fsanitize=${QUERN_SANITIZE})
endif()
if(QUERN_FUZZ)
  # fuzzer-no-link instruments the library; the targets themselves link libFuzzer.
  add_compile_options(-fsanitize=fuzzer-no-link,address,undefined -fno-sanitize-recover=all)
  add_link_options(-fsanitize=fuzzer-no-link,address,undefined)
endif()
if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE Release CACHE STRING "Build type" FORCE)
endif()
