/* Mathematics on vectors of 2 * LANES floats, part of body.h, for batches in float32.

   What vecmath.h is to doubles, and by the same methods, with polynomials of fewer terms: special
   values as the C library has them, at most 1.5 units in the last place elsewhere. There are only the
   functions that are much quicker so. The kernels of all other operations, `rounded`, bring their
   operands to float64, do there what is done in float64, and round. `minigrad_float32.h` takes the
   short names back at its end. */

#include "../coefficients.h"

#define F32(name) ISA(name##_f32)
#define INLINE static inline __attribute__((always_inline, unused))
#define APART static __attribute__((noinline, unused))
#define COUNT(array) (int)(sizeof(array) / sizeof((array)[0]))
#define WIDE (2 * LANES)
#define V F32(V)
#define M F32(M)
#define U F32(U)
typedef float V __attribute__((vector_size(8 * LANES)));
typedef int32_t M __attribute__((vector_size(8 * LANES))); /* a mask: all bits of a lane, or 0 */
typedef uint32_t U __attribute__((vector_size(8 * LANES)));
typedef float F32(vec) __attribute__((vector_size(8 * LANES), aligned(4), may_alias)); /* in memory */

#if LANES == 8
#define SPLAT(c) ((V){c, c, c, c, c, c, c, c, c, c, c, c, c, c, c, c})
#elif LANES == 4
#define SPLAT(c) ((V){c, c, c, c, c, c, c, c})
#else
#define SPLAT(c) ((V){c, c, c, c})
#endif

#if LANES > 2 || defined(__aarch64__)
#define FUSED 1
#else
#define FUSED 0
#endif

#define SELECT(mask, a, b) F32(select)(mask, a, b)
#define FMA(a, b, c) F32(fma)(a, b, c)

INLINE V F32(select)(M mask, V a, V b)
{
#if defined(__x86_64__) && LANES == 4
    return (V)_mm256_blendv_ps((__m256)b, (__m256)a, (__m256)mask);
#else
    return (V)((mask & (M)a) | (~mask & (M)b));
#endif
}

INLINE int F32(misses)(M mask)
{
#if defined(__x86_64__) && LANES == 8
    return __builtin_expect(_mm512_movepi32_mask((__m512i)mask) != 0xffff, 0);
#elif defined(__x86_64__) && LANES == 4
    return __builtin_expect(_mm256_movemask_ps((__m256)mask) != 0xff, 0);
#else
    return __builtin_expect((mask[0] & mask[1] & mask[2] & mask[3]) == 0, 0);
#endif
}

/* a * b + c, rounded once where the instruction set can. */
INLINE V F32(fma)(V a, V b, V c)
{
#if defined(__x86_64__) && LANES == 8
    return (V)_mm512_fmadd_ps((__m512)a, (__m512)b, (__m512)c);
#elif defined(__x86_64__) && LANES == 4
    return (V)_mm256_fmadd_ps((__m256)a, (__m256)b, (__m256)c);
#elif FUSED
    for (int k = 0; k < WIDE; k++)
        c[k] = __builtin_fmaf(a[k], b[k], c[k]);
    return c;
#else
    return a * b + c;
#endif
}

INLINE V F32(sqrt)(V x)
{
#if defined(__x86_64__) && LANES == 8
    return (V)_mm512_sqrt_ps((__m512)x);
#elif defined(__x86_64__) && LANES == 4
    return (V)_mm256_sqrt_ps((__m256)x);
#else
    for (int k = 0; k < WIDE; k++)
        x[k] = __builtin_sqrtf(x[k]);
    return x;
#endif
}

INLINE V F32(fabs)(V x) { return (V)((M)x & 0x7fffffff); }
INLINE V F32(signed)(V y, V x) { return (V)((U)y | ((U)x & 0x80000000u)); }

/* Nan stays nan: of a nan and a number, these instructions take the second. */
INLINE V F32(at_most)(V x, float limit)
{
#if defined(__x86_64__) && LANES == 8
    return (V)_mm512_min_ps((__m512)SPLAT(limit), (__m512)x);
#elif defined(__x86_64__) && LANES == 4
    return (V)_mm256_min_ps((__m256)SPLAT(limit), (__m256)x);
#else
    return SELECT((M)(x > SPLAT(limit)), SPLAT(limit), x);
#endif
}

INLINE V F32(at_least)(V x, float limit)
{
#if defined(__x86_64__) && LANES == 8
    return (V)_mm512_max_ps((__m512)SPLAT(limit), (__m512)x);
#elif defined(__x86_64__) && LANES == 4
    return (V)_mm256_max_ps((__m256)SPLAT(limit), (__m256)x);
#else
    return SELECT((M)(x < SPLAT(limit)), SPLAT(limit), x);
#endif
}

INLINE V F32(poly)(const float *c, int n, V x)
{
    V sum = SPLAT(c[n - 1]);
    for (int k = n - 2; k >= 0; k--)
        sum = FMA(sum, x, SPLAT(c[k]));
    return sum;
}
#define POLY(c, x) F32(poly)(c, COUNT(c), x)

/* c - a * b, where a * b is so near to c that the difference is a float. */
INLINE V F32(remainder)(V c, V a, V b)
{
#if FUSED
    return FMA(-a, b, c);
#else
    const V spread_a = 4097.0f * a, spread_b = 4097.0f * b;
    const V head_a = spread_a - (spread_a - a), head_b = spread_b - (spread_b - b);
    const V tail_a = a - head_a, tail_b = b - head_b;
    return (((c - head_a * head_b) - head_a * tail_b) - tail_a * head_b) - tail_a * tail_b;
#endif
}

/* exp(x + rest), where rest is a rounding of x. */
INLINE V F32(exp_sum)(V x, V rest)
{
    x = F32(at_least)(F32(at_most)(x, 89.0f), -105.0f);
    const V shifted = FMA(x, SPLAT(0x1.715476p+0f), SPLAT(0x1.8p23f)), k = shifted - 0x1.8p23f;
    const V near = FMA(k, SPLAT(-LN2_HEAD_F32), x), r = near + FMA(k, SPLAT(-LN2_REST_F32), rest);
    const V y = 1.0f + FMA(r * r, POLY(EXP_TAIL_F32, r), r);
    const M power = (M)shifted - (M)SPLAT(0x1.8p23f), half = power >> 1; /* in two steps, as 2^k */
    return (y * (V)((half + 127) << 23)) * (V)((power - half + 127) << 23); /* may be no float */
}

INLINE V F32(exp)(V x) { return F32(exp_sum)(x, SPLAT(0.0f)); }

/* exp(c * x * x) for c = -1 or -1/2; 0 from 15 on. */
INLINE V F32(exp_square)(V c, V x)
{
    const V size = F32(at_most)(F32(fabs)(x), 15.0f), square = size * size;
    return F32(exp_sum)(c * square, -c * F32(remainder)(square, size, size));
}

INLINE V F32(log)(V x)
{
    const M tiny = (M)(x < SPLAT(0x1p-126f));
    const V size = SELECT(tiny, x * 0x1p24f, x);
    const M above = (M)((U)size - (U)SPLAT(0x1.6a09e6p-1f)), power = above >> 23;
    const V f = (V)((U)size - ((U)power << 23)) - 1.0f;
    const V k = __builtin_convertvector(power, V) - SELECT(tiny, SPLAT(24.0f), SPLAT(0.0f));
    const V s = f / (2.0f + f), z = s * s, half = 0.5f * f * f;
    const V tail = s * FMA(z, POLY(LOG_TAIL_F32, z), half);
    V y = k * LN2_HEAD_F32 - ((half - FMA(k, SPLAT(LN2_REST_F32), tail)) - f);
    y = SELECT((M)(x < SPLAT(INFINITY)), y, x);
    const V edge = SELECT((M)(x == SPLAT(0.0f)), SPLAT(-INFINITY), SPLAT(NAN));
    return SELECT((M)(x <= SPLAT(0.0f)), edge, y);
}

INLINE V F32(tanh)(V x)
{
    const V size = F32(at_most)(F32(fabs)(x), 10.0f), z = size * size;
    const V near = FMA(size * z, POLY(TANH_TAIL_F32, z), size);
    const V far = 1.0f - 2.0f / (F32(exp)(2.0f * size) + 1.0f);
    return F32(signed)(SELECT((M)(size < SPLAT(0.625f)), near, far), x);
}

INLINE V F32(erf)(V x)
{
    const V size = F32(fabs)(x), near = FMA(x, POLY(ERF_TAIL_F32, x * x), x);
    const V exponent = POLY(LOG_ERFC_F32, F32(at_most)(size, 4.0f) - 1.0f);
    const V far = F32(signed)(1.0f - F32(exp)(exponent), x);
    return SELECT((M)(size >= SPLAT(1.0f)), far, near);
}

/* ---- from memory and back, and by way of doubles ---- */

INLINE V F32(load)(const float *from, long left)
{
    (void)left; /* there are always whole vectors */
    return (V) * (const F32(vec) *)from;
}

INLINE void F32(store)(float *to, long left, V x)
{
    (void)left;
    *(F32(vec) *)to = (F32(vec))x;
}

enum { F32(ROOM) = 128 };

/* A map, or the vjp by operand `which`, on columns of doubles. */
APART void F32(rounded)(int op, int which, long n, float *out, const float *const *from)
{
    const int count = ARITIES[op] + (which < 0 ? 0 : 2);
    double at[6][F32(ROOM)];
    for (long i = 0; i < n; i += F32(ROOM)) {
        const long m = n - i < F32(ROOM) ? n - i : F32(ROOM);
        for (int k = 0; k < count; k++)
            for (long e = 0; e < m; e++)
                at[k + 1][e] = from[k][i + e];
        if (which < 0)
            ISA(map)(op, m, at[0], at[1], at[2], at[3]);
        else
            ISA(vjp)(op, which, m, at[0], at[1], at[2], at[3], at[4], at[5]);
        for (long e = 0; e < m; e++)
            out[i + e] = (float)at[0][e];
    }
}
