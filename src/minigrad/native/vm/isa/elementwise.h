/* Arithmetic element by element, without kernels, part of body.h: = a, = -a, = a + b, = a - b,
   = a*b, += a, -= a, += a*b, and = number. */

#define EACH_BINARY(A, B)                                   \
    switch (op) {                                           \
    case ADD: SWEEP(n, EACH_ADD); break;                    \
    case SUB: SWEEP(n, EACH_SUB); break;                    \
    case MUL: SWEEP(n, EACH_MUL); break;                    \
    default: SWEEP(n, EACH_GAIN_MUL); break;                \
    }
#define EACH_COPY(T) AT(T, out) = OF(T, a)
#define EACH_NEG(T) AT(T, out) = -OF(T, a)
#define EACH_GAIN(T) AT(T, out) += OF(T, a)
#define EACH_LOSE(T) AT(T, out) -= OF(T, a)

/* out, a and b (not for unary ones) side by side */
static ALWAYS void KERNEL(each_flat)(int op, long n, double *out, const double *a, const double *b)
{
    switch (op) {
    case COPY: SWEEP(n, EACH_COPY); break;
    case NEG: SWEEP(n, EACH_NEG); break;
    case GAIN: SWEEP(n, EACH_GAIN); break;
    case LOSE: SWEEP(n, EACH_LOSE); break;
#define EACH_ADD(T) AT(T, out) = OF(T, a) + OF(T, b)
#define EACH_SUB(T) AT(T, out) = OF(T, a) - OF(T, b)
#define EACH_MUL(T) AT(T, out) = OF(T, a) * OF(T, b)
#define EACH_GAIN_MUL(T) AT(T, out) += OF(T, a) * OF(T, b)
    default: EACH_BINARY(a, b)
    }
#undef EACH_ADD
#undef EACH_SUB
#undef EACH_MUL
#undef EACH_GAIN_MUL
}

/* one factor the same for all */
static ALWAYS void KERNEL(each_left)(int op, long n, double *out, double x, const double *b)
{
#define EACH_ADD(T) AT(T, out) = x + OF(T, b)
#define EACH_SUB(T) AT(T, out) = x - OF(T, b)
#define EACH_MUL(T) AT(T, out) = x * OF(T, b)
#define EACH_GAIN_MUL(T) AT(T, out) += x * OF(T, b)
    EACH_BINARY(x, b)
#undef EACH_ADD
#undef EACH_SUB
#undef EACH_MUL
#undef EACH_GAIN_MUL
}

static ALWAYS void KERNEL(each_right)(int op, long n, double *out, const double *a, double x)
{
#define EACH_ADD(T) AT(T, out) = OF(T, a) + x
#define EACH_SUB(T) AT(T, out) = OF(T, a) - x
#define EACH_MUL(T) AT(T, out) = OF(T, a) * x
#define EACH_GAIN_MUL(T) AT(T, out) += OF(T, a) * x
    EACH_BINARY(a, x)
#undef EACH_ADD
#undef EACH_SUB
#undef EACH_MUL
#undef EACH_GAIN_MUL
}

static const int KERNEL(without_gain)[EACHES] = {
    [COPY] = COPY, [NEG] = NEG, [ADD] = ADD, [SUB] = SUB, [MUL] = MUL,
    [GAIN] = COPY, [LOSE] = NEG, [GAIN_MUL] = MUL,
};

/* Results that take terms from all turns of the middle loop: a vector of them at a time, in
   registers. Returns 0 if the operands do not lie for that. */
#define EACH_SUM(T)                                        \
    do {                                                   \
        T total = OF(T, z);                                \
        for (long t = 0; t < c->d1; t++)                   \
            total += TERM(T);                              \
        AT(T, z) = total;                                  \
    } while (0)

static int KERNEL(each_sum)(const Code *c, double *v, double *z)
{
    const Ref *out = &c->r[0], *a = &c->r[1], *b = &c->r[c->refs - 1];
    if (a->s2 == 0) { /* the factor that is one number comes second */
        const Ref *first = a;
        a = b, b = first;
    }
    if ((c->op != GAIN && c->op != GAIN_MUL) || c->d1 < 2 || c->d2 > CHUNK || out->form != AFFINE
        || out->s1 != 0 || out->s2 == 0 || a->form != AFFINE || b->form != AFFINE || a->s2 != 1
        || b->s2 > 1 || b->s2 < 0)
        return 0;
    const long sa = a->s1, sb = b->s1;
    for (long i0 = 0; i0 < c->d0; i0++) {
        double *o = v + out->base + i0 * out->s0;
        const double *p = v + a->base + i0 * a->s0, *q = v + b->base + i0 * b->s0;
        for (long k = 0; k < c->d2; k++)
            z[k] = o[k * out->s2];
        if (c->op == GAIN) {
#define TERM(T) OF(T, p + t * sa)
            SWEEP(c->d2, EACH_SUM);
#undef TERM
        } else if (b->s2 == 0) {
#define TERM(T) (OF(T, p + t * sa) * q[t * sb])
            SWEEP(c->d2, EACH_SUM);
#undef TERM
        } else {
#define TERM(T) (OF(T, p + t * sa) * OF(T, q + t * sb))
            SWEEP(c->d2, EACH_SUM);
#undef TERM
        }
        for (long k = 0; k < c->d2; k++)
            o[k * out->s2] = z[k];
    }
    return 1;
}

/* One result that takes all terms of the innermost loop. */
static ALWAYS void KERNEL(each_one)(int op, long n, double *o, const double *p, long sp,
                                    const double *q, long sq)
{
    double total = *o;
    if (op == GAIN)
        for (long e = 0; e < n; e++)
            total += p[e * sp];
    else if (op == LOSE)
        for (long e = 0; e < n; e++)
            total -= p[e * sp];
    else
        for (long e = 0; e < n; e++)
            total += p[e * sp] * q[e * sq];
    *o = total;
}

/* Short rows, of n elements, = or += one number times a row. */
static ALWAYS void KERNEL(each_short)(const int op, const int n, const Code *c, double *v,
                                      const Ref *x, const Ref *y)
{
    const Ref *out = &c->r[0];
    if (out->form == AFFINE && x->form == AFFINE && y->form == AFFINE) {
        for (long i0 = 0; i0 < c->d0; i0++) {
            double *o = v + out->base + i0 * out->s0;
            const double *p = v + x->base + i0 * x->s0, *q = v + y->base + i0 * y->s0;
            for (long i1 = 0; i1 < c->d1; i1++, o += out->s1, p += x->s1, q += y->s1)
                KERNEL(each_left)(op, n, o, *p, q);
        }
        return;
    }
    for (long i0 = 0; i0 < c->d0; i0++)
        for (long i1 = 0; i1 < c->d1; i1++)
            KERNEL(each_left)(op, n, v + KERNEL(start)(out, c, i0, i1),
                              v[KERNEL(start)(x, c, i0, i1)], v + KERNEL(start)(y, c, i0, i1));
}

/* One number for each row += the sum of products of two rows. */
static ALWAYS void KERNEL(each_scalar)(const int n, const Code *c, double *v)
{
    for (long i0 = 0; i0 < c->d0; i0++)
        for (long i1 = 0; i1 < c->d1; i1++)
            KERNEL(each_one)(GAIN_MUL, n, v + KERNEL(start)(&c->r[0], c, i0, i1),
                             v + KERNEL(start)(&c->r[1], c, i0, i1), 1,
                             v + KERNEL(start)(&c->r[2], c, i0, i1), 1);
}

static int KERNEL(each_shorts)(const Code *c, double *v)
{
    const Ref *out = &c->r[0], *a = &c->r[1], *b = &c->r[2];
    if ((c->op != GAIN_MUL && c->op != MUL) || (c->d2 != 4 && c->d2 != 8 && c->d2 != 16)
        || out->form == CELLS || a->form == CELLS || b->form == CELLS)
        return 0;
    if (c->op == GAIN_MUL && c->d2 < 16 && out->s2 == 0 && a->s2 == 1 && b->s2 == 1) {
        if (c->d2 == 4)
            KERNEL(each_scalar)(4, c, v);
        else
            KERNEL(each_scalar)(8, c, v);
        return 1;
    }
    if (out->s2 != 1 || a->s2 + b->s2 != 1 || a->s2 * b->s2 != 0)
        return 0;
    const Ref *x = a->s2 ? b : a, *y = a->s2 ? a : b;
    switch (c->d2 + (c->op == MUL)) {
    case 4: KERNEL(each_short)(GAIN_MUL, 4, c, v, x, y); break;
    case 5: KERNEL(each_short)(MUL, 4, c, v, x, y); break;
    case 8: KERNEL(each_short)(GAIN_MUL, 8, c, v, x, y); break;
    case 9: KERNEL(each_short)(MUL, 8, c, v, x, y); break;
    case 16: KERNEL(each_short)(GAIN_MUL, 16, c, v, x, y); break;
    default: KERNEL(each_short)(MUL, 16, c, v, x, y); break;
    }
    return 1;
}

/* Scattered results += products with scattered factors, or += numbers that lie evenly. */
static int KERNEL(each_scattered)(const Code *c, double *v)
{
    const Ref *out = &c->r[0], *a = &c->r[1], *b = &c->r[c->refs - 1];
    if ((c->op != GAIN && c->op != GAIN_MUL) || c->d0 * c->d1 != 1 || out->form != CELLS
        || a->form != AFFINE || (c->op == GAIN_MUL && b->form != CELLS))
        return 0;
    const double *p = v + a->base, *q = v + b->base;
    const int32_t *to = out->index, *from = b->index;
    double *o = v + out->base;
    const long n = c->d2, s = a->s2;
    if (c->op == GAIN)
        for (long e = 0; e < n; e++)
            o[to[e]] += p[e * s];
    else
        for (long e = 0; e < n; e++)
            o[to[e]] += p[e * s] * q[from[e]];
    return 1;
}

static void KERNEL(each)(const Code *c, double *v, double *scratch)
{
    if (KERNEL(each_sum)(c, v, scratch) || KERNEL(each_shorts)(c, v)
        || KERNEL(each_scattered)(c, v))
        return;
    const Ref *out = &c->r[0], *a = &c->r[1], *b = &c->r[c->refs - 1];
    const int op = c->op, binary = c->refs == 3;
    const long n = c->d2;
    const int direct = out->form != CELLS && out->s2 == 1;
    const int a_flat = a->form != CELLS && a->s2 == 1, a_one = a->form != CELLS && a->s2 == 0;
    const int b_flat = b->form != CELLS && b->s2 == 1, b_one = b->form != CELLS && b->s2 == 0;
    const int one = op >= GAIN && out->s2 == 0 && out->form != CELLS && a->form != CELLS
                    && b->form != CELLS;
    double *x = scratch, *y = scratch + CHUNK, *z = scratch + 2 * CHUNK;
    for (long i0 = 0; i0 < c->d0; i0++)
        for (long i1 = 0; i1 < c->d1; i1++) {
            if (one) {
                KERNEL(each_one)(op, n, v + KERNEL(start)(out, c, i0, i1),
                                 v + KERNEL(start)(a, c, i0, i1), a->s2,
                                 v + KERNEL(start)(b, c, i0, i1), b->s2);
                continue;
            }
            if (direct) {
                double *o = v + KERNEL(start)(out, c, i0, i1);
                const double *p = v + KERNEL(start)(a, c, i0, i1);
                const double *q = v + KERNEL(start)(b, c, i0, i1);
                if (a_flat && b_flat) {
                    KERNEL(each_flat)(op, n, o, p, q);
                    continue;
                }
                if (binary && a_one && b_flat) {
                    KERNEL(each_left)(op, n, o, *p, q);
                    continue;
                }
                if (binary && a_flat && b_one) {
                    KERNEL(each_right)(op, n, o, p, *q);
                    continue;
                }
            }
            for (long from = 0; from < n; from += CHUNK) {
                const long m = n - from < CHUNK ? n - from : CHUNK;
                const double *p = KERNEL(line)(a, c, v, i0, i1, from, m, x);
                const double *q = binary ? KERNEL(line)(b, c, v, i0, i1, from, m, y) : p;
                if (direct) {
                    KERNEL(each_flat)(op, m, v + KERNEL(start)(out, c, i0, i1) + from, p, q);
                    continue;
                }
                const int plain = KERNEL(without_gain)[op];
                if (plain != COPY) {
                    KERNEL(each_flat)(plain, m, z, p, q);
                    p = z;
                }
                KERNEL(spread)(out, c, v, i0, i1, from, m, p, op >= GAIN);
            }
        }
}

static void KERNEL(fill)(const Code *c, double *v)
{
    const Ref *out = &c->r[0];
    for (long i0 = 0; i0 < c->d0; i0++)
        for (long i1 = 0; i1 < c->d1; i1++) {
            double *o = v + KERNEL(start)(out, c, i0, i1);
            if (out->form == CELLS)
                for (long e = 0; e < c->d2; e++)
                    v[out->base + out->index[(i0 * c->d1 + i1) * c->d2 + e]] = c->number;
            else if (out->s2 == 1)
                KERNEL(splat)(o, c->number, c->d2);
            else
                for (long e = 0; e < c->d2; e++)
                    o[e * out->s2] = c->number;
        }
}

