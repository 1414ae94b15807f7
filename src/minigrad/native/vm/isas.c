/* The machine proper, isa/body.h, up to three times: compiled for different instruction sets. */

#include "vm.h"

#include <math.h>
#include <string.h>

#define ALWAYS inline __attribute__((always_inline))
#if defined(__has_builtin)
#if __has_builtin(__builtin_shufflevector)
#define SHUFFLE __builtin_shufflevector
#endif
#endif

#if defined(__x86_64__) || defined(__i386__)
#include <immintrin.h>
#endif
/* clang has no such pragma; it gets what its flags ask for. An editable install is built without
   what its processor does not have or would never choose: see setup.py. */
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__)
#ifndef WITHOUT_AVX2
#define HAS_AVX2 1
#endif
#ifndef WITHOUT_AVX512
#define HAS_AVX512 1
#endif
#endif
#if defined(HAS_AVX2) || defined(HAS_AVX512)
#define MANY_ISAS 1
#endif

/* Where there are others this one is for machines of before 2013: optimising it fully would take
   the compiler several seconds, of everybody's. */
#ifdef MANY_ISAS
#pragma GCC push_options
#pragma GCC optimize("O1")
#endif
#define LANES 2
#define ISA(name) name##_baseline
#include "isa/body.h"
#ifdef MANY_ISAS
#pragma GCC pop_options
#endif

#ifdef HAS_AVX2
#pragma GCC push_options
#pragma GCC target("avx2,fma")
#define LANES 4
#define ISA(name) name##_avx2
#include "isa/body.h"
#pragma GCC pop_options
#endif

#ifdef HAS_AVX512
#pragma GCC push_options
#pragma GCC target("avx512f,avx512dq,avx512vl,avx2,fma,prefer-vector-width=512")
#define LANES 8
#define ISA(name) name##_avx512
#include "isa/body.h"
#pragma GCC pop_options
#endif

int arity_of(int64_t op)
{
    return op >= 0 && op < (int64_t)sizeof ARITIES ? ARITIES[op] : 0;
}

int loop_of(const char *text)
{
    for (int k = 0; FORMULAS[k]; k++)
        if (!strcmp(text, FORMULAS[k]))
            return k;
    return -1;
}

#define ROW(name)                                                              \
    {                                                                          \
        #name, run_##name, run_lanes_##name, formula_##name, all_finite_##name, \
            run_lanes_f32_##name, all_finite_f32_##name                        \
    }

/* The best first. */
static const Isa isas[] = {
#ifdef HAS_AVX512
    ROW(avx512),
#endif
#ifdef HAS_AVX2
    ROW(avx2),
#endif
    ROW(baseline),
};

static int is_supported(const Isa *isa)
{
#ifdef MANY_ISAS
    __builtin_cpu_init();
    if (!strcmp(isa->name, "avx512"))
        return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq")
               && __builtin_cpu_supports("avx512vl");
    if (!strcmp(isa->name, "avx2"))
        return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
#endif
    (void)isa;
    return 1;
}

const Isa *supported_isa(int k)
{
    for (size_t n = 0; n < sizeof isas / sizeof isas[0]; n++)
        if (is_supported(&isas[n]) && k-- == 0)
            return &isas[n];
    return NULL;
}
