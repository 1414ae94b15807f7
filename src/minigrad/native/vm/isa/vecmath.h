/* Mathematics on vectors of LANES doubles, without tables and almost without branches.

   Included once per instruction set (isas.c), by the kernels that are made from the op table: LANES
   is 8 (AVX-512 F and DQ), 4 (AVX2 and FMA), or 2 (what every machine has).

   Every function gives what the C library gives at special values (nan, infinities, both zeros) and
   is at most 1.5 units in the last place from the true value elsewhere, subnormal numbers included.
   All branches are selections by mask; the library itself is asked, lane by lane, for what is not
   worth a vector: rare functions, and rare arguments of the others.

   The pattern is always the same: reduce the argument to a small interval, evaluate a polynomial
   for what is left beside the leading term, and carry the rounding of the leading term along as a
   second number where it would show. Start at `exp`. The last part, loads and stores, serves the
   loops of the kernels. `minigrad_kernels.h` takes the short names back at its end. */

#include "../coefficients.h"

/* ---- vectors --------------------------------------------------------------------------------- */

#define INLINE static inline __attribute__((always_inline, unused))
#define APART static __attribute__((noinline, unused))
#define COUNT(array) (int)(sizeof(array) / sizeof((array)[0]))
#define WIDE LANES
#define V ISA(V)
#define M ISA(M)
#define U ISA(U)
#define W ISA(W)
typedef double V __attribute__((vector_size(8 * LANES)));
typedef long long M __attribute__((vector_size(8 * LANES))); /* a mask: all bits of a lane, or 0 */
typedef unsigned long long U __attribute__((vector_size(8 * LANES)));
typedef double W __attribute__((vector_size(8 * LANES), aligned(8), may_alias)); /* in memory */

#if LANES == 8
#define SPLAT(c) ((V){c, c, c, c, c, c, c, c})
#elif LANES == 4
#define SPLAT(c) ((V){c, c, c, c})
#else
#define SPLAT(c) ((V){c, c})
#endif

#if LANES > 2 || defined(__aarch64__) /* multiplies and adds in one step, with one rounding */
#define FUSED 1
#else
#define FUSED 0
#endif

#define SELECT(mask, a, b) ISA(select)(mask, a, b)
#define FMA(a, b, c) ISA(fma)(a, b, c)

INLINE V ISA(select)(M mask, V a, V b)
{
#if defined(__x86_64__) && LANES == 4
    return (V)_mm256_blendv_pd((__m256d)b, (__m256d)a, (__m256d)mask);
#else
    return (V)((mask & (M)a) | (~mask & (M)b));
#endif
}

/* Whether some lane is not set, which the compiler is to take for unlikely. */
INLINE int ISA(misses)(M mask)
{
#if defined(__x86_64__) && LANES == 8
    return __builtin_expect(_mm512_movepi64_mask((__m512i)mask) != 0xff, 0);
#elif defined(__x86_64__) && LANES == 4
    return __builtin_expect(_mm256_movemask_pd((__m256d)mask) != 0xf, 0);
#else
    return __builtin_expect((mask[0] & mask[1]) == 0, 0);
#endif
}

/* a * b + c, rounded once where the instruction set can. */
INLINE V ISA(fma)(V a, V b, V c)
{
#if defined(__x86_64__) && LANES == 8
    return (V)_mm512_fmadd_pd((__m512d)a, (__m512d)b, (__m512d)c);
#elif defined(__x86_64__) && LANES == 4
    return (V)_mm256_fmadd_pd((__m256d)a, (__m256d)b, (__m256d)c);
#elif FUSED
    return (V){__builtin_fma(a[0], b[0], c[0]), __builtin_fma(a[1], b[1], c[1])};
#else
    return a * b + c;
#endif
}

INLINE V ISA(sqrt)(V x)
{
#if defined(__x86_64__) && LANES == 8
    return (V)_mm512_sqrt_pd((__m512d)x);
#elif defined(__x86_64__) && LANES == 4
    return (V)_mm256_sqrt_pd((__m256d)x);
#else
    return (V){__builtin_sqrt(x[0]), __builtin_sqrt(x[1])};
#endif
}

INLINE V ISA(fabs)(V x) { return (V)((M)x & 0x7fffffffffffffffLL); }

/* y >= 0 with the sign of x. */
INLINE V ISA(signed)(V y, V x) { return (V)((M)y | ((M)x & ~0x7fffffffffffffffLL)); }

/* Nan stays nan: of a nan and a number, these instructions take the second. */
INLINE V ISA(at_most)(V x, double limit)
{
#if defined(__x86_64__) && LANES == 8
    return (V)_mm512_min_pd((__m512d)SPLAT(limit), (__m512d)x);
#elif defined(__x86_64__) && LANES == 4
    return (V)_mm256_min_pd((__m256d)SPLAT(limit), (__m256d)x);
#else
    return SELECT((M)(x > SPLAT(limit)), SPLAT(limit), x);
#endif
}

INLINE V ISA(at_least)(V x, double limit)
{
#if defined(__x86_64__) && LANES == 8
    return (V)_mm512_max_pd((__m512d)SPLAT(limit), (__m512d)x);
#elif defined(__x86_64__) && LANES == 4
    return (V)_mm256_max_pd((__m256d)SPLAT(limit), (__m256d)x);
#else
    return SELECT((M)(x < SPLAT(limit)), SPLAT(limit), x);
#endif
}

/* Even and odd powers apart: two chains of half the length. */
INLINE V ISA(poly)(const double *c, int n, V x)
{
    const V square = x * x;
    V last = SPLAT(c[n - 1]), other = SPLAT(c[n - 2]);
    for (int k = n - 3; k >= 0; k--) {
        const V next = FMA(last, square, SPLAT(c[k]));
        last = other;
        other = next;
    }
    return FMA(last, x, other);
}
#define POLY(c, x) ISA(poly)(c, COUNT(c), x)

/* ---- sums and products with their rounding --------------------------------------------------- */

/* a + b - s exactly, where s is the rounded sum. */
INLINE V ISA(sum_rest)(V a, V b, V s)
{
    const V from_b = s - a;
    return (a - (s - from_b)) + (b - from_b);
}

/* c - a * b, where a * b is so near to c that the difference is a double. */
INLINE V ISA(remainder)(V c, V a, V b)
{
#if FUSED
    return FMA(-a, b, c);
#else
    const V spread_a = 134217729.0 * a, spread_b = 134217729.0 * b;
    const V head_a = spread_a - (spread_a - a), head_b = spread_b - (spread_b - b);
    const V tail_a = a - head_a, tail_b = b - head_b;
    return (((c - head_a * head_b) - head_a * tail_b) - tail_a * head_b) - tail_a * tail_b;
#endif
}

/* (n + n_rest) / (d + d_rest) */
INLINE V ISA(quotient)(V n, V n_rest, V d, V d_rest)
{
    const V inverse = 1.0 / d, q = n * inverse;
    return q + (ISA(remainder)(n, q, d) + (n_rest - q * d_rest)) * inverse;
}

/* ---- exponentials ---------------------------------------------------------------------------- */

INLINE V ISA(power_of_2)(M k) { return (V)((k + 1023) << 52); }

/* y * 2^k for |k| <= 2040: in two steps, as 2^k may be no double where the product is one. */
INLINE V ISA(scale)(V y, M k)
{
#if defined(__x86_64__) && LANES == 8
    const V power = (V)(k + (M)SPLAT(ROUNDER)) - ROUNDER; /* which `reduce` had already */
    return (V)_mm512_scalef_pd((__m512d)y, (__m512d)power);
#else
    const M half = (M)((U)(k + 2048) >> 1) - 1024;
    return (y * ISA(power_of_2)(half)) * ISA(power_of_2)(k - half);
#endif
}

/* Return k, and r + rest = x + x_rest - k * log(2) with |r| <= log(2)/2. */
INLINE M ISA(reduce)(V x, V x_rest, V *r, V *rest)
{
    const V shifted = FMA(x, SPLAT(LOG2_E), SPLAT(ROUNDER)), k = shifted - ROUNDER;
    const V near = FMA(k, SPLAT(-LN2_HEAD), x), more = FMA(k, SPLAT(-LN2_REST), x_rest);
    *r = near + more;
    *rest = (near - *r) + more;
    return (M)shifted - (M)SPLAT(ROUNDER);
}

/* exp(x + rest), where rest is what a rounding of x has left out. */
INLINE V ISA(exp_sum)(V x, V rest)
{
    V r, unused;
    x = ISA(at_least)(ISA(at_most)(x, 710.0), -746.0);
    const M k = ISA(reduce)(x, rest, &r, &unused);
    return ISA(scale)(1.0 + FMA(r * r, POLY(EXP_TAIL, r), r), k);
}

INLINE V ISA(exp)(V x) { return ISA(exp_sum)(x, SPLAT(0.0)); }

/* Return k, and (y + rest) * 2^k = exp(x + x_rest). */
INLINE M ISA(exp_parts)(V x, V x_rest, V *y, V *rest)
{
    V r, r_rest;
    const M k = ISA(reduce)(x, x_rest, &r, &r_rest);
    *y = 1.0 + r;
    *rest = ((1.0 - *y) + r) + FMA(r * r, POLY(EXP_TAIL, r), FMA(r_rest, r, r_rest));
    return k;
}

/* exp(c * x * x) for c = -1 or -1/2, with what the rounded square leaves out; 0 from 40 on. */
INLINE V ISA(exp_square)(V c, V x)
{
    const V size = ISA(at_most)(ISA(fabs)(x), 40.0), square = size * size;
    return ISA(exp_sum)(c * square, -c * ISA(remainder)(square, size, size));
}

/* y + rest = expm1(x) / 2, for -38 <= x <= 710: halved, as 2^k itself may overflow. */
INLINE void ISA(expm1_parts)(V x, V *y, V *rest)
{
    V r, r_rest;
    const M k = ISA(reduce)(x, SPLAT(0.0), &r, &r_rest);
    const V power = ISA(power_of_2)(k - 1), first = power - 0.5, second = power * r;
    const V tail = FMA(r * r, POLY(EXP_TAIL, r), FMA(r_rest, r, r_rest));
    *y = first + second;
    *rest = FMA(power, tail, ISA(sum_rest)(first, second, *y));
}

INLINE V ISA(expm1)(V x)
{
    V y, rest;
    ISA(expm1_parts)(ISA(at_least)(ISA(at_most)(x, 710.0), -38.0), &y, &rest);
    return SELECT((M)(ISA(fabs)(x) < SPLAT(0x1p-54)), x, 2.0 * (y + rest));
}

/* expm1(2x) / (expm1(2x) + 2), of the size of x; from 19.1 on it is 1. */
INLINE V ISA(tanh)(V x)
{
    V y, rest;
    ISA(expm1_parts)(2.0 * ISA(at_most)(ISA(fabs)(x), 20.0), &y, &rest);
    const V n = y + rest, n_rest = (y - n) + rest;
    const V d = 1.0 + n, d_rest = ISA(sum_rest)(n, SPLAT(1.0), d) + n_rest;
    return ISA(signed)(ISA(quotient)(n, n_rest, d, d_rest), x);
}

/* ---- logarithms ------------------------------------------------------------------------------ */

/* k * log(2) + log(1 + f) + rest, for 1 + f between the roots of 1/2 and 2. */
INLINE V ISA(log_sum)(V k, V f, V rest)
{
    const V s = f / (2.0 + f), z = s * s, half = 0.5 * f * f;
    const V tail = s * FMA(z, POLY(LOG_TAIL, z), half);
    return k * LN2_HEAD - ((half - (tail + FMA(k, SPLAT(LN2_REST), rest))) - f);
}

/* Return k and f, where x = 2^k * (1 + f), for a normal x > 0. */
INLINE V ISA(log_parts)(V x, V *f)
{
    const U above = (U)x - (U)SPLAT(0x1.6a09e667f3bcdp-1); /* unsigned, so that it may wrap */
    const U k = (above + (1ULL << 63)) >> 52;
    *f = (V)((U)x - (above & (0xfffULL << 52))) - 1.0;
    return (V)(k | (U)SPLAT(0x1p52)) - (0x1p52 + 2048.0);
}

/* What the logarithm of x is worth where x is not a finite number above 0. */
INLINE V ISA(log_edge)(V x, V y)
{
    const V edge = SELECT((M)(x == SPLAT(0.0)), SPLAT(-INFINITY), SPLAT((double)NAN));
    y = SELECT((M)(x < SPLAT(INFINITY)), y, x);
    return SELECT((M)(x <= SPLAT(0.0)), edge, y);
}

INLINE V ISA(log)(V x)
{
    V f;
    const M tiny = (M)(x < SPLAT(0x1p-1022));
    const V k = ISA(log_parts)(SELECT(tiny, x * 0x1p54, x), &f);
    const V y = ISA(log_sum)(k - (V)(tiny & (M)SPLAT(54.0)), f, SPLAT(0.0));
    return ISA(log_edge)(x, y);
}

INLINE V ISA(log1p)(V x)
{
    V f;
    const V sum = 1.0 + x;
    const M near = (M)(x > SPLAT(-0.29)) & (M)(x < SPLAT(0.41));
    V k = ISA(log_parts)(sum, &f), rest = ISA(sum_rest)(x, SPLAT(1.0), sum) / sum;
    k = SELECT(near, SPLAT(0.0), k);
    f = SELECT(near, x, f);
    rest = SELECT(near, SPLAT(0.0), rest);
    const V y = ISA(log_edge)(sum, ISA(log_sum)(k, f, rest));
    return SELECT((M)(ISA(fabs)(x) < SPLAT(0x1p-54)), x, y);
}

/* ---- lane by lane ---------------------------------------------------------------------------- */

/* A lane that repeats the first is not computed again: so are those that only fill a vector. */
#define LANEWISE1(name)                                                                           \
    APART V ISA(name)(V x)                                                                        \
    {                                                                                             \
        V r;                                                                                      \
        for (int k = 0; k < LANES; k++)                                                           \
            r[k] = k && ((M)x)[k] == ((M)x)[0] ? r[0] : name(x[k]);                               \
        return r;                                                                                 \
    }
#define LANEWISE2(name, function)                                                                 \
    APART V ISA(name)(V a, V b)                                                                   \
    {                                                                                             \
        V r;                                                                                      \
        for (int k = 0; k < LANES; k++) {                                                         \
            const int again = k && ((M)a)[k] == ((M)a)[0] && ((M)b)[k] == ((M)b)[0];              \
            r[k] = again ? r[0] : function(a[k], b[k]);                                           \
        }                                                                                         \
        return r;                                                                                 \
    }

LANEWISE1(tan)
LANEWISE1(asin)
LANEWISE1(acos)
LANEWISE1(atan)
LANEWISE1(sinh)
LANEWISE1(cosh)
LANEWISE2(atan2, atan2)
LANEWISE2(hypot, hypot)
LANEWISE2(any_pow, pow)

/* ---- sine and cosine ------------------------------------------------------------------------- */

/* sin(x + quarters * pi/2), for |x| <= 1e5. Whole quarter turns are taken off in four parts, as x
   may be so near to one that the first parts cancel. */
INLINE V ISA(sin_near)(V x, long long quarters)
{
    const V shifted = FMA(x, SPLAT(TWO_OVER_PI), SPLAT(ROUNDER)), k = shifted - ROUNDER;
    const M turn = (M)shifted + quarters;
    const V first = x - k * QUARTER[0], second = -(k * QUARTER[1]), near = first + second;
    const V more = (ISA(sum_rest)(first, second, near) - k * QUARTER[2]) - k * QUARTER[3];
    const V r = near + more, rest = (near - r) + more, z = r * r, half = 0.5 * z;
    const V sine = r + FMA(r * z, POLY(SIN_TAIL, z), rest - rest * half);
    const V top = 1.0 - half;
    const V cosine = top + (((1.0 - top) - half) + FMA(z * z, POLY(COS_TAIL, z), -(r * rest)));
    const M is_odd = (M)((turn & 1) != 0), sign = turn << 62 & ~0x7fffffffffffffffLL;
    return (V)((M)SELECT(is_odd, cosine, sine) ^ sign);
}

#define WITH_FAR_LANES(name)                                                                      \
    APART V ISA(name##_far)(V x, V y)                                                             \
    {                                                                                             \
        for (int k = 0; k < LANES; k++)                                                           \
            if (!(fabs(x[k]) <= 1e5))                                                             \
                y[k] = name(x[k]);                                                                \
        return y;                                                                                 \
    }
WITH_FAR_LANES(sin)
WITH_FAR_LANES(cos)

INLINE V ISA(sin)(V x)
{
    const V size = ISA(fabs)(x), near = ISA(sin_near)(x, 0);
    const V y = SELECT((M)(size < SPLAT(0x1p-27)), x, near);
    return ISA(misses)((M)(size <= SPLAT(1e5))) ? ISA(sin_far)(x, y) : y;
}

INLINE V ISA(cos)(V x)
{
    const V y = ISA(sin_near)(x, 1);
    return ISA(misses)((M)(ISA(fabs)(x) <= SPLAT(1e5))) ? ISA(cos_far)(x, y) : y;
}

/* ---- the error function ---------------------------------------------------------------------- */

INLINE V ISA(erf)(V x)
{
    const V size = ISA(fabs)(x), z = x * x;
    V r, rest;
    const V exponent = POLY(LOG_ERFC, ISA(at_most)(size, 6.0) - 1.0);
    const M k = ISA(reduce)(exponent, SPLAT(0.0), &r, &rest);
    const V beyond = (1.0 + FMA(r * r, POLY(EXP_TAIL, r), r)) * ISA(power_of_2)(k);
    const V near = FMA(x, POLY(ERF_TAIL, z), x);
    return SELECT((M)(size >= SPLAT(1.0)), ISA(signed)(1.0 - beyond, x), near);
}

/* Far out it is exp(-x*x) / (x + 1/2), times what hardly varies. */
INLINE V ISA(erfc)(V x)
{
    const V size = ISA(at_most)(ISA(fabs)(x), 28.0);
    const V square = size * size;
    V e, e_rest;
    const M k = ISA(exp_parts)(-square, ISA(remainder)(square, size, size), &e, &e_rest);
    const V t = (size - 3.5) / (size + 3.5);
    const V first = SPLAT(ERFCX[0]), more = t * ISA(poly)(ERFCX + 1, COUNT(ERFCX) - 1, t);
    const V level = first + more, level_rest = ((first - level) + more) + ERFCX_FIRST_REST;
    const V d = size + 0.5, d_rest = (size - d) + 0.5;
    const V n = e * level;
    const V n_rest = FMA(e, level_rest, e_rest * level) - ISA(remainder)(n, e, level);
    const V beyond = ISA(scale)(ISA(quotient)(n, n_rest, d, d_rest), k);
    const V most = 1.0 - x;
    const V near = most + (((1.0 - most) - x) - x * POLY(ERF_TAIL, x * x));
    const V far = SELECT((M)(x < SPLAT(0.0)), 2.0 - beyond, beyond);
    return SELECT((M)(size >= SPLAT(0.5)), far, near);
}

/* ---- powers ---------------------------------------------------------------------------------- */

/* Powers that all lanes raise to and that are one or two roundings away; else the C library. */
INLINE V ISA(pow)(V x, V n)
{
    const double power = n[0];
    if (!ISA(misses)((M)(n == SPLAT(power)))) {
        if (power == 2.0)
            return x * x;
        if (power == 1.0)
            return x;
        if (power == 0.0)
            return SPLAT(1.0);
        if (power == -1.0)
            return 1.0 / x;
        if (power == 0.5) /* of -0.0 it is 0.0, and of -inf it is inf */
            return SELECT((M)(x == SPLAT(-INFINITY)), -x, ISA(sqrt)(x + 0.0));
#if FUSED
        const V size = ISA(fabs)(x), square = x * x;
        const int calm = !ISA(misses)((M)(size > SPLAT(0x1p-300)) & (M)(size < SPLAT(0x1p300)));
        if (calm && power == 3.0)
            return FMA(square, x, -(ISA(remainder)(square, x, x) * x));
        if (calm && power == -2.0)
            return ISA(quotient)(SPLAT(1.0), SPLAT(0.0), square,
                                 -ISA(remainder)(square, x, x));
        if (calm && power == -0.5) {
            const V root = ISA(sqrt)(x);
            return ISA(quotient)(SPLAT(1.0), SPLAT(0.0), root,
                                 ISA(remainder)(x, root, root) * (0.5 / root));
        }
#endif
    }
    return ISA(any_pow)(x, n);
}

/* ---- from memory and back -------------------------------------------------------------------- */

/* Where fewer than LANES numbers are left, the first of them fills the vector. */
INLINE V ISA(load_last)(const double *from, long left)
{
#if defined(__x86_64__) && LANES == 8
    return (V)_mm512_mask_loadu_pd((__m512d)SPLAT(from[0]), (__mmask8)((1 << left) - 1), from);
#else
    V x = SPLAT(from[0]);
    for (int k = 1; k < LANES - 1; k++)
        x[k] = from[k < left ? k : 0];
    return x;
#endif
}

INLINE void ISA(store_last)(double *to, long left, V x)
{
#if defined(__x86_64__) && LANES == 8
    _mm512_mask_storeu_pd(to, (__mmask8)((1 << left) - 1), (__m512d)x);
#else
    for (int k = 0; k < LANES - 1; k++)
        if (k < left)
            to[k] = x[k];
#endif
}

INLINE V ISA(load)(const double *from, long left)
{
    return left >= LANES ? (V) * (const W *)from : ISA(load_last)(from, left);
}

INLINE void ISA(store)(double *to, long left, V x)
{
    if (left >= LANES)
        *(W *)to = (W)x;
    else
        ISA(store_last)(to, left, x);
}
