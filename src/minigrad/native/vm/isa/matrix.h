/* Products of matrices, part of body.h: out(i, j) = start(i, j) + a(i, 0)*b(j, 0) + …

   Numbers a(i, k) are broadcast, and b(j …, k) taken a vector at a time, in tiles of a few rows by
   a few vectors that stay in registers while k runs: each sum is added in the order of its terms.
   For that, b must be contiguous along j; where it is not it is packed, transposed. When
   loading, program.c chose which of the two factors is broadcast (Instruction.swap). */

#if LANES == 8
#define TILE_VECTORS 4
#else
#define TILE_VECTORS 2
#endif

static ALWAYS void ISA(tile)(const int rows, const int vectors, long terms, const double *a,
                             long ai, long ak, const double *b, long bk, const double *start,
                             long si, double *out, long oi)
{
    ISA(vec) sum[4][4];
#pragma GCC unroll 4
    for (int i = 0; i < rows; i++)
#pragma GCC unroll 4
        for (int j = 0; j < vectors; j++)
            if (start)
                sum[i][j] = *(const ISA(vec) *)(start + i * si + j * LANES);
            else
                sum[i][j] = a[i * ai] * *(const ISA(vec) *)(b + j * LANES);
    for (long k = start ? 0 : 1; k < terms; k++) {
        ISA(vec) right[4];
#pragma GCC unroll 4
        for (int j = 0; j < vectors; j++)
            right[j] = *(const ISA(vec) *)(b + k * bk + j * LANES);
#pragma GCC unroll 4
        for (int i = 0; i < rows; i++) {
            const double left = a[i * ai + k * ak];
#pragma GCC unroll 4
            for (int j = 0; j < vectors; j++)
                sum[i][j] += left * right[j];
        }
    }
#pragma GCC unroll 4
    for (int i = 0; i < rows; i++)
#pragma GCC unroll 4
        for (int j = 0; j < vectors; j++)
            *(ISA(vec) *)(out + i * oi + j * LANES) = sum[i][j];
}

static ALWAYS void ISA(column)(const int vectors, long m, long terms, const double *a, long ai,
                               long ak, const double *b, long bk, const double *start, long si,
                               double *out, long oi)
{
    long i = 0;
    for (; i + 4 <= m; i += 4)
        ISA(tile)(4, vectors, terms, a + i * ai, ai, ak, b, bk, start ? start + i * si : NULL,
                  si, out + i * oi, oi);
    if (i + 2 <= m) {
        ISA(tile)(2, vectors, terms, a + i * ai, ai, ak, b, bk, start ? start + i * si : NULL,
                  si, out + i * oi, oi);
        i += 2;
    }
    if (i < m)
        ISA(tile)(1, vectors, terms, a + i * ai, ai, ak, b, bk, start ? start + i * si : NULL,
                  si, out + i * oi, oi);
}

static void ISA(columns)(int vectors, long m, long terms, const double *a, long ai, long ak,
                         const double *b, long bk, const double *start, long si, double *out,
                         long oi)
{
    switch (vectors) {
    case 1: ISA(column)(1, m, terms, a, ai, ak, b, bk, start, si, out, oi); break;
    case 2: ISA(column)(2, m, terms, a, ai, ak, b, bk, start, si, out, oi); break;
#if TILE_VECTORS > 2
    case 3: ISA(column)(3, m, terms, a, ai, ak, b, bk, start, si, out, oi); break;
    case 4: ISA(column)(4, m, terms, a, ai, ak, b, bk, start, si, out, oi); break;
#endif
    }
}

/* ---- packing ---- */

static ALWAYS long ISA(row_start)(const Ref *r, long row, long terms)
{
    if (r->form == AFFINE)
        return r->base + row * r->s0;
    return r->base + r->index[r->form == CELLS ? row * terms : row];
}

static void ISA(pack_rows)(const Ref *r, const double *v, long rows, long terms, double *out)
{
    for (long i = 0; i < rows; i++)
        for (long k = 0; k < terms; k++)
            out[i * terms + k] = r->form == CELLS ? v[r->base + r->index[i * terms + k]]
                                                  : v[ISA(row_start)(r, i, terms) + k * r->s2];
}

#ifdef SHUFFLE
#define EXCHANGE(far, near, d)                                                    \
    do {                                                                          \
        ISA(vec) first = x[near], second = x[far];                                \
        x[near] = SHUFFLE(first, second, FIRST_##d);                              \
        x[far] = SHUFFLE(first, second, SECOND_##d);                              \
    } while (0)
#if LANES == 8
#define FIRST_4 0, 1, 2, 3, 8, 9, 10, 11
#define SECOND_4 4, 5, 6, 7, 12, 13, 14, 15
#define FIRST_2 0, 1, 8, 9, 4, 5, 12, 13
#define SECOND_2 2, 3, 10, 11, 6, 7, 14, 15
#define FIRST_1 0, 8, 2, 10, 4, 12, 6, 14
#define SECOND_1 1, 9, 3, 11, 5, 13, 7, 15
#elif LANES == 4
#define FIRST_2 0, 1, 4, 5
#define SECOND_2 2, 3, 6, 7
#define FIRST_1 0, 4, 2, 6
#define SECOND_1 1, 5, 3, 7
#else
#define FIRST_1 0, 2
#define SECOND_1 1, 3
#endif

/* LANES x LANES numbers, transposed in registers: halves, quarters … change places. */
static ALWAYS void ISA(transpose)(const double *from, long stride, double *to, long width)
{
    ISA(vec) x[LANES];
#pragma GCC unroll 8
    for (int k = 0; k < LANES; k++)
        x[k] = *(const ISA(vec) *)(from + k * stride);
#if LANES == 8
    EXCHANGE(4, 0, 4); EXCHANGE(5, 1, 4); EXCHANGE(6, 2, 4); EXCHANGE(7, 3, 4);
#endif
#if LANES >= 4
#pragma GCC unroll 2
    for (int k = 0; k < LANES; k += 4) {
        EXCHANGE(k + 2, k, 2); EXCHANGE(k + 3, k + 1, 2);
    }
#endif
#pragma GCC unroll 4
    for (int k = 0; k < LANES; k += 2)
        EXCHANGE(k + 1, k, 1);
#pragma GCC unroll 8
    for (int k = 0; k < LANES; k++)
        *(ISA(vec) *)(to + k * width) = x[k];
}
#undef EXCHANGE
#undef FIRST_4
#undef SECOND_4
#undef FIRST_2
#undef SECOND_2
#undef FIRST_1
#undef SECOND_1
#endif

/* out[k*width + j] = r(j, k) for rows j from `first` on; width is a whole number of vectors. */
static void ISA(pack_transposed)(const Ref *r, const double *v, long first, long rows, long terms,
                                 double *out, long width)
{
    long j = 0;
#ifdef SHUFFLE
    if (r->form == AFFINE && r->s2 == 1)
        for (; j + LANES <= rows; j += LANES) {
            const double *from = v + r->base + (first + j) * r->s0;
            long k = 0;
            for (; k + LANES <= terms; k += LANES)
                ISA(transpose)(from + k, r->s0, out + k * width + j, width);
            for (; k < terms; k++)
                for (long e = 0; e < LANES; e++)
                    out[k * width + j + e] = from[e * r->s0 + k];
        }
#endif
    for (; j < rows; j++) {
        if (r->form == CELLS) {
            const int32_t *index = r->index + (first + j) * terms;
            for (long k = 0; k < terms; k++)
                out[k * width + j] = v[r->base + index[k]];
        } else {
            const double *from = v + ISA(row_start)(r, first + j, terms);
            for (long k = 0; k < terms; k++)
                out[k * width + j] = from[k * r->s2];
        }
    }
    for (; j < width; j++)
        for (long k = 0; k < terms; k++)
            out[k * width + j] = 0.0;
}

/* ---- the whole product ---- */

static ALWAYS long ISA(grid_slot)(const Ref *r, long n, long i, long j)
{
    return r->base + (r->form == AFFINE ? i * r->s0 + j * r->s1 : r->index[i * n + j]);
}

/* The numbers of a grid, transposed if the product is, from or to rows that are `width` apart. */
static void ISA(load_grid)(const Ref *r, const Instruction *c, const double *v, double *rows,
                           long width)
{
    for (long i = 0; i < c->d0; i++)
        for (long j = 0; j < c->d1; j++)
            rows[c->swap ? j * width + i : i * width + j] = v[ISA(grid_slot)(r, c->d1, i, j)];
}

static void ISA(store_grid)(const Ref *r, const Instruction *c, double *v, const double *rows,
                            long width)
{
    for (long i = 0; i < c->d0; i++)
        for (long j = 0; j < c->d1; j++) {
            const double x = rows[c->swap ? j * width + i : i * width + j];
            double *o = v + ISA(grid_slot)(r, c->d1, i, j);
            *o = c->flags & REPEATS ? *o + x : x;
        }
}

/* The last `count` columns, fewer than a vector has: through a tile of their own, four rows at a
   time. */
static void ISA(last_columns)(long count, long m, long terms, const double *a, long ai, long ak,
                              const double *b, long bk, const double *start, long si, double *out,
                              long oi)
{
    double from[4 * LANES], to[4 * LANES];
    for (long i = 0; i < m; i += 4) {
        const long rows = m - i < 4 ? m - i : 4;
        if (start)
            for (long e = 0; e < rows; e++)
                for (long j = 0; j < LANES; j++)
                    from[e * LANES + j] = j < count ? start[(i + e) * si + j] : 0.0;
        ISA(columns)(1, rows, terms, a + i * ai, ai, ak, b, bk, start ? from : NULL, LANES, to,
                     LANES);
        for (long e = 0; e < rows; e++)
            for (long j = 0; j < count; j++)
                out[(i + e) * oi + j] = to[e * LANES + j];
    }
}

#include "large.h"

static void ISA(mm)(const Instruction *c, double *v, double *scratch)
{
    const int swap = c->swap;
    const Ref *ra = &c->r[1 + swap], *rb = &c->r[2 - swap], *ro = &c->r[0];
    const Ref *rs = c->refs == 4 ? &c->r[3] : c->flags & (STORES | REPEATS) ? NULL : ro;
    const long m = swap ? c->d1 : c->d0, n = swap ? c->d0 : c->d1, terms = c->d2;
    const long whole = n / LANES * LANES, width = (n + LANES - 1) / LANES * LANES;
    const double *a = v + ra->base, *b = v + rb->base;
    long ai = ra->s0, ak = ra->s2, bk = rb->s2;
    if (ra->form != AFFINE) {
        ISA(pack_rows)(ra, v, m, terms, scratch);
        a = scratch, ai = terms, ak = 1;
        scratch += m * terms;
    }
    const double *tail = NULL;
    long tail_k = LANES;
    const int large = ISA(is_large)(ra, rb, m, n, terms);
    if (large) {
        /* packed later, a block at a time */
    } else if (rb->form != AFFINE || rb->s0 != 1) {
        ISA(pack_transposed)(rb, v, 0, n, terms, scratch, width);
        b = scratch, bk = width;
        tail = b + whole, tail_k = width;
        scratch += terms * width;
    } else if (whole < n) {
        ISA(pack_transposed)(rb, v, whole, n - whole, terms, scratch, LANES);
        tail = scratch;
        scratch += terms * LANES;
    }
    /* results: in place if they are contiguous along j, and so is what they start from */
    const int same = rs && rs->form == AFFINE && (swap ? rs->s1 : rs->s0) == 0; /* for all i */
    const int direct = !(c->flags & REPEATS) && ro->form == AFFINE
                       && (swap ? ro->s0 : ro->s1) == 1
                       && (!rs || same || (rs->form == AFFINE && (swap ? rs->s0 : rs->s1) == 1));
    const double *start = rs ? scratch : NULL;
    long si = width;
    if (same && rs != ro) {
        for (long j = 0; j < n; j++)
            scratch[j] = v[rs->base + j * (swap ? rs->s0 : rs->s1)];
        si = 0;
        scratch += width;
    } else if (direct && rs) {
        start = v + rs->base, si = swap ? rs->s1 : rs->s0;
    } else if (rs) {
        ISA(load_grid)(rs, c, v, scratch, width);
    }
    double *out = direct ? v + ro->base : scratch;
    const long oi = direct ? (swap ? ro->s1 : ro->s0) : width;
    const double *last = start ? start + whole : NULL;
    if (large) {
        ISA(large)(m, n, terms, a, ai, ak, rb, v, start, si, out, oi, direct,
                   scratch + (direct ? 0 : m * width));
    } else {
        for (long j = 0; j < whole;) {
            const long left = (whole - j) / LANES;
            const long vectors = left < TILE_VECTORS ? left : TILE_VECTORS;
            ISA(columns)((int)vectors, m, terms, a, ai, ak, b + j, bk, start ? start + j : NULL,
                         si, out + j, oi);
            j += vectors * LANES;
        }
        if (whole < n && direct)
            ISA(last_columns)(n - whole, m, terms, a, ai, ak, tail, tail_k, last, si, out + whole,
                              oi);
        else if (whole < n)
            ISA(columns)(1, m, terms, a, ai, ak, tail, tail_k, last, si, out + whole, oi);
    }
    if (!direct)
        ISA(store_grid)(ro, c, v, scratch, width);
}

#undef TILE_VECTORS
