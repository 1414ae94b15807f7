/* Writes a program out for runs on many rows of data; program.h has the form of its words, and
   isa/lanes.h runs them. Start at `write_lanes`.

   A row needs few of a program's numbers, and each costs as many stores as there are lanes. So words
   of programs that are not too long are gone over once more, one for each element:
       `simplify`  sums with 0, factors 1 and -1, and copies of what does not change any more,
       `drop`      what nobody reads,
       `squeeze`   numbers in the slots of others that are no longer needed, which are in the cache.
   Slots that the caller fills or reads stay where they are. */

#include "program.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_WORDS = 1 << 16 }; /* that are gone over */

typedef struct {
    LaneWord *words;
    size_t count, capacity;
    int single; /* a word for each element */
} Writer;

static LaneWord *more(Writer *w)
{
    if (w->count == w->capacity) {
        const size_t capacity = 2 * w->capacity + 64;
        LaneWord *words = realloc(w->words, capacity * sizeof(LaneWord));
        if (!words)
            return NULL;
        w->words = words, w->capacity = capacity;
    }
    LaneWord *word = &w->words[w->count++];
    memset(word, 0, sizeof *word);
    return word;
}

/* ---- from instructions to words ---- */

/* The kind of word that does what an instruction does to an element; LANE_GENERAL if none. */
static int kind_of(const Instruction *c)
{
    const int starts = c->kind == SUM ? c->refs == 3 : c->refs == 4;
    switch (c->kind) {
    case ELEMENTWISE: return LANE_ELEMENTWISE + c->op;
    case MAP: return LANE_MAP;
    case VJP: return c->flags & STORES ? LANE_VJP : LANE_VJP_ADD;
    case FILL: return LANE_FILL;
    case SUM: return c->d2 > 1 ? LANE_GENERAL : LANE_ELEMENTWISE + (starts ? ADD : COPY);
    case DOT: return c->d2 > 1 ? LANE_GENERAL : starts ? LANE_MUL_ADD : LANE_ELEMENTWISE + MUL;
    default: return LANE_GENERAL;
    }
}

/* A word for each element; elements whose slots all follow those of the latest join its word. */
static int write_elements(Writer *w, const Instruction *c, int kind, int32_t op)
{
    LaneWord *word = NULL;
    for (long i0 = 0; i0 < c->d0; i0++)
        for (long i1 = 0; i1 < c->d1; i1++)
            for (long i2 = 0; i2 < c->d2; i2++) {
                int32_t slots[MOST_REFS] = {0}; /* what is not there is never read */
                int joins = word && kind != LANE_VJP_ADD && !w->single;
                for (int k = 0; k < c->refs; k++) {
                    slots[k] = (int32_t)slot_of(&c->r[k], c, i0, i1, i2);
                    joins = joins && slots[k] == word->slots[k] + word->n;
                }
                if (joins) {
                    word->n++;
                    continue;
                }
                if (!(word = more(w)))
                    return -1;
                *word = (LaneWord){.kind = kind, .op = op, .n = 1, .refs = c->refs};
                word->number = c->number;
                memcpy(word->slots, slots, sizeof slots);
            }
    return 0;
}

static int write_words(Writer *w, const Plan *plan)
{
    double elements = 0.0;
    w->single = 1;
    for (long k = 0; k < plan->count; k++) {
        const Instruction *c = &plan->instructions[k];
        elements += (double)c->d0 * c->d1 * c->d2;
        w->single = w->single && kind_of(c) != LANE_GENERAL && elements <= MOST_WORDS;
    }
    for (long k = 0; k < plan->count; k++) {
        const Instruction *c = &plan->instructions[k];
        const int kind = kind_of(c);
        if (kind != LANE_GENERAL) {
            if (write_elements(w, c, kind, c->op | c->which << 16) < 0)
                return -1;
            continue;
        }
        LaneWord *word = more(w);
        if (!word)
            return -1;
        word->kind = LANE_GENERAL, word->op = (int32_t)k;
    }
    return more(w) ? 0 : -1; /* all zero: LANE_END */
}

/* ---- going over them ---- */

/* The kind of word that adds to 0 and stores; it is not a copy, as 0 + -0 is 0. */
static int from_zero(int kind)
{
    switch (kind) {
    case LANE_ELEMENTWISE + ADD_TO: return LANE_ZERO_ADD;
    case LANE_ELEMENTWISE + SUB_FROM: return LANE_ZERO_SUB;
    case LANE_ELEMENTWISE + MUL_ADD_TO: return LANE_ZERO_MUL_ADD;
    default: return kind;
    }
}

/* What is known of a slot: at how many words it is still written, the number that is in all its
   lanes, and the slot that it is a copy of. */
typedef struct {
    int32_t writes, is_number, copied;
    double number;
} Known;

static int is_number(const Known *k, double number)
{
    return k->is_number && k->number == number && !signbit(k->number) == !signbit(number);
}

/* One factor is 1 or -1. */
static void drop_factor(LaneWord *word, const Known *known)
{
    const int stores = word->kind == LANE_ELEMENTWISE + MUL;
    if (!stores && word->kind != LANE_ELEMENTWISE + MUL_ADD_TO)
        return;
    for (int n = 1; n <= 2; n++) {
        const Known *factor = &known[word->slots[n]];
        if (!is_number(factor, 1.0) && !is_number(factor, -1.0))
            continue;
        const int plus = factor->number > 0.0;
        word->kind = LANE_ELEMENTWISE + (stores ? plus ? COPY : NEG : plus ? ADD_TO : SUB_FROM);
        word->slots[1] = word->slots[3 - n], word->refs = 2;
        return;
    }
}

static void simplify(Writer *w, Known *known, long size)
{
    for (long s = 0; s < size; s++)
        known[s] = (Known){.copied = -1};
    for (size_t k = 0; k + 1 < w->count; k++)
        known[w->words[k].slots[0]].writes++;
    for (size_t k = 0; k + 1 < w->count; k++) {
        LaneWord *word = &w->words[k];
        int32_t *slots = word->slots;
        Known *out = &known[slots[0]];
        for (int n = 1; n < word->refs; n++)
            if (known[slots[n]].copied >= 0)
                slots[n] = known[slots[n]].copied;
        drop_factor(word, known);
        if (is_number(out, 0.0))
            word->kind = from_zero(word->kind);
        const Known *from = &known[slots[1]];
        const int copy = word->kind == LANE_ELEMENTWISE + COPY;
        const int negative = word->kind == LANE_ELEMENTWISE + NEG;
        if ((copy || negative) && from->is_number) {
            word->kind = LANE_FILL, word->refs = 1;
            word->number = copy ? from->number : -from->number;
        }
        out->writes--;
        out->is_number = word->kind == LANE_FILL, out->number = word->number;
        if (word->kind == LANE_ELEMENTWISE + COPY && !out->writes && !from->writes)
            out->copied = slots[1];
    }
}

/* Take out what nobody reads; `live` are the slots that are read behind the last word. */
static void drop(Writer *w, unsigned char *live)
{
    size_t to = w->count - 1;
    for (size_t k = w->count - 1; k-- > 0;) {
        LaneWord *word = &w->words[k];
        if (!live[word->slots[0]])
            continue;
        live[word->slots[0]] = (unsigned char)lane_adds(word);
        for (int n = 1; n < word->refs; n++)
            live[word->slots[n]] = 1;
        w->words[--to] = *word;
    }
    memmove(w->words, w->words + to, (w->count - to) * sizeof(LaneWord));
    w->count -= to;
}

/* Give numbers that only words read (`fixed` are all others) the slot that became free last.
   `room` is for three integers a slot. */
static void squeeze(Writer *w, const unsigned char *fixed, long size, int32_t *room)
{
    int32_t *last = room, *moved = room + size, *spare = room + 2 * size;
    long spares = 0;
    for (long s = 0; s < size; s++)
        moved[s] = -1;
    for (size_t k = 0; k + 1 < w->count; k++)
        for (int n = 0; n < w->words[k].refs; n++)
            last[w->words[k].slots[n]] = (int32_t)k;
    for (size_t k = 0; k + 1 < w->count; k++) {
        LaneWord *word = &w->words[k];
        int32_t olds[MOST_REFS];
        for (int n = word->refs; n-- > 0;) { /* the result takes a place after all others */
            const int32_t s = olds[n] = word->slots[n];
            if (fixed[s])
                continue;
            if (moved[s] < 0)
                moved[s] = spares ? spare[--spares] : s;
            word->slots[n] = moved[s];
        }
        for (int n = 0; n < word->refs; n++)
            if (!fixed[olds[n]] && last[olds[n]] == (int32_t)k && moved[olds[n]] >= 0) {
                spare[spares++] = moved[olds[n]];
                last[olds[n]] = -1; /* once, if it is an operand twice */
            }
    }
}

/* Mark in `found` what has to stay in its slot: what the caller fills or reads, and what is read
   before it is written, the constants. */
static void find_fixed(const Writer *w, const unsigned char *uses, long size, unsigned char *found,
                       unsigned char *written)
{
    memset(written, 0, size);
    for (long s = 0; s < size; s++)
        found[s] = uses[s] != 0;
    for (size_t k = 0; k + 1 < w->count; k++) {
        const LaneWord *word = &w->words[k];
        for (int n = !lane_adds(word); n < word->refs; n++)
            found[word->slots[n]] |= !written[word->slots[n]];
        written[word->slots[0]] = 1;
    }
}

static int go_over(Writer *w, const unsigned char *uses, long size)
{
    Known *known = malloc((size + 1) * sizeof(Known)); /* and later the room of `squeeze` */
    unsigned char *flags = malloc(2 * size + 1);
    if (known && flags) {
        simplify(w, known, size);
        for (long s = 0; s < size; s++)
            flags[s] = (uses[s] & READS) != 0;
        drop(w, flags);
        find_fixed(w, uses, size, flags, flags + size);
        squeeze(w, flags, size, (int32_t *)known);
    }
    free(known);
    free(flags);
    return known && flags ? 0 : -1;
}

LaneWord *write_lanes(const Plan *plan, const unsigned char *uses, int *single)
{
    Writer w = {0};
    if (write_words(&w, plan) < 0 || (w.single && go_over(&w, uses, plan->size) < 0)) {
        free(w.words);
        return NULL;
    }
    *single = w.single;
    return w.words;
}
