/* Sums and products over terms, and the largest of them, part of body.h. Either rows lie side by
   side and are added up in vectors, or four rows are taken at a time: their chains of additions,
   each of which waits for the one before, then overlap. */

/* Rows side by side in vectors. A(T), B(T): the factors of term t. */
#define ROWS_SUM(T)                                                        \
    do {                                                                   \
        long t = 0;                                                        \
        T total = TERM(T);                                                 \
        if (one)                                                           \
            total = *from + total;                                         \
        else if (from)                                                     \
            total = OF(T, from) + total;                                   \
        for (t = 1; t < terms; t++)                                        \
            total += TERM(T);                                              \
        AT(T, o) = total;                                                  \
    } while (0)

static int KERNEL(beside)(const Ref *r, int one)
{
    return r->form == AFFINE && (r->s1 == 1 || (one && r->s1 == 0));
}

static int KERNEL(by_rows)(const Code *c, double *v)
{
    const Ref *a = &c->r[1], *b = &c->r[c->kind == DOT ? 2 : 1];
    const Ref *start = c->refs > (c->kind == DOT ? 3 : 2) ? &c->r[c->refs - 1] : NULL;
    if (c->d1 < 2 || !KERNEL(beside)(&c->r[0], 0) || (start && !KERNEL(beside)(start, 1))
        || !KERNEL(beside)(a, 1) || !KERNEL(beside)(b, 1) || (a->s1 == 0 && b->s1 == 0))
        return 0;
    const long sa = a->s2, sb = b->s2, terms = c->d2;
    const int one = start && start->s1 == 0;
    for (long i0 = 0; i0 < c->d0; i0++) {
        double *o = v + KERNEL(start)(&c->r[0], c, i0, 0);
        const double *from = start ? v + KERNEL(start)(start, c, i0, 0) : NULL;
        const double *p = v + KERNEL(start)(a, c, i0, 0), *q = v + KERNEL(start)(b, c, i0, 0);
        if (c->kind == SUM) {
#define TERM(T) OF(T, p + t * sa)
            SWEEP(c->d1, ROWS_SUM);
#undef TERM
        } else if (a->s1 == 0) {
#define TERM(T) (p[t * sa] * OF(T, q + t * sb))
            SWEEP(c->d1, ROWS_SUM);
#undef TERM
        } else if (b->s1 == 0) {
#define TERM(T) (OF(T, p + t * sa) * q[t * sb])
            SWEEP(c->d1, ROWS_SUM);
#undef TERM
        } else {
#define TERM(T) (OF(T, p + t * sa) * OF(T, q + t * sb))
            SWEEP(c->d1, ROWS_SUM);
#undef TERM
        }
    }
    return 1;
}

/* `many` rows at once, 1 or 4, so that their chains of additions overlap. */
static ALWAYS void KERNEL(chains)(const int many, const int dot, long terms,
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
/* Four rows whose terms lie side by side, and come in fours: turned in registers, so that the four
   sums run in one vector. */
static ALWAYS void KERNEL(turned_chains)(const int dot, long terms, const double *const p[4],
                                         const double *const q[4], double *const o[4],
                                         const double *const from[4])
{
    typedef KERNEL(vec4) four;
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
static ALWAYS void KERNEL(total_rows)(const int many, const int dot, const Code *c, double *v,
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
        o[k] = v + KERNEL(start)(&c->r[0], c, *i0, *i1);
        p[k] = a->form == CELLS ? KERNEL(line)(a, c, v, *i0, *i1, 0, terms, scratch + k * terms)
                                : v + KERNEL(start)(a, c, *i0, *i1);
        q[k] = !dot ? p[k]
               : b->form == CELLS
                   ? KERNEL(line)(b, c, v, *i0, *i1, 0, terms, scratch + (4 + k) * terms)
                   : v + KERNEL(start)(b, c, *i0, *i1);
        from[k] = start ? v + KERNEL(start)(start, c, *i0, *i1) : NULL;
        if (++*i1 == c->d1)
            *i1 = 0, ++*i0;
    }
    if (sp != 1 || (dot && sq != 1))
        KERNEL(chains)(many, dot, terms, p, sp, q, sq, o, from);
#if defined(SHUFFLE) && LANES > 2
    else if (many == 4 && terms == 4)
        KERNEL(turned_chains)(dot, 4, p, q, o, from);
    else if (many == 4 && terms % 4 == 0)
        KERNEL(turned_chains)(dot, terms, p, q, o, from);
#endif
    else
        KERNEL(chains)(many, dot, terms, p, 1, q, 1, o, from);
}

static ALWAYS void KERNEL(total_of)(const int dot, const Code *c, double *v, double *scratch)
{
    const long rows = c->d0 * c->d1;
    long i0 = 0, i1 = 0, row = 0;
    for (; row + 4 <= rows; row += 4)
        KERNEL(total_rows)(4, dot, c, v, scratch, &i0, &i1);
    for (; row < rows; row++)
        KERNEL(total_rows)(1, dot, c, v, scratch, &i0, &i1);
}

static void KERNEL(total)(const Code *c, double *v, double *scratch)
{
    if (KERNEL(by_rows)(c, v))
        return;
    if (c->kind == DOT)
        KERNEL(total_of)(1, c, v, scratch);
    else
        KERNEL(total_of)(0, c, v, scratch);
}

static void KERNEL(largest)(const Code *c, double *v, double *scratch)
{
    const Ref *a = &c->r[1];
    const long s = a->form == CELLS ? 1 : a->s2;
    for (long i0 = 0; i0 < c->d0; i0++)
        for (long i1 = 0; i1 < c->d1; i1++) {
            const double *p = a->form == CELLS ? KERNEL(line)(a, c, v, i0, i1, 0, c->d2, scratch)
                                               : v + KERNEL(start)(a, c, i0, i1);
            double most = p[0];
            long place = 0;
            for (long t = 1; t < c->d2; t++) {
                const double x = p[t * s];
                if (x > most)
                    most = x, place = t;
            }
            v[KERNEL(start)(&c->r[0], c, i0, i1)] =
                c->kind == MAX ? most : (double)place;
        }
}

