/* A run for one row of data, part of body.h: interprets a stream, whose form program.h tells: short
   instructions, and general ones between them. `run` is where to start. */

/* A vector of operands; loaded one by one into it, as the processor is slow to read in one piece
   what was just written in several. */
static ALWAYS void ISA(pick)(double *to, const double *v, const int32_t *s)
{
#if LANES == 8
    *(ISA(vec) *)to = (ISA(vec)){v[s[0]], v[s[1]], v[s[2]], v[s[3]],
                                       v[s[4]], v[s[5]], v[s[6]], v[s[7]]};
#elif LANES == 4
    *(ISA(vec) *)to = (ISA(vec)){v[s[0]], v[s[1]], v[s[2]], v[s[3]]};
#else
    *(ISA(vec) *)to = (ISA(vec)){v[s[0]], v[s[1]]};
#endif
}

/* Find the operands of a kernel; returns the first word behind them. */
static ALWAYS const int32_t *ISA(operands)(const int32_t *s, int refs, long n, const double *v,
                                           double *scratch, const double *p[MOST_REFS])
{
    const long padded = (n + WIDEST - 1) / WIDEST * WIDEST;
    for (int k = 1; k < refs; k++) {
        const int32_t first = *s++;
        if (first >= 0) {
            p[k] = v + first;
            continue;
        }
        double *buffer = scratch + k * CHUNK;
        for (long e = 0; e < n; e += LANES)
            ISA(pick)(buffer + e, v, s + e);
        p[k] = buffer;
        s += padded;
    }
    for (int k = refs; k < MOST_REFS; k++)
        p[k] = p[1];
    return s;
}

static const int32_t *ISA(short_map)(const int32_t *s, long n, double *v, double *scratch)
{
    const double *p[MOST_REFS];
    const int32_t *next = ISA(operands)(s + 2, s[0] >> 16, n, v, scratch, p);
    ISA(map)(s[0] & 0xffff, n, v + s[1], p[1], p[2], p[3]);
    return next;
}

static const int32_t *ISA(short_vjp)(const int32_t *s, long n, double *v, double *scratch)
{
    const double *p[MOST_REFS];
    const int32_t *out = s + 2, *next = ISA(operands)(out + n, s[0] >> 16, n, v, scratch, p);
    const int flags = s[1] >> 8;
    double *result = scratch + MOST_REFS * CHUNK;
    ISA(vjp)(s[0] & 0xffff, s[1] & 0xff, n, result, p[1], p[2], p[3], p[4], p[5]);
    if (flags & STORES)
        for (long e = 0; e < n; e++)
            v[out[e]] = result[e];
    else
        for (long e = 0; e < n; e++)
            v[out[e]] += result[e];
    return next;
}

/* The sums of rows of terms. */
static const int32_t *ISA(short_sum)(const int32_t *s, long n, double *v)
{
    const long terms = s[1];
    double *out = v + s[0];
    s += 2;
    for (long e = 0; e < n; e++, s += terms) {
        double total = v[s[0]];
        for (long t = 1; t < terms; t++)
            total += v[s[t]];
        out[e] = total;
    }
    return s;
}

/* Not inlined: the registers of `run` are for short instructions. */
static __attribute__((noinline)) int ISA(run_general)(const Instruction *c, double *v,
                                                      double *scratch, Fault *fault)
{
    switch (c->kind) {
    case ELEMENTWISE: ISA(elementwise)(c, v, scratch); break;
    case MAP:
    case VJP: ISA(kernel)(c, v, scratch); break;
    case SUM:
    case DOT: ISA(total)(c, v, scratch); break;
    case MM: ISA(mm)(c, v, scratch); break;
    case MAX:
    case ARGMAX: ISA(largest)(c, v, scratch); break;
    case FILL: ISA(fill)(c, v); break;
    default: return ISA(lanes_indexed)(c, v, 1, fault);
    }
    return 0;
}

/* Do STATEMENT for all elements e of a short instruction, then step over its lists; first a loop of
   any length, then those of constant length, which the compiler unrolls. */
#define CASE_OF(count, lists, STATEMENT)                                   \
    do {                                                                   \
        const long n = (count);                                            \
        for (long e = 0; e < n; e++)                                       \
            STATEMENT;                                                     \
        s += (lists) * n;                                                  \
    } while (0);                                                           \
    break
#define CASES(kind, lists, STATEMENT)                                      \
    case kind: CASE_OF(*head >> ANY_N, lists, STATEMENT);                  \
    case kind | 1 << SMALL_N: CASE_OF(1, lists, STATEMENT);                \
    case kind | 2 << SMALL_N: CASE_OF(2, lists, STATEMENT);                \
    case kind | 3 << SMALL_N: CASE_OF(3, lists, STATEMENT);                \
    case kind | 4 << SMALL_N: CASE_OF(4, lists, STATEMENT);                \
    case kind | 5 << SMALL_N: CASE_OF(5, lists, STATEMENT);                \
    case kind | 6 << SMALL_N: CASE_OF(6, lists, STATEMENT);                \
    case kind | 7 << SMALL_N: CASE_OF(7, lists, STATEMENT)
#define IN(list) v[s[(list) * n + e]]

static int ISA(run)(const Plan *plan, double *v, double *scratch, Fault *fault)
{
    const int32_t *s = plan->stream.words;
    for (;;) {
        const int32_t *head = s;
        double *x = v + head[1]; /* of most, the contiguous operand */
        s += 2;
        switch (*head & KIND_AND_SMALL_N) {
            CASES(STORE_COPY, 1, x[e] = IN(0));
            CASES(STORE_NEG, 1, x[e] = -IN(0));
            CASES(STORE_ADD, 2, x[e] = IN(0) + IN(1));
            CASES(STORE_SUB, 2, x[e] = IN(0) - IN(1));
            CASES(STORE_MUL, 2, x[e] = IN(0) * IN(1));
            CASES(STORE_MUL_ADD, 3, x[e] = IN(2) + IN(0) * IN(1));
            CASES(SCATTER_ADD, 1, IN(0) += x[e]);
            CASES(SCATTER_SUB, 1, IN(0) -= x[e]);
            CASES(SCATTER_ADD_MUL, 2, IN(0) += x[e] * IN(1));
            CASES(SCATTER_ADD_ADD, 2, (IN(0) += x[e], IN(1) += x[e]));
            CASES(SCATTER_ADD_SUB, 2, (IN(0) += x[e], IN(1) -= x[e]));
            CASES(SCATTER_ADD_MULS, 4, (IN(0) += x[e] * IN(1), IN(2) += x[e] * IN(3)));
            CASES(GATHER_SCATTER_ADD, 2, IN(0) += IN(1));
        case MAPS: s = ISA(short_map)(head + 1, *head >> ANY_N, v, scratch); break;
        case VJPS: s = ISA(short_vjp)(head + 1, *head >> ANY_N, v, scratch); break;
        case ZEROS:
            for (s = head + 1; s <= head + 2 * (*head >> ANY_N); s += 2)
                memset(v + s[0], 0, s[1] * sizeof(double));
            break;
        case STORE_SUM: s = ISA(short_sum)(head + 1, *head >> ANY_N, v); break;
        case GENERAL:
            for (long k = 0; k < head[2]; k++)
                if (ISA(run_general)(&plan->instructions[head[1] + k], v, scratch, fault) < 0)
                    return -1;
            s++;
            break;
        default: return 0; /* END */
        }
    }
}

#undef CASES
#undef CASE_OF
#undef IN
