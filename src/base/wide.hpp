#pragma once
// Loops compiled twice, the better one chosen when the program is loaded. The wide one has twice the lanes, no fused multiply-add and no other
// order of operations: every machine computes the same bits.

#include <cstddef>  // __GLIBC__: other C libraries load no such choice

#if defined(__x86_64__) && defined(__GLIBC__) && defined(__GNUC__) && !defined(__clang__) && !defined(MESHWISE_NO_TARGET_CLONES)
#define MESHWISE_WIDE __attribute__((target_clones("avx2", "default")))
#else
#define MESHWISE_WIDE
#endif
