/* The machine for one row of data, once per instruction set: isas.c defines ISA and LANES and
   includes this file. Values are one number per slot; vectors run along the innermost loop.

   elementwise.h has arithmetic, sums.h sums, matrix.h products of matrices, and lanes.h the
   machine for many rows at once; `run`, in short.h, is where to start.

   Operands that are not contiguous are gathered into chunk buffers first, results scattered
   after. Sums are added in the order of their terms, whatever the vectors: they run over rows. */

#include "minigrad_kernels.h"
#include "minigrad_formulas.h"

typedef double ISA(vec) __attribute__((vector_size(8 * LANES), aligned(8), may_alias));
typedef double ISA(vec4) __attribute__((vector_size(32), aligned(8), may_alias));
typedef double ISA(vec2) __attribute__((vector_size(16), aligned(8), may_alias));

/* Do a statement for elements e … of n, as many as a T has: vectors, then halves, then singles. */
#define AS(type, ...)                                      \
    do {                                                   \
        typedef type T;                                    \
        __VA_ARGS__;                                       \
        e += (long)(sizeof(T) / sizeof(double));           \
    } while (0)
#define SWEEP(n, ...)                                      \
    do {                                                   \
        long e = 0;                                        \
        while (e + LANES <= (n))                           \
            AS(ISA(vec), __VA_ARGS__);                     \
        if (LANES > 4 && (n) - e >= 4)                     \
            AS(ISA(vec4), __VA_ARGS__);                    \
        if (LANES > 2 && (n) - e >= 2)                     \
            AS(ISA(vec2), __VA_ARGS__);                    \
        while (e < (n))                                    \
            AS(double, __VA_ARGS__);                       \
    } while (0)
#define AT(p) (*(T *)((p) + e))
#define OF(p) (*(const T *)((p) + e))

/* Term t of a sum: a vector of numbers, or a vector and a scalar or two vectors multiplied. */
#define TERM OF(p + t * sa)
#define TERM_BY_SCALAR (OF(p + t * sa) * q[t * sb])
#define SCALAR_BY_TERM (p[t * sa] * OF(q + t * sb))
#define TERM_BY_TERM (OF(p + t * sa) * OF(q + t * sb))

/* ---- operands ---- */

static ALWAYS long ISA(start)(const Ref *r, const Instruction *c, long i0, long i1)
{
    if (r->form == AFFINE)
        return r->base + i0 * r->s0 + i1 * r->s1;
    return r->base + r->index[(i0 * c->d1 + i1) * (r->form == CELLS ? c->d2 : 1)];
}

static ALWAYS long ISA(cell)(const Ref *r, const Instruction *c, long i0, long i1, long i2)
{
    if (r->form == CELLS)
        return r->base + r->index[(i0 * c->d1 + i1) * c->d2 + i2];
    return ISA(start)(r, c, i0, i1) + i2 * r->s2;
}

static void ISA(splat)(double *out, double x, long n)
{
    for (long e = 0; e < n; e++)
        out[e] = x;
}

/* n elements of the innermost loop from element `from` on, contiguous: in place or gathered. */
static ALWAYS const double *ISA(gather)(const Ref *r, const Instruction *c, const double *v,
                                        long i0, long i1, long from, long n, double *buffer)
{
    if (r->form == CELLS) {
        const int32_t *index = r->index + (i0 * c->d1 + i1) * c->d2 + from;
        const double *p = v + r->base;
        for (long e = 0; e < n; e++)
            buffer[e] = p[index[e]];
        return buffer;
    }
    const double *p = v + ISA(start)(r, c, i0, i1) + from * r->s2;
    const long s = r->s2;
    if (s == 1 || n == 1)
        return p;
    if (s == 0) {
        ISA(splat)(buffer, *p, n);
        return buffer;
    }
    for (long e = 0; e < n; e++)
        buffer[e] = p[e * s];
    return buffer;
}

/* Store or add n results. */
static void ISA(scatter)(const Ref *r, const Instruction *c, double *v, long i0, long i1, long from,
                         long n, const double *x, int adds)
{
    if (r->form == CELLS) {
        const int32_t *index = r->index + (i0 * c->d1 + i1) * c->d2 + from;
        double *p = v + r->base;
        if (adds)
            for (long e = 0; e < n; e++)
                p[index[e]] += x[e];
        else
            for (long e = 0; e < n; e++)
                p[index[e]] = x[e];
        return;
    }
    double *p = v + ISA(start)(r, c, i0, i1) + from * r->s2;
    const long s = r->s2;
    if (!adds) {
        for (long e = 0; e < n; e++)
            p[e * s] = x[e];
    } else if (s == 0) {
        double total = *p;
        for (long e = 0; e < n; e++)
            total += x[e];
        *p = total;
    } else {
        for (long e = 0; e < n; e++)
            p[e * s] += x[e];
    }
}

#include "elementwise.h"

/* ---- maps and their adjoints: kernels on chunks ---- */

static void ISA(call)(const Instruction *c, long n, double *out, const double *const p[MOST_REFS])
{
    if (c->kind == MAP)
        ISA(map)(c->op, n, out, p[1], p[2], p[3]);
    else
        ISA(vjp)(c->op, c->which, n, out, p[1], p[2], p[3], p[4], p[5]);
}

static void ISA(add_to)(double *out, const double *x, long n)
{
    SWEEP(n, AT(out) += OF(x));
}

static void ISA(kernel)(const Instruction *c, double *v, double *scratch)
{
    const int adds = c->kind == VJP && !(c->flags & STORES);
    /* as many whole innermost loops as a chunk holds, or pieces of one */
    const long piece = c->d2 < CHUNK ? c->d2 : CHUNK, rows = CHUNK / piece;
    const long all_rows = c->d0 * c->d1;
    double *result = scratch + MOST_REFS * CHUNK;
    for (long row = 0; row < all_rows; row += rows)
        for (long from = 0; from < c->d2; from += piece) {
            const long many = all_rows - row < rows ? all_rows - row : rows;
            const long m = c->d2 - from < piece ? c->d2 - from : piece, n = many * m;
            const double *p[MOST_REFS];
            for (int k = 1; k < c->refs; k++) {
                const Ref *r = &c->r[k];
                double *buffer = scratch + k * CHUNK;
                p[k] = buffer;
                if (r->flat)
                    p[k] = v + r->base + row * c->d2 + from;
                else if (many == 1)
                    p[k] = ISA(gather)(r, c, v, row / c->d1, row % c->d1, from, m, buffer);
                else
                    for (long i = 0; i < many; i++) {
                        const long i0 = (row + i) / c->d1, i1 = (row + i) % c->d1;
                        double *to = buffer + i * m;
                        const double *x = ISA(gather)(r, c, v, i0, i1, from, m, to);
                        if (x != to)
                            for (long e = 0; e < m; e++)
                                to[e] = x[e];
                    }
            }
            for (int k = c->refs; k < MOST_REFS; k++)
                p[k] = p[1];
            double *direct = c->r[0].flat ? v + c->r[0].base + row * c->d2 + from : NULL;
            ISA(call)(c, n, direct && !adds ? direct : result, p);
            if (direct && adds)
                ISA(add_to)(direct, result, n);
            else if (!direct)
                for (long i = 0; i < many; i++)
                    ISA(scatter)(&c->r[0], c, v, (row + i) / c->d1, (row + i) % c->d1, from, m,
                                 result + i * m, adds);
        }
}

/* ---- programs ---- */

#include "sums.h"
#include "matrix.h"
#define REAL double
#define LANE(name) ISA(name)
#include "lanes.h"

#include "short.h"

#include "minigrad_float32.h"
#define REAL float
#define LANE(name) F32(name)
#include "lanes.h"

/* ---- formulas of optimisers, see formula.c ---- */

static void ISA(formula_rows)(const Formula *f, long n, int first, int last, const double **r)
{
    const int32_t *row = f->rows + 4 * first;
    for (int k = first; k < last; k++, row += 4)
        ISA(map)(row[0], n, f->scratch + (f->settings + f->constants + k) * PIECE, r[row[1]],
                 r[row[2]], r[row[3]]);
}

/* Move the columns, in place: in one loop if there is one, else row by row, piece by piece. */
static void ISA(formula)(const Formula *f, long count, double *const *columns,
                         const double *settings)
{
    if (f->loop >= 0) {
        ISA(built_formula)(f->loop, count, columns, settings);
        return;
    }
    const int fixed = f->settings + f->constants;
    const double *r[MOST_REGISTERS];
    for (int k = 0; k < fixed + f->count; k++)
        r[f->columns + k] = f->scratch + k * PIECE;
    for (int k = 0; k < fixed; k++)
        ISA(splat)(f->scratch + k * PIECE,
                      k < f->settings ? settings[k] : f->numbers[k - f->settings],
                      count < PIECE ? count : PIECE);
    ISA(formula_rows)(f, count < PIECE ? count : PIECE, 0, f->uniform, r);
    for (long from = 0; from < count; from += PIECE) {
        const long n = count - from < PIECE ? count - from : PIECE;
        for (int k = 0; k < f->columns; k++)
            r[k] = columns[k] + from;
        ISA(formula_rows)(f, n, f->uniform, f->count, r);
        for (int k = 0; k < f->columns - 1; k++)
            memcpy(columns[k ? k + 1 : 0] + from, r[f->results[k]], n * sizeof(double));
    }
}

#undef LANES
#undef ISA
#undef F32
