/* Arithmetic element by element, without kernels, part of body.h: = a, = -a, = a + b, = a - b,
   = a*b, += a, -= a, += a*b, and = number. */

#define BINARY_CASES(left, right)                           \
    case ADD: SWEEP(n, AT(out) = left + right); break;      \
    case SUB: SWEEP(n, AT(out) = left - right); break;      \
    case MUL: SWEEP(n, AT(out) = left * right); break;      \
    default: SWEEP(n, AT(out) += left * right); break

/* All operands contiguous; b is not read by unary operations. */
static ALWAYS void ISA(elementwise_flat)(int op, long n, double *out, const double *a,
                                         const double *b)
{
    switch (op) {
    case COPY: SWEEP(n, AT(out) = OF(a)); break;
    case NEG: SWEEP(n, AT(out) = -OF(a)); break;
    case ADD_TO: SWEEP(n, AT(out) += OF(a)); break;
    case SUB_FROM: SWEEP(n, AT(out) -= OF(a)); break;
    BINARY_CASES(OF(a), OF(b));
    }
}

/* One operand a scalar: the left, or the right. */
static ALWAYS void ISA(elementwise_left)(int op, long n, double *out, double x, const double *b)
{
    switch (op) {
    BINARY_CASES(x, OF(b));
    }
}

static ALWAYS void ISA(elementwise_right)(int op, long n, double *out, const double *a, double x)
{
    switch (op) {
    BINARY_CASES(OF(a), x);
    }
}

static const int ISA(without_add)[ELEMENTWISE_OPS] = {
    [COPY] = COPY, [NEG] = NEG, [ADD] = ADD, [SUB] = SUB, [MUL] = MUL,
    [ADD_TO] = COPY, [SUB_FROM] = NEG, [MUL_ADD_TO] = MUL,
};

/* Results that take terms from all turns of the middle loop: a vector of them at a time, in
   registers. Returns 0 if the operands have other strides. */
#define ELEMENTWISE_SUM(TERM_T)                            \
    do {                                                   \
        T total = OF(z);                                   \
        for (long t = 0; t < c->d1; t++)                   \
            total += TERM_T;                               \
        AT(z) = total;                                     \
    } while (0)

static int ISA(elementwise_sum)(const Instruction *c, double *v, double *z)
{
    const Ref *out = &c->r[0], *a = &c->r[1], *b = &c->r[c->refs - 1];
    if (a->s2 == 0) { /* the factor that is one number comes second */
        const Ref *first = a;
        a = b, b = first;
    }
    if ((c->op != ADD_TO && c->op != MUL_ADD_TO) || c->d1 < 2 || c->d2 > CHUNK
        || out->form != AFFINE || out->s1 != 0 || out->s2 == 0 || a->form != AFFINE
        || b->form != AFFINE || a->s2 != 1 || b->s2 > 1 || b->s2 < 0)
        return 0;
    const long sa = a->s1, sb = b->s1;
    for (long i0 = 0; i0 < c->d0; i0++) {
        double *o = v + out->base + i0 * out->s0;
        const double *p = v + a->base + i0 * a->s0, *q = v + b->base + i0 * b->s0;
        for (long k = 0; k < c->d2; k++)
            z[k] = o[k * out->s2];
        if (c->op == ADD_TO)
            SWEEP(c->d2, ELEMENTWISE_SUM(TERM));
        else if (b->s2 == 0)
            SWEEP(c->d2, ELEMENTWISE_SUM(TERM_BY_SCALAR));
        else
            SWEEP(c->d2, ELEMENTWISE_SUM(TERM_BY_TERM));
        for (long k = 0; k < c->d2; k++)
            o[k * out->s2] = z[k];
    }
    return 1;
}

/* One result that takes all terms of the innermost loop. */
static ALWAYS void ISA(elementwise_reduce)(int op, long n, double *o, const double *p, long sp,
                                           const double *q, long sq)
{
    double total = *o;
    if (op == ADD_TO)
        for (long e = 0; e < n; e++)
            total += p[e * sp];
    else if (op == SUB_FROM)
        for (long e = 0; e < n; e++)
            total -= p[e * sp];
    else
        for (long e = 0; e < n; e++)
            total += p[e * sp] * q[e * sq];
    *o = total;
}

/* Rows of n elements, a constant, = or += one number times a row. */
static ALWAYS void ISA(elementwise_small)(const int op, const int n, const Instruction *c,
                                          double *v, const Ref *x, const Ref *y)
{
    const Ref *out = &c->r[0];
    if (out->form == AFFINE && x->form == AFFINE && y->form == AFFINE) {
        for (long i0 = 0; i0 < c->d0; i0++) {
            double *o = v + out->base + i0 * out->s0;
            const double *p = v + x->base + i0 * x->s0, *q = v + y->base + i0 * y->s0;
            for (long i1 = 0; i1 < c->d1; i1++, o += out->s1, p += x->s1, q += y->s1)
                ISA(elementwise_left)(op, n, o, *p, q);
        }
        return;
    }
    for (long i0 = 0; i0 < c->d0; i0++)
        for (long i1 = 0; i1 < c->d1; i1++)
            ISA(elementwise_left)(op, n, v + ISA(start)(out, c, i0, i1),
                                  v[ISA(start)(x, c, i0, i1)], v + ISA(start)(y, c, i0, i1));
}

/* One number for each row += the sum of products of two rows. */
static ALWAYS void ISA(elementwise_small_dots)(const int n, const Instruction *c, double *v)
{
    for (long i0 = 0; i0 < c->d0; i0++)
        for (long i1 = 0; i1 < c->d1; i1++)
            ISA(elementwise_reduce)(MUL_ADD_TO, n, v + ISA(start)(&c->r[0], c, i0, i1),
                                    v + ISA(start)(&c->r[1], c, i0, i1), 1,
                                    v + ISA(start)(&c->r[2], c, i0, i1), 1);
}

static int ISA(elementwise_small_rows)(const Instruction *c, double *v)
{
    const Ref *out = &c->r[0], *a = &c->r[1], *b = &c->r[2];
    if ((c->op != MUL_ADD_TO && c->op != MUL) || (c->d2 != 4 && c->d2 != 8 && c->d2 != 16)
        || out->form == CELLS || a->form == CELLS || b->form == CELLS)
        return 0;
    if (c->op == MUL_ADD_TO && c->d2 < 16 && out->s2 == 0 && a->s2 == 1 && b->s2 == 1) {
        if (c->d2 == 4)
            ISA(elementwise_small_dots)(4, c, v);
        else
            ISA(elementwise_small_dots)(8, c, v);
        return 1;
    }
    if (out->s2 != 1 || a->s2 + b->s2 != 1 || a->s2 * b->s2 != 0)
        return 0;
    const Ref *x = a->s2 ? b : a, *y = a->s2 ? a : b;
    switch (c->d2 + (c->op == MUL)) {
    case 4: ISA(elementwise_small)(MUL_ADD_TO, 4, c, v, x, y); break;
    case 5: ISA(elementwise_small)(MUL, 4, c, v, x, y); break;
    case 8: ISA(elementwise_small)(MUL_ADD_TO, 8, c, v, x, y); break;
    case 9: ISA(elementwise_small)(MUL, 8, c, v, x, y); break;
    case 16: ISA(elementwise_small)(MUL_ADD_TO, 16, c, v, x, y); break;
    default: ISA(elementwise_small)(MUL, 16, c, v, x, y); break;
    }
    return 1;
}

/* Scattered results += products with scattered factors, or += numbers with a stride. */
static int ISA(elementwise_scatter)(const Instruction *c, double *v)
{
    const Ref *out = &c->r[0], *a = &c->r[1], *b = &c->r[c->refs - 1];
    if ((c->op != ADD_TO && c->op != MUL_ADD_TO) || c->d0 * c->d1 != 1 || out->form != CELLS
        || a->form != AFFINE || (c->op == MUL_ADD_TO && b->form != CELLS))
        return 0;
    const double *p = v + a->base, *q = v + b->base;
    const int32_t *to = out->index, *from = b->index;
    double *o = v + out->base;
    const long n = c->d2, s = a->s2;
    if (c->op == ADD_TO)
        for (long e = 0; e < n; e++)
            o[to[e]] += p[e * s];
    else
        for (long e = 0; e < n; e++)
            o[to[e]] += p[e * s] * q[from[e]];
    return 1;
}

static void ISA(elementwise)(const Instruction *c, double *v, double *scratch)
{
    if (ISA(elementwise_sum)(c, v, scratch) || ISA(elementwise_small_rows)(c, v)
        || ISA(elementwise_scatter)(c, v))
        return;
    const Ref *out = &c->r[0], *a = &c->r[1], *b = &c->r[c->refs - 1];
    const int op = c->op, binary = c->refs == 3;
    const long n = c->d2;
    const int direct = out->form != CELLS && out->s2 == 1;
    const int a_flat = a->form != CELLS && a->s2 == 1, a_one = a->form != CELLS && a->s2 == 0;
    const int b_flat = b->form != CELLS && b->s2 == 1, b_one = b->form != CELLS && b->s2 == 0;
    const int one = op >= ADD_TO && out->s2 == 0 && out->form != CELLS && a->form != CELLS
                    && b->form != CELLS;
    double *x = scratch, *y = scratch + CHUNK, *z = scratch + 2 * CHUNK;
    for (long i0 = 0; i0 < c->d0; i0++)
        for (long i1 = 0; i1 < c->d1; i1++) {
            if (one) {
                ISA(elementwise_reduce)(op, n, v + ISA(start)(out, c, i0, i1),
                                        v + ISA(start)(a, c, i0, i1), a->s2,
                                        v + ISA(start)(b, c, i0, i1), b->s2);
                continue;
            }
            if (direct) {
                double *o = v + ISA(start)(out, c, i0, i1);
                const double *p = v + ISA(start)(a, c, i0, i1);
                const double *q = v + ISA(start)(b, c, i0, i1);
                if (a_flat && b_flat) {
                    ISA(elementwise_flat)(op, n, o, p, q);
                    continue;
                }
                if (binary && a_one && b_flat) {
                    ISA(elementwise_left)(op, n, o, *p, q);
                    continue;
                }
                if (binary && a_flat && b_one) {
                    ISA(elementwise_right)(op, n, o, p, *q);
                    continue;
                }
            }
            for (long from = 0; from < n; from += CHUNK) {
                const long m = n - from < CHUNK ? n - from : CHUNK;
                const double *p = ISA(gather)(a, c, v, i0, i1, from, m, x);
                const double *q = binary ? ISA(gather)(b, c, v, i0, i1, from, m, y) : p;
                if (direct) {
                    ISA(elementwise_flat)(op, m, v + ISA(start)(out, c, i0, i1) + from, p, q);
                    continue;
                }
                const int plain = ISA(without_add)[op];
                if (plain != COPY) {
                    ISA(elementwise_flat)(plain, m, z, p, q);
                    p = z;
                }
                ISA(scatter)(out, c, v, i0, i1, from, m, p, op >= ADD_TO);
            }
        }
}

static void ISA(fill)(const Instruction *c, double *v)
{
    const Ref *out = &c->r[0];
    for (long i0 = 0; i0 < c->d0; i0++)
        for (long i1 = 0; i1 < c->d1; i1++)
            if (out->form != CELLS && out->s2 == 1)
                ISA(splat)(v + ISA(start)(out, c, i0, i1), c->number, c->d2);
            else
                for (long i2 = 0; i2 < c->d2; i2++)
                    v[ISA(cell)(out, c, i0, i1, i2)] = c->number;
}
