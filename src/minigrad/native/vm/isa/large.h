/* Large products of matrices, part of matrix.h: both factors are packed, a block of terms at a time.

   A tile reads four rows of a and a few vectors of b, term after term. In a large matrix these lie
   far apart, and neither stays near the processor until its next use. So a block of terms of a is
   packed in groups of four rows, unless these are contiguous, and of b in groups of as many columns
   as a tile has. The sums of a block go on from those of the block before: every sum is added in the
   order of its terms. */

#define LARGE 200000.0 /* multiplications that are worth it */
#if LANES == 4 /* twelve sums in sixteen registers */
#define WIDE_TILE 3
#else
#define WIDE_TILE TILE_VECTORS
#endif

static int ISA(is_large)(const Ref *a, const Ref *b, long m, long n, long terms)
{
    return a->form == AFFINE && b->form == AFFINE && m >= 8 && n >= LANES && terms >= 8
           && (double)m * n * terms >= LARGE;
}

/* Groups of four rows, term after term. */
static void ISA(pack_left)(const double *a, long ai, long ak, long m, long terms, double *out)
{
    for (long i = 0; i < m; i += 4, out += 4 * terms) {
        const long rows = m - i < 4 ? m - i : 4;
        const double *from = a + i * ai;
        for (long k = 0; k < terms && rows == 4; k++)
            for (long e = 0; e < 4; e++)
                out[4 * k + e] = from[e * ai + k * ak];
        for (long k = 0; k < terms && rows < 4; k++)
            for (long e = 0; e < rows; e++)
                out[4 * k + e] = from[e * ai + k * ak];
    }
}

/* out[k*width + j] = b(first + j, k), some columns of one block. */
static void ISA(pack_right)(const Ref *b, const double *v, long first, long count, long from,
                            long terms, double *out, long width)
{
    Ref part = *b;
    part.base += from * b->s2;
    if (b->s0 != 1 || count < width) {
        ISA(pack_transposed)(&part, v, first, count, terms, out, width);
        return;
    }
    const double *row = v + part.base + first;
    for (long k = 0; k < terms; k++, row += b->s2, out += width)
        for (long j = 0; j < width; j += LANES)
            *(ISA(vec) *)(out + j) = *(const ISA(vec) *)(row + j);
}

/* A block of a, and how far apart its rows and terms are, and its groups of four rows. */
typedef struct {
    const double *at;
    long row, term, group;
} ISA(Left);

static ALWAYS void ISA(packed_column)(const int vectors, long m, long terms, ISA(Left) a,
                                      const double *b, const double *start, long si, double *out,
                                      long oi)
{
    const long width = vectors * LANES;
    long i = 0;
    for (; i + 4 <= m; i += 4, a.at += a.group)
        ISA(tile)(4, vectors, terms, a.at, a.row, a.term, b, width,
                  start ? start + i * si : NULL, si, out + i * oi, oi);
    for (; i < m; i++, a.at += a.row)
        ISA(tile)(1, vectors, terms, a.at, a.row, a.term, b, width,
                  start ? start + i * si : NULL, si, out + i * oi, oi);
}

static void ISA(packed_columns)(int vectors, long m, long terms, ISA(Left) a, const double *b,
                                const double *start, long si, double *out, long oi)
{
    switch (vectors) {
    case 1: ISA(packed_column)(1, m, terms, a, b, start, si, out, oi); break;
    case 2: ISA(packed_column)(2, m, terms, a, b, start, si, out, oi); break;
#if WIDE_TILE > 2
    case 3: ISA(packed_column)(3, m, terms, a, b, start, si, out, oi); break;
#endif
#if WIDE_TILE > 3
    case 4: ISA(packed_column)(4, m, terms, a, b, start, si, out, oi); break;
#endif
    }
}

/* As the loops of mm; rows of `out` have n numbers if it is direct, else whole vectors. */
static void ISA(large)(long m, long n, long terms, const double *a, long ai, long ak,
                       const Ref *rb, const double *v, const double *start, long si, double *out,
                       long oi, int direct, double *scratch)
{
    const long most = terms < BLOCK_TERMS ? terms : BLOCK_TERMS, whole = n / LANES * LANES;
    double *left = scratch, *right = scratch + (m + 3) / 4 * 4 * most;
    for (long from = 0; from < terms; from += BLOCK_TERMS) {
        const long block = terms - from < BLOCK_TERMS ? terms - from : BLOCK_TERMS;
        const double *begin = from ? out : start;
        const long bi = from ? oi : si;
        ISA(Left) packed = {a + from * ak, ai, ak, 4 * ai};
        if (ak != 1) {
            ISA(pack_left)(packed.at, ai, ak, m, block, left);
            packed = (ISA(Left)){left, 1, 4, 4 * block};
        }
        for (long j = 0; j < whole;) {
            const long more = (whole - j) / LANES;
            const long vectors = more < WIDE_TILE ? more : WIDE_TILE, width = vectors * LANES;
            ISA(pack_right)(rb, v, j, width, from, block, right, width);
            ISA(packed_columns)((int)vectors, m, block, packed, right, begin ? begin + j : NULL, bi,
                                out + j, oi);
            j += width;
        }
        if (whole == n)
            continue;
        ISA(pack_right)(rb, v, whole, n - whole, from, block, right, LANES);
        const double *last = begin ? begin + whole : NULL;
        if (direct)
            ISA(last_columns)(n - whole, m, block, a + from * ak, ai, ak, right, LANES, last, bi,
                              out + whole, oi);
        else
            ISA(packed_columns)(1, m, block, packed, right, last, bi, out + whole, oi);
    }
}

#undef LARGE
#undef WIDE_TILE
