/* Decodes the words of a program (program.h has their form), once, and checks them so that no
   program, however wrong, reads or writes outside its buffers. */

#include "program.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

static const char *check_ref(const Ref *r, const long loops[3], int64_t at, long pool, long size)
{
    const int64_t limit = (int64_t)1 << 31;
    const long strides[3] = {r->s0, r->s1, r->s2};
    int64_t low = 0, high = 0;
    if (r->base < -limit || r->base > limit)
        return "an operand outside the buffer";
    for (int k = (r->form == AFFINE ? 0 : 2); k < (r->form == CELLS ? 2 : 3); k++) {
        if (strides[k] < -limit || strides[k] > limit)
            return "an operand outside the buffer";
        const int64_t reach = (int64_t)strides[k] * (loops[k] - 1);
        if (reach < -limit || reach > limit)
            return "an operand outside the buffer";
        *(reach < 0 ? &low : &high) += reach;
    }
    if (r->form != AFFINE) {
        const int64_t count = (int64_t)loops[0] * loops[1] * (r->form == CELLS ? loops[2] : 1);
        int64_t least = INT32_MAX, most = INT32_MIN;
        if (at < 0 || count > pool - at)
            return "an index array outside the pool";
        for (int64_t k = 0; k < count; k++) {
            least = r->index[k] < least ? r->index[k] : least;
            most = r->index[k] > most ? r->index[k] : most;
        }
        low += least;
        high += most;
    }
    if (r->base + low < 0 || r->base + high >= size)
        return "an operand outside the buffer";
    return NULL;
}

/* Roughly how many moves it takes to pack a product for isa/matrix.h, with the rows of
   factor a broadcast and those of factor b contiguous, in vectors. */
static double mm_cost(const Instruction *c, int swap)
{
    const Ref *a = &c->r[1 + swap], *b = &c->r[2 - swap];
    const double m = swap ? c->d1 : c->d0, n = swap ? c->d0 : c->d1, k = c->d2;
    const long along = swap ? c->r[0].s0 : c->r[0].s1;
    const double vectors = (long)(n + WIDEST - 1) / WIDEST;
    double cost = m * vectors * k * 1.3;
    if (a->form != AFFINE)
        cost += m * k * 1.5;
    if (b->form != AFFINE || (b->s0 != 1 && n > 1))
        cost += n * k * (b->form == AFFINE && b->s2 == 1 ? 0.6 : 1.5);
    else if ((long)n % WIDEST)
        cost += k * 4;
    if (c->r[0].form != AFFINE || (along != 1 && n > 1))
        cost += m * n * (c->flags & STORES ? 1.5 : 3);
    return cost;
}

static size_t scratch_of(const Instruction *c)
{
    if (c->kind == MM) {
        const size_t m = (c->d0 + WIDEST) & ~(size_t)(WIDEST - 1);
        const size_t n = (c->d1 + WIDEST) & ~(size_t)(WIDEST - 1);
        return (m + n) * c->d2 + m * n + (BLOCK_TERMS + 2 * WIDEST) * 4 * WIDEST;
    }
    if (c->kind == SUM || c->kind == DOT || c->kind == MAX || c->kind == ARGMAX)
        return 8 * (size_t)c->d2;
    return 0;
}

/* How many operands an instruction takes, the result included: at least, at most; 0 if there is no
   such operation. Codes of maps and their adjoints are those of the op table. */
typedef struct {
    int least, most;
} Count;

static Count operands_of(int64_t kind, int64_t op, int64_t which)
{
    static const Count counts[KINDS] = {
        [SUM] = {2, 3},    [DOT] = {3, 4},  [MM] = {3, 4},  [MAX] = {2, 2},
        [ARGMAX] = {2, 2}, [TAKE] = {3, 3}, [PUT] = {3, 3}, [GET] = {3, 3}, [FILL] = {1, 1},
    };
    const int binary = op == ADD || op == SUB || op == MUL || op == MUL_ADD_TO;
    const int arity = kind == MAP || kind == VJP ? arity_of(op) : 0, own = kind == MAP ? 1 : 3;
    if (op < 0 || which < 0 || which >= (kind == VJP ? arity : 1))
        return (Count){0, 0};
    if (kind == ELEMENTWISE)
        return op < ELEMENTWISE_OPS ? (Count){2 + binary, 2 + binary} : (Count){0, 0};
    if (kind == MAP || kind == VJP)
        return arity ? (Count){own + arity, own + arity} : (Count){0, 0};
    return op == 0 ? counts[kind] : (Count){0, 0};
}

static const char *check_head(const int64_t *w, long number_count)
{
    /* all elements of an instruction are counted in a long */
    const int64_t most = (int64_t)1 << 31, longest = LONG_MAX < most ? LONG_MAX : most << 8;
    if (w[0] < 0 || w[0] >= KINDS)
        return "an unknown kind of instruction";
    for (int k = 4; k < 7; k++)
        if (w[k] < 1 || w[k] > most)
            return "a loop of no turns or of more than 2^31";
    if (w[4] * w[5] > most || w[4] * w[5] * w[6] > longest)
        return "a loop too long";
    const Count operands = operands_of(w[0], w[1], w[2]);
    if (!operands.most)
        return "an unknown operation";
    if (w[8] < operands.least || w[8] > operands.most)
        return "the wrong number of operands";
    if (w[3] & ~(int64_t)(STORES | REPEATS))
        return "an unknown flag";
    return w[7] < 0 || w[7] >= number_count ? "a number that is not there" : NULL;
}

static const char *decode_ref(Ref *r, const int64_t *w, const long loops[3], const Plan *plan,
                              long pool_length)
{
    if (w[0] < AFFINE || w[0] > CELLS)
        return "an unknown form of operand";
    r->form = (int)w[0];
    r->base = w[1], r->s0 = w[2], r->s1 = w[3], r->s2 = w[4];
    if (w[0] != AFFINE && (w[5] < 0 || w[5] > pool_length))
        return "an index array outside the pool";
    r->index = r->form == AFFINE ? NULL : plan->pool + w[5];
    r->flat = r->form == AFFINE
              && (loops[0] * loops[1] * loops[2] == 1
                  || (r->s2 == 1 && (loops[1] == 1 || r->s1 == loops[2])
                      && (loops[0] == 1 || r->s0 == loops[1] * loops[2])));
    return check_ref(r, loops, w[5], pool_length, plan->size);
}

static const char *decode_one(Instruction *c, const int64_t *w, const Plan *plan,
                              const Words *words)
{
    const char *wrong = check_head(w, words->number_count);
    if (wrong)
        return wrong;
    c->kind = (int)w[0], c->op = (int)w[1], c->which = (int)w[2], c->flags = (int)w[3];
    c->d0 = w[4], c->d1 = w[5], c->d2 = w[6];
    c->number = words->numbers[w[7]];
    c->refs = (int)w[8];
    for (int k = 0; k < c->refs && !wrong; k++) {
        /* of a product, factors have rows and terms, and results rows and columns */
        const int factor = c->kind == MM && (k == 1 || k == 2), grid = c->kind == MM && !factor;
        const long loops[3] = {k == 2 && factor ? c->d1 : c->d0, factor ? 1 : c->d1,
                               grid ? 1 : c->d2};
        wrong = decode_ref(&c->r[k], w + HEAD_WORDS + k * REF_WORDS, loops, plan,
                           words->pool_length);
    }
    return wrong;
}

const char *decode(Plan *plan, const Words *words)
{
    const int64_t *w = words->words;
    const long length = words->length;
    long at = 0, count = 0;
    for (; at < length; count++) {
        if (length - at < HEAD_WORDS || w[at + 8] < 0 || w[at + 8] > MOST_REFS
            || length - at < HEAD_WORDS + w[at + 8] * REF_WORDS)
            return "words that end too soon";
        at += HEAD_WORDS + (long)w[at + 8] * REF_WORDS;
    }
    if (count > INT32_MAX) /* the stream has 32 bits for the place of one */
        return "too many behind it";
    plan->instructions = calloc(count ? count : 1, sizeof(Instruction));
    plan->pool = malloc(words->pool_length * sizeof(int32_t) + 1);
    if (!plan->instructions || !plan->pool)
        return "no memory";
    if (words->pool_length)
        memcpy(plan->pool, words->pool, words->pool_length * sizeof(int32_t));
    plan->scratch = (MOST_REFS + 1) * CHUNK;
    for (at = 0; plan->count < count; plan->count++) {
        Instruction *c = &plan->instructions[plan->count];
        const char *wrong = decode_one(c, w + at, plan, words);
        if (wrong)
            return wrong;
        if (c->kind == MM)
            c->swap = mm_cost(c, 1) < mm_cost(c, 0);
        const size_t needed = scratch_of(c);
        plan->scratch = needed > plan->scratch ? needed : plan->scratch;
        plan->work += 30.0 + (double)c->d0 * c->d1 * c->d2;
        at += HEAD_WORDS + c->refs * REF_WORDS;
    }
    return write_stream(&plan->stream, plan->instructions, count) < 0 ? "no memory" : NULL;
}
