/* Large products of matrices, part of matrix.h: both factors are packed, a block of terms at a time.

   A tile reads four rows of a and a few vectors of b, term after term. In a large matrix these lie
   far apart, and neither stays near the processor until its next use. So a block of terms of a is
   packed in groups of four rows, and of b in groups of as many columns as a tile has. The sums of a
   block go on from those of the block before: every sum is added in the order of its terms. */

#define LARGE 200000.0 /* multiplications that are worth it */

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
        for (long e = 0; e < rows; e++)
            for (long k = 0; k < terms; k++)
                out[4 * k + e] = a[(i + e) * ai + k * ak];
    }
}

/* out[k*width + j] = b(first + j, k), a few columns of one block. */
static void ISA(pack_right)(const Ref *b, const double *v, long first, long count, long from,
                            long terms, double *out, long width)
{
    Ref part = *b;
    part.base += from * b->s2;
    if (b->s0 != 1 || count < width) {
        ISA(pack_transposed)(&part, v, first, count, terms, out, width);
        return;
    }
    for (long k = 0; k < terms; k++)
        memcpy(out + k * width, v + part.base + first + k * b->s2, width * sizeof(double));
}

static ALWAYS void ISA(packed_column)(const int vectors, long m, long terms, const double *a,
                                      const double *b, const double *start, long si, double *out,
                                      long oi)
{
    const long width = vectors * LANES;
    long i = 0;
    for (; i + 4 <= m; i += 4)
        ISA(tile)(4, vectors, terms, a + i * terms, 1, 4, b, width,
                  start ? start + i * si : NULL, si, out + i * oi, oi);
    a += i * terms;
    for (; i < m; i++, a++)
        ISA(tile)(1, vectors, terms, a, 1, 4, b, width, start ? start + i * si : NULL, si,
                  out + i * oi, oi);
}

static void ISA(packed_columns)(int vectors, long m, long terms, const double *a, const double *b,
                                const double *start, long si, double *out, long oi)
{
    switch (vectors) {
    case 1: ISA(packed_column)(1, m, terms, a, b, start, si, out, oi); break;
    case 2: ISA(packed_column)(2, m, terms, a, b, start, si, out, oi); break;
#if TILE_VECTORS > 2
    case 3: ISA(packed_column)(3, m, terms, a, b, start, si, out, oi); break;
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
        ISA(pack_left)(a + from * ak, ai, ak, m, block, left);
        for (long j = 0; j < whole;) {
            const long more = (whole - j) / LANES;
            const long vectors = more < TILE_VECTORS ? more : TILE_VECTORS, width = vectors * LANES;
            ISA(pack_right)(rb, v, j, width, from, block, right, width);
            ISA(packed_columns)((int)vectors, m, block, left, right, begin ? begin + j : NULL, bi,
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
            ISA(packed_columns)(1, m, block, left, right, last, bi, out + whole, oi);
    }
}

#undef LARGE
