/* Writes the stream of a program; program.h has its form. Start at `write_stream`. */

#include "program.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static int32_t first_word(int kind, long n)
{
    return (int32_t)(kind | (n < 1 << (ANY_N - SMALL_N) ? n << SMALL_N : 0) | n << ANY_N);
}

/* Append words, to be filled in; NULL if there is no memory. */
static int32_t *more_words(Stream *s, size_t count)
{
    if (s->count + count > s->capacity) {
        const size_t capacity = 2 * (s->capacity + count) + 64;
        int32_t *words = realloc(s->words, capacity * sizeof(int32_t));
        if (!words)
            return NULL;
        s->words = words, s->capacity = capacity;
    }
    s->count += count;
    return s->words + s->count - count;
}

static int32_t slot_at(const Instruction *c, const Ref *r, long e)
{
    const long row = e / c->d2;
    return (int32_t)slot_of(r, c, row / c->d1, row % c->d1, e % c->d2);
}

static int is_contiguous(const Instruction *c, const Ref *r, long n)
{
    for (long e = 1; e < n; e++)
        if (slot_at(c, r, e) != slot_at(c, r, 0) + e)
            return 0;
    return 1;
}

static int32_t *write_slots(int32_t *to, const Instruction *c, const Ref *r, long n)
{
    for (long e = 0; e < n; e++)
        *to++ = slot_at(c, r, e);
    return to;
}

/* Whether two loops over lists of n slots, one of them or both written, may be fused: no slot of
   the second is one that the first reaches later. */
static int may_interleave(const int32_t *first, const int32_t *second, long n)
{
    for (long e = 0; e < n; e++)
        for (long later = e + 1; later < n; later++)
            if (second[e] == first[later])
                return 0;
    return 1;
}

/* Fuse the instruction at `next`, just written, with the one before if both scatter the same
   adjoint. The order of additions to any slot stays the same. */
static int join_scatters(Stream *s, int32_t *next, long n)
{
    int32_t *latest = s->words + s->latest;
    const int before = latest[0] & KIND, after = next[0] & KIND;
    const int both = before == SCATTER_ADD && after == SCATTER_ADD           ? SCATTER_ADD_ADD
                     : before == SCATTER_ADD && after == SCATTER_SUB         ? SCATTER_ADD_SUB
                     : before == SCATTER_ADD_MUL && after == SCATTER_ADD_MUL ? SCATTER_ADD_MULS
                                                                             : END;
    if (both == END || latest[0] >> ANY_N != n || latest[1] != next[1])
        return 0;
    const int32_t *out = latest + 2, *factors = out + n, *out2 = next + 2, *factors2 = out2 + n;
    if (!may_interleave(out, out2, n))
        return 0;
    if (both == SCATTER_ADD_MULS
        && !(may_interleave(out, factors2, n) && may_interleave(factors, out2, n)))
        return 0;
    latest[0] = first_word(both, n);
    s->count -= 2; /* of the second instruction, its lists stay */
    memmove(next, out2, (s->words + s->count - next) * sizeof(int32_t));
    return 1;
}

/* These return 1 if they wrote the instruction, 0 if its operands have no short form, and -1 if
   there is no memory. */

static int write_elementwise(Stream *s, const Instruction *c, long n)
{
    static const int kinds[ELEMENTWISE_OPS] = {
        [COPY] = STORE_COPY, [NEG] = STORE_NEG, [ADD] = STORE_ADD, [SUB] = STORE_SUB,
        [MUL] = STORE_MUL, [ADD_TO] = SCATTER_ADD, [SUB_FROM] = SCATTER_SUB,
        [MUL_ADD_TO] = SCATTER_ADD_MUL,
    };
    const int scatters = c->op >= ADD_TO;
    int kind = kinds[c->op];
    /* the contiguous operand, then the others */
    const Ref *order[3] = {&c->r[scatters], &c->r[!scatters], &c->r[2]};
    if (c->op == MUL_ADD_TO && !is_contiguous(c, order[0], n))
        order[0] = &c->r[2], order[2] = &c->r[1];
    int lists = c->refs - 1;
    if (!is_contiguous(c, order[0], n)) {
        if (c->op != ADD_TO)
            return 0;
        kind = GATHER_SCATTER_ADD, order[2] = order[0], lists = 2;
    }
    int32_t *start = more_words(s, 2 + lists * n);
    if (!start)
        return -1;
    start[0] = first_word(kind, n);
    start[1] = slot_at(c, order[0], 0);
    int32_t *to = start + 2;
    for (int k = 1; k <= lists; k++)
        to = write_slots(to, c, order[k], n);
    if (start == s->words || !join_scatters(s, start, n))
        s->latest = start - s->words;
    return 1;
}

/* Sums: of one product and a start, or of a few terms. */
static int write_total(Stream *s, const Instruction *c)
{
    const long n = c->d0 * c->d1;
    const int product = c->kind == DOT && c->refs == 4 && c->d2 == 1;
    if (!(product || (c->kind == SUM && c->refs == 2)) || c->d2 * n > MOST_SHORT)
        return 0;
    Instruction row = *c; /* results have one slot a row */
    row.d2 = 1;
    if (c->r[0].form == CELLS || !is_contiguous(&row, &c->r[0], n))
        return 0;
    const long lists = product ? 3 : c->d2;
    int32_t *start = more_words(s, 2 + !product + lists * n), *to = start;
    if (!start)
        return -1;
    *to++ = product ? first_word(STORE_MUL_ADD, n) : STORE_SUM | (int32_t)n << ANY_N;
    *to++ = slot_at(&row, &c->r[0], 0);
    if (product) {
        for (int k = 1; k < 4; k++)
            to = write_slots(to, c, &c->r[k], n);
    } else {
        *to++ = (int32_t)c->d2;
        to = write_slots(to, c, &c->r[1], n * c->d2); /* row by row */
    }
    s->latest = start - s->words;
    return 1;
}

static int write_kernel(Stream *s, const Instruction *c, long n)
{
    const long padded = (n + WIDEST - 1) / WIDEST * WIDEST;
    if (c->kind == MAP && !is_contiguous(c, &c->r[0], n))
        return 0;
    int32_t *start = more_words(s, 4 + n + c->refs * (1 + padded)), *to = start;
    if (!start)
        return -1;
    *to++ = (c->kind == MAP ? MAPS : VJPS) | (int32_t)n << ANY_N;
    *to++ = c->op | c->refs << 16;
    if (c->kind == MAP) {
        *to++ = slot_at(c, &c->r[0], 0);
    } else {
        *to++ = c->which | c->flags << 8;
        to = write_slots(to, c, &c->r[0], n);
    }
    for (int k = 1; k < c->refs; k++) {
        const Ref *r = &c->r[k];
        if (is_contiguous(c, r, n)) {
            *to++ = slot_at(c, r, 0);
            continue;
        }
        *to++ = -1;
        to = write_slots(to, c, r, n);
        for (long e = n; e < padded; e++)
            *to++ = slot_at(c, r, n - 1);
    }
    s->latest = start - s->words;
    s->count = to - s->words;
    return 1;
}

static int write_zeros(Stream *s, const Instruction *c)
{
    const long n = c->d0 * c->d1 * c->d2;
    if (!c->r[0].flat || c->number != 0.0 || signbit(c->number))
        return 0;
    const int joins = s->count && (s->words[s->latest] & KIND) == ZEROS
                      && s->words[s->latest] >> ANY_N < 1 << 20;
    int32_t *to = more_words(s, joins ? 2 : 3);
    if (!to)
        return -1;
    if (joins) {
        s->words[s->latest] += 1 << ANY_N;
    } else {
        s->latest = to - s->words;
        *to++ = ZEROS | 1 << ANY_N;
    }
    to[0] = (int32_t)c->r[0].base, to[1] = (int32_t)n;
    return 1;
}

static int write_general(Stream *s, long number)
{
    int32_t *latest = s->words + s->latest;
    if (s->count && latest[0] == GENERAL && latest[1] + latest[2] == number) {
        latest[2]++;
        return 1;
    }
    int32_t *to = more_words(s, 3);
    if (!to)
        return -1;
    s->latest = to - s->words;
    to[0] = GENERAL, to[1] = (int32_t)number, to[2] = 1;
    return 1;
}

int write_stream(Stream *s, const Instruction *instructions, long count)
{
    for (long k = 0; k < count; k++) {
        const Instruction *c = &instructions[k];
        const long n = c->d0 * c->d1 * c->d2;
        const int is_short = n <= MOST_SHORT;
        int done = 0;
        if (c->kind == ELEMENTWISE && is_short)
            done = write_elementwise(s, c, n);
        else if ((c->kind == MAP || c->kind == VJP) && is_short)
            done = write_kernel(s, c, n);
        else if (c->kind == SUM || c->kind == DOT)
            done = write_total(s, c);
        else if (c->kind == FILL)
            done = write_zeros(s, c);
        if (!done)
            done = write_general(s, k);
        if (done < 0)
            return -1;
    }
    int32_t *end = more_words(s, 2); /* the machine looks at two words at once */
    if (!end)
        return -1;
    end[0] = END, end[1] = 0;
    return 0;
}
