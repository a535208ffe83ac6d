/*
 * instructions.h: which of several functions, each for some instructions of the processor, it can execute: CHOSEN(name)
 * is name_avx512, name_avx2 or name_any.
 */
#pragma once

#if defined(__x86_64__) && !defined(__clang__)
#define HAS_AVX512 (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq"))
#define HAS_AVX2 (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
#define CHOSEN(name) (HAS_AVX512 ? name##_avx512 : HAS_AVX2 ? name##_avx2 : name##_any)
#else
#define CHOSEN(name) name##_any
#endif
