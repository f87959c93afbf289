// What must hold for every input: a line that does not is the end of the process, which libFuzzer reports.
#pragma once

#include <cstdio>
#include <cstdlib>

#define REQUIRE(condition)                                                 \
  do {                                                                     \
    if (!(condition)) {                                                    \
      std::fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition); \
      std::abort();                                                        \
    }                                                                      \
  } while (false)
