/* The machine for many rows of data at once, part of body.h: slot s is the `lanes` numbers from
   v + s*lanes on, one per row, and whatever happens to an element happens to all its lanes.

   Included twice: for REAL a double, and for REAL a float, in vectors of twice as many. LANE gives
   functions their names. Lanes are a multiple of LANE_BYTES, so that there are always whole vectors,
   several of which the compiler writes out: a word has no more than a few of them. */

#define VECTORS(n, ...)                                                    \
    do {                                                                   \
        typedef LANE(vec) T;                                               \
        const long piece = LANE_BYTES / sizeof(REAL);                      \
        for (long to = 0; to < (n); to += piece)                           \
            for (long e = to; e < to + piece; e += 8 * LANES / sizeof(REAL)) \
                __VA_ARGS__;                                               \
    } while (0)

static ALWAYS REAL *LANE(lane)(const Ref *r, const Instruction *c, REAL *v, long lanes, long i0,
                                long i1, long i2)
{
    return v + ISA(cell)(r, c, i0, i1, i2) * lanes;
}

/* Where term t of a factor lies: `terms` apart by `stride`, or one by one in `index`. */
typedef struct {
    const REAL *first;
    long stride;
    const int32_t *index;
} LANE(Terms);

static ALWAYS LANE(Terms) LANE(terms_of)(const Ref *r, const REAL *v, long lanes, long row,
                                       long slot, long terms)
{
    if (r->form == CELLS)
        return (LANE(Terms)){v + r->base * lanes, 0, r->index + row * terms};
    return (LANE(Terms)){v + slot * lanes, r->s2 * lanes, NULL};
}

#define LANE_TERM(x) OF((x)->first + ((x)->index ? (x)->index[t] * lanes : t * (x)->stride))
#define LANE_SUM(TERM_T)                                                   \
    do {                                                                   \
        long t = 0;                                                        \
        T total;                                                           \
        if (start)                                                         \
            total = OF(start);                                             \
        else                                                               \
            total = TERM_T, t = 1;                                         \
        for (; t < terms; t++)                                             \
            total += TERM_T;                                               \
        if (adds)                                                          \
            AT(out) += total;                                              \
        else                                                               \
            AT(out) = total;                                               \
    } while (0)

static void LANE(lanes_sum)(long lanes, long terms, REAL *out, const REAL *start,
                           const LANE(Terms) *a, const LANE(Terms) *b, int adds)
{
    if (b)
        VECTORS(lanes, LANE_SUM(LANE_TERM(a) * LANE_TERM(b)));
    else
        VECTORS(lanes, LANE_SUM(LANE_TERM(a)));
}

static void LANE(lanes_total)(const Instruction *c, REAL *v, long lanes)
{
    const int dot = c->kind == DOT;
    const Ref *from = c->refs > 2 + dot ? &c->r[c->refs - 1] : NULL;
    for (long i0 = 0; i0 < c->d0; i0++)
        for (long i1 = 0; i1 < c->d1; i1++) {
            const long row = i0 * c->d1 + i1;
            const Ref *ra = &c->r[1], *rb = &c->r[2];
            const LANE(Terms) a =
                LANE(terms_of)(ra, v, lanes, row, ISA(start)(ra, c, i0, i1), c->d2);
            const LANE(Terms) b =
                dot ? LANE(terms_of)(rb, v, lanes, row, ISA(start)(rb, c, i0, i1), c->d2) : a;
            LANE(lanes_sum)(lanes, c->d2, v + ISA(start)(&c->r[0], c, i0, i1) * lanes,
                           from ? v + ISA(start)(from, c, i0, i1) * lanes : NULL, &a,
                           dot ? &b : NULL, 0);
        }
}

/* Four results that share a factor: it is read once for all of them. */
#define LANE_TILE                                                          \
    do {                                                                   \
        T x = OF(a);                                                       \
        T sum0 = x * OF(b[0]), sum1 = x * OF(b[1]);                        \
        T sum2 = x * OF(b[2]), sum3 = x * OF(b[3]);                        \
        if (start[0]) {                                                    \
            sum0 = OF(start[0]) + sum0, sum1 = OF(start[1]) + sum1;        \
            sum2 = OF(start[2]) + sum2, sum3 = OF(start[3]) + sum3;        \
        }                                                                  \
        for (long t = 1; t < terms; t++) {                                 \
            x = OF(a + t * sa);                                            \
            sum0 += x * OF(b[0] + t * sb), sum1 += x * OF(b[1] + t * sb);  \
            sum2 += x * OF(b[2] + t * sb), sum3 += x * OF(b[3] + t * sb);  \
        }                                                                  \
        AT(out[0]) = sum0, AT(out[1]) = sum1;                              \
        AT(out[2]) = sum2, AT(out[3]) = sum3;                              \
    } while (0)

static void LANE(lanes_tile)(long lanes, long terms, REAL *const out[4],
                            const REAL *const start[4], const REAL *a, long sa,
                            const REAL *const b[4], long sb)
{
    VECTORS(lanes, LANE_TILE);
}

static void LANE(lanes_mm)(const Instruction *c, REAL *v, long lanes)
{
    const Ref *ra = &c->r[1], *rb = &c->r[2], *ro = &c->r[0];
    const Ref *rs = c->refs == 4 ? &c->r[3] : c->flags & (STORES | REPEATS) ? NULL : ro;
    const int tiles = ra->form != CELLS && rb->form != CELLS && !(c->flags & REPEATS);
    for (long i = 0; i < c->d0; i++)
        for (long j = 0; j < c->d1; j++) {
            if (tiles && j + 4 <= c->d1) {
                REAL *out[4];
                const REAL *start[4], *b[4];
                for (int k = 0; k < 4; k++) {
                    out[k] = v + ISA(grid_slot)(ro, c->d1, i, j + k) * lanes;
                    start[k] = rs ? v + ISA(grid_slot)(rs, c->d1, i, j + k) * lanes : NULL;
                    b[k] = v + ISA(row_start)(rb, j + k, c->d2) * lanes;
                }
                const REAL *a = v + ISA(row_start)(ra, i, c->d2) * lanes;
                LANE(lanes_tile)(lanes, c->d2, out, start, a, ra->s2 * lanes, b, rb->s2 * lanes);
                j += 3;
                continue;
            }
            const LANE(Terms) a =
                LANE(terms_of)(ra, v, lanes, i, ISA(row_start)(ra, i, c->d2), c->d2);
            const LANE(Terms) b =
                LANE(terms_of)(rb, v, lanes, j, ISA(row_start)(rb, j, c->d2), c->d2);
            LANE(lanes_sum)(lanes, c->d2, v + ISA(grid_slot)(ro, c->d1, i, j) * lanes,
                           rs ? v + ISA(grid_slot)(rs, c->d1, i, j) * lanes : NULL, &a, &b,
                           (c->flags & REPEATS) != 0);
        }
}

static void LANE(lanes_largest)(const Instruction *c, REAL *v, long lanes, REAL *scratch)
{
    REAL *most = scratch;
    for (long i0 = 0; i0 < c->d0; i0++)
        for (long i1 = 0; i1 < c->d1; i1++) {
            REAL *place = v + ISA(start)(&c->r[0], c, i0, i1) * lanes;
            for (long t = 0; t < c->d2; t++) {
                const REAL *x = LANE(lane)(&c->r[1], c, v, lanes, i0, i1, t);
                for (long e = 0; e < lanes; e++) {
                    const int more = t == 0 || x[e] > most[e];
                    most[e] = more ? x[e] : most[e];
                    place[e] = more ? (REAL)t : place[e];
                }
            }
            for (long e = 0; e < lanes; e++)
                place[e] = c->kind == MAX ? most[e] : place[e];
        }
}

/* The row that the program computed an index of; -1, and what is wrong, if there is none. */
static ALWAYS long LANE(checked_row)(double index, const Instruction *c, Fault *fault)
{
    const long rows = c->d2;
    if (index >= -(double)rows && index < (double)rows && index == (double)(long)index)
        return index < 0 ? (long)index + rows : (long)index;
    *fault = (Fault){c->kind, index, rows};
    return -1;
}

static ALWAYS int LANE(lanes_indexed)(const Instruction *c, REAL *v, const long lanes,
                                     Fault *fault)
{
    for (long i0 = 0; i0 < c->d0; i0++)
        for (long i1 = 0; i1 < c->d1; i1++) {
            const REAL *index = v + ISA(start)(&c->r[2], c, i0, i1) * lanes;
            for (long e = 0; e < lanes; e++) {
                const long t = LANE(checked_row)(index[e], c, fault);
                if (t < 0)
                    return -1;
                if (c->kind == PUT) {
                    LANE(lane)(&c->r[0], c, v, lanes, i0, i1, t)[e] +=
                        v[ISA(start)(&c->r[1], c, i0, i1) * lanes + e];
                    continue;
                }
                const REAL x = LANE(lane)(&c->r[1], c, v, lanes, i0, i1, t)[e];
                REAL *o = v + ISA(start)(&c->r[0], c, i0, i1) * lanes + e;
                *o = c->kind == TAKE || c->flags & STORES ? x : *o + x;
            }
        }
    return 0;
}

/* What has more to do for an element than a word can say. */
static __attribute__((noinline)) int LANE(lanes_general)(const Instruction *c, REAL *v, long lanes,
                                                        REAL *scratch, Fault *fault)
{
    switch (c->kind) {
    case SUM:
    case DOT: LANE(lanes_total)(c, v, lanes); break;
    case MM: LANE(lanes_mm)(c, v, lanes); break;
    case MAX:
    case ARGMAX: LANE(lanes_largest)(c, v, lanes, scratch); break;
    default: return LANE(lanes_indexed)(c, v, lanes, fault);
    }
    return 0;
}

#define EACH(STATEMENT) VECTORS(n, STATEMENT); break

/* The lanes of slot s begin at at[s]; those of words of several slots follow each other. */
static int LANE(run_lanes)(const Plan *plan, const LaneWord *w, REAL *const *at, REAL *v,
                          long lanes, REAL *scratch, Fault *fault)
{
    for (;; w++) {
        REAL *out = at[w->slots[0]];
        const REAL *a = at[w->slots[1]], *b = at[w->slots[2]], *c = at[w->slots[3]];
        const long n = w->n * lanes;
        switch (w->kind) {
        case LANE_ELEMENTWISE + COPY: EACH(AT(out) = OF(a));
        case LANE_ELEMENTWISE + NEG: EACH(AT(out) = -OF(a));
        case LANE_ELEMENTWISE + ADD: EACH(AT(out) = OF(a) + OF(b));
        case LANE_ELEMENTWISE + SUB: EACH(AT(out) = OF(a) - OF(b));
        case LANE_ELEMENTWISE + MUL: EACH(AT(out) = OF(a) * OF(b));
        case LANE_ELEMENTWISE + ADD_TO: EACH(AT(out) += OF(a));
        case LANE_ELEMENTWISE + SUB_FROM: EACH(AT(out) -= OF(a));
        case LANE_ELEMENTWISE + MUL_ADD_TO: EACH(AT(out) += OF(a) * OF(b));
        case LANE_MUL_ADD: EACH(AT(out) = OF(c) + OF(a) * OF(b));
        case LANE_ZERO_ADD: EACH(AT(out) = (REAL)0 + OF(a));
        case LANE_ZERO_SUB: EACH(AT(out) = (REAL)0 - OF(a));
        case LANE_ZERO_MUL_ADD: EACH(AT(out) = (REAL)0 + OF(a) * OF(b));
        case LANE_FILL:
            for (long e = 0; e < n; e++)
                out[e] = (REAL)w->number;
            break;
        case LANE_MAP: LANE(map)(w->op, n, out, a, b, c); break;
        case LANE_VJP:
        case LANE_VJP_ADD: {
            const int adds = w->kind == LANE_VJP_ADD;
            LANE(vjp)(w->op & 0xffff, w->op >> 16, n, adds ? scratch : out, a, b, c,
                     at[w->slots[4]], at[w->slots[5]]);
            if (adds)
                VECTORS(n, AT(out) += OF(scratch));
            break;
        }
        case LANE_GENERAL:
            if (LANE(lanes_general)(&plan->instructions[w->op], v, lanes, scratch, fault) < 0)
                return -1;
            break;
        default: return 0; /* LANE_END */
        }
    }
}

/* x - x is 0, all bits of it, unless x is inf or nan. */
static int LANE(all_finite)(long n, const REAL *x)
{
    const long width = sizeof(ISA(M)) / sizeof(REAL);
    ISA(M) rest = {0};
    long any = 0, e = 0;
    for (; e + width <= n; e += width) {
        const LANE(vec) these = *(const LANE(vec) *)(x + e);
        rest |= (ISA(M))(these - these);
    }
    for (; e < n; e++)
        any |= x[e] - x[e] != 0;
    return !any && !ISA(misses)(rest == 0);
}

#undef EACH
#undef VECTORS
#undef LANE_TERM
#undef LANE_SUM
#undef LANE_TILE
#undef REAL
#undef LANE
