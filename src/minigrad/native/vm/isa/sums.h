/* Sums and products over terms, and the largest of them, part of body.h. Either rows are
   contiguous and are added up in vectors, or four rows are taken at a time: their chains of
   dependent additions then overlap. */

/* Contiguous rows, in vectors. */
#define ROWS_SUM(TERM_T)                                                   \
    do {                                                                   \
        long t = 0;                                                        \
        T total = TERM_T;                                                  \
        if (one)                                                           \
            total = *from + total;                                         \
        else if (from)                                                     \
            total = OF(from) + total;                                      \
        for (t = 1; t < terms; t++)                                        \
            total += TERM_T;                                               \
        AT(o) = total;                                                     \
    } while (0)

static int ISA(contiguous)(const Ref *r, int one)
{
    return r->form == AFFINE && (r->s1 == 1 || (one && r->s1 == 0));
}

static int ISA(by_rows)(const Instruction *c, double *v)
{
    const Ref *a = &c->r[1], *b = &c->r[c->kind == DOT ? 2 : 1];
    const Ref *start = c->refs > (c->kind == DOT ? 3 : 2) ? &c->r[c->refs - 1] : NULL;
    if (c->d1 < 2 || !ISA(contiguous)(&c->r[0], 0) || (start && !ISA(contiguous)(start, 1))
        || !ISA(contiguous)(a, 1) || !ISA(contiguous)(b, 1) || (a->s1 == 0 && b->s1 == 0))
        return 0;
    const long sa = a->s2, sb = b->s2, terms = c->d2;
    const int one = start && start->s1 == 0;
    for (long i0 = 0; i0 < c->d0; i0++) {
        double *o = v + ISA(start)(&c->r[0], c, i0, 0);
        const double *from = start ? v + ISA(start)(start, c, i0, 0) : NULL;
        const double *p = v + ISA(start)(a, c, i0, 0), *q = v + ISA(start)(b, c, i0, 0);
        if (c->kind == SUM)
            SWEEP(c->d1, ROWS_SUM(TERM));
        else if (a->s1 == 0)
            SWEEP(c->d1, ROWS_SUM(SCALAR_BY_TERM));
        else if (b->s1 == 0)
            SWEEP(c->d1, ROWS_SUM(TERM_BY_SCALAR));
        else
            SWEEP(c->d1, ROWS_SUM(TERM_BY_TERM));
    }
    return 1;
}

/* `many` rows at once, 1 or 4, so that their chains of additions overlap. */
static ALWAYS void ISA(chains)(const int many, const int dot, long terms,
                               const double *const p[4], long sp, const double *const q[4],
                               long sq, double *const o[4], const double *const from[4])
{
    double sum[4];
#pragma GCC unroll 4
    for (int k = 0; k < many; k++) {
        sum[k] = dot ? p[k][0] * q[k][0] : p[k][0];
        if (from[k])
            sum[k] = *from[k] + sum[k];
    }
    for (long t = 1; t < terms; t++)
#pragma GCC unroll 4
        for (int k = 0; k < many; k++)
            sum[k] += dot ? p[k][t * sp] * q[k][t * sq] : p[k][t * sp];
#pragma GCC unroll 4
    for (int k = 0; k < many; k++)
        *o[k] = sum[k];
}

#if defined(SHUFFLE) && LANES > 2
/* Four rows whose terms are contiguous, and come in fours: transposed in registers, so that the
   four sums run in one vector. */
static ALWAYS void ISA(transposed_chains)(const int dot, long terms, const double *const p[4],
                                          const double *const q[4], double *const o[4],
                                          const double *const from[4])
{
    typedef ISA(vec4) four;
    four sum = {0};
    if (from[0])
        sum = (four){*from[0], *from[1], *from[2], *from[3]};
    for (long t = 0; t < terms; t += 4) {
        four x0 = *(const four *)(p[0] + t), x1 = *(const four *)(p[1] + t);
        four x2 = *(const four *)(p[2] + t), x3 = *(const four *)(p[3] + t);
        if (dot) {
            x0 *= *(const four *)(q[0] + t), x1 *= *(const four *)(q[1] + t);
            x2 *= *(const four *)(q[2] + t), x3 *= *(const four *)(q[3] + t);
        }
        const four y0 = SHUFFLE(x0, x1, 0, 4, 2, 6), y1 = SHUFFLE(x0, x1, 1, 5, 3, 7);
        const four y2 = SHUFFLE(x2, x3, 0, 4, 2, 6), y3 = SHUFFLE(x2, x3, 1, 5, 3, 7);
        const four z0 = SHUFFLE(y0, y2, 0, 1, 4, 5), z1 = SHUFFLE(y1, y3, 0, 1, 4, 5);
        const four z2 = SHUFFLE(y0, y2, 2, 3, 6, 7), z3 = SHUFFLE(y1, y3, 2, 3, 6, 7);
        if (t == 0 && !from[0])
            sum = z0;
        else
            sum += z0;
        sum = ((sum + z1) + z2) + z3;
    }
    *o[0] = sum[0], *o[1] = sum[1], *o[2] = sum[2], *o[3] = sum[3];
}
#endif

/* The rows from (i0, i1) on. */
static ALWAYS void ISA(total_rows)(const int many, const int dot, const Instruction *c, double *v,
                                   double *scratch, long *i0, long *i1)
{
    const Ref *a = &c->r[1], *b = &c->r[dot ? 2 : 1];
    const Ref *start = c->refs > 2 + dot ? &c->r[c->refs - 1] : NULL;
    const long terms = c->d2;
    const long sp = a->form == CELLS ? 1 : a->s2, sq = b->form == CELLS ? 1 : b->s2;
    const double *p[4], *q[4], *from[4];
    double *o[4];
#pragma GCC unroll 4
    for (int k = 0; k < many; k++) {
        o[k] = v + ISA(start)(&c->r[0], c, *i0, *i1);
        p[k] = a->form == CELLS ? ISA(gather)(a, c, v, *i0, *i1, 0, terms, scratch + k * terms)
                                : v + ISA(start)(a, c, *i0, *i1);
        q[k] = !dot ? p[k]
               : b->form == CELLS
                   ? ISA(gather)(b, c, v, *i0, *i1, 0, terms, scratch + (4 + k) * terms)
                   : v + ISA(start)(b, c, *i0, *i1);
        from[k] = start ? v + ISA(start)(start, c, *i0, *i1) : NULL;
        if (++*i1 == c->d1)
            *i1 = 0, ++*i0;
    }
    if (sp != 1 || (dot && sq != 1))
        ISA(chains)(many, dot, terms, p, sp, q, sq, o, from);
#if defined(SHUFFLE) && LANES > 2
    else if (many == 4 && terms == 4)
        ISA(transposed_chains)(dot, 4, p, q, o, from);
    else if (many == 4 && terms % 4 == 0)
        ISA(transposed_chains)(dot, terms, p, q, o, from);
#endif
    else
        ISA(chains)(many, dot, terms, p, 1, q, 1, o, from);
}

static ALWAYS void ISA(total_of)(const int dot, const Instruction *c, double *v, double *scratch)
{
    const long rows = c->d0 * c->d1;
    long i0 = 0, i1 = 0, row = 0;
    for (; row + 4 <= rows; row += 4)
        ISA(total_rows)(4, dot, c, v, scratch, &i0, &i1);
    for (; row < rows; row++)
        ISA(total_rows)(1, dot, c, v, scratch, &i0, &i1);
}

static void ISA(total)(const Instruction *c, double *v, double *scratch)
{
    if (ISA(by_rows)(c, v))
        return;
    if (c->kind == DOT)
        ISA(total_of)(1, c, v, scratch);
    else
        ISA(total_of)(0, c, v, scratch);
}

static void ISA(largest)(const Instruction *c, double *v, double *scratch)
{
    const Ref *a = &c->r[1];
    const long s = a->form == CELLS ? 1 : a->s2;
    for (long i0 = 0; i0 < c->d0; i0++)
        for (long i1 = 0; i1 < c->d1; i1++) {
            const double *p = a->form == CELLS ? ISA(gather)(a, c, v, i0, i1, 0, c->d2, scratch)
                                               : v + ISA(start)(a, c, i0, i1);
            double most = p[0];
            long place = 0;
            for (long t = 1; t < c->d2; t++) {
                const double x = p[t * s];
                if (x > most)
                    most = x, place = t;
            }
            v[ISA(start)(&c->r[0], c, i0, i1)] =
                c->kind == MAX ? most : (double)place;
        }
}

