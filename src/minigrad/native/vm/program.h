/* A program in its three forms: the words that compiler/backends/encode.py writes and module.c gets
   to load, the instructions that they are decoded to, and the stream.

   Every instruction is a nest of three loops (d0, d1, d2); an operand says how its slot moves:
       AFFINE  base + i0*s0 + i1*s1 + i2*s2
       ROWS    base + index[i0*d1 + i1] + i2*s2
       CELLS   base + index[(i0*d1 + i1)*d2 + i2]
   A product of matrices is (m, n, k): its factors move by s0 along their rows and by s2 along the
   terms, its results by s0 along i and s1 along j. */

#ifndef MINIGRAD_VM_PROGRAM_H
#define MINIGRAD_VM_PROGRAM_H

#include <stddef.h>
#include <stdint.h>

enum { ELEMENTWISE, MAP, VJP, SUM, DOT, MM, MAX, ARGMAX, TAKE, PUT, GET, FILL, KINDS };
enum { COPY, NEG, ADD, SUB, MUL, ADD_TO, SUB_FROM, MUL_ADD_TO, ELEMENTWISE_OPS };
enum { AFFINE, ROWS, CELLS };
enum { STORES = 1, REPEATS = 2 }; /* REPEATS: results of a product share slots */

enum {
    HEAD_WORDS = 9, /* kind op which flags d0 d1 d2 number operands */
    REF_WORDS = 6,  /* form base s0 s1 s2 index */
    MOST_REFS = 6,
    CHUNK = 512,    /* elements that are gathered at once */
    LANE_BYTES = 256, /* lanes are so many, or twice so many */
    WIDEST = 8,     /* lanes of the widest vectors */
    BLOCK_TERMS = 256 /* of a large product that are packed at once: 8 KiB and 16 to 64 */
};

typedef struct {
    int form;
    int flat; /* the elements follow each other in memory */
    long base, s0, s1, s2;
    const int32_t *index;
} Ref;

typedef struct {
    int kind, op, which, flags, refs;
    int swap; /* a product is computed as its transpose */
    long d0, d1, d2;
    double number;
    Ref r[MOST_REFS]; /* the result first */
} Instruction;

/* The stream: a loaded program in the form that a run on one row of data reads. stream.c writes it
   from the decoded and checked instructions, isa/short.h interprets it.

   Irregular programs are thousands of instructions on a handful of elements each, and decoding six
   operands would take longer than the arithmetic. An instruction of up to MOST_SHORT elements is
   therefore stored with the slot of every element, behind a word that has its operation and its
   number of elements n; interpreting it is one loop. Two scatters of the same adjoint, to both
   operands of an operation, are fused into one. Others are GENERAL: references to decoded
   instructions.

       END
       GENERAL             first count      instructions, as isa/body.h runs them
       ZEROS               (start count)*n  ranges that are filled with 0
       STORE_*             out  lists       contiguous results, computed from lists of n slots
       STORE_SUM           out terms  list  n sums; the slots row by row
       SCATTER_*           g  out…          n slots += or -= contiguous numbers, from g on; lists of
                                            factors and of a second result may follow
       GATHER_SCATTER_ADD  -  out… g…       n slots += n others
       MAPS                op out  operands
       VJPS                op which  out…  operands

   An operand of MAPS and VJPS is the first of n contiguous slots, or -1 and a list that is padded
   to whole vectors with its last slot. */

enum {
    END, GENERAL, ZEROS,
    STORE_COPY, STORE_NEG, STORE_ADD, STORE_SUB, STORE_MUL, STORE_MUL_ADD, STORE_SUM,
    SCATTER_ADD, SCATTER_SUB, SCATTER_ADD_MUL, SCATTER_ADD_ADD, SCATTER_ADD_SUB, SCATTER_ADD_MULS,
    GATHER_SCATTER_ADD, MAPS, VJPS
};

/* The first word: the kind in the lowest 5 bits; n in the next 3 if it fits, else 0, so that one
   jump reaches a loop that is already unrolled; then n. */
enum {
    MOST_SHORT = 32,
    SMALL_N = 5, /* where n begins, if small */
    ANY_N = 8,   /* where n begins */
    KIND = (1 << SMALL_N) - 1,
    KIND_AND_SMALL_N = (1 << ANY_N) - 1
};

typedef struct {
    int32_t *words;
    size_t count, capacity;
    size_t latest; /* where the latest instruction starts */
} Stream;

/* The form that a run on many rows reads, where slot s is the `lanes` numbers from s*lanes on. A word
   is a loop over the lanes of n slots of each operand, the result first; or LANE_GENERAL and the
   place of an instruction. lanes.c writes them when a program first gets rows, isa/lanes.h runs
   them. */

enum {
    LANE_END, LANE_GENERAL, LANE_FILL, LANE_MAP, LANE_VJP, LANE_VJP_ADD,
    LANE_MUL_ADD,                                    /* = c + a*b */
    LANE_ZERO_ADD, LANE_ZERO_SUB, LANE_ZERO_MUL_ADD, /* = 0 + a, = 0 - a, = 0 + a*b */
    LANE_ELEMENTWISE                                 /* and the operation */
};

typedef struct {
    int32_t kind, op; /* of VJP, `which` stands above 16 bits */
    int32_t n, refs, slots[MOST_REFS];
    double number; /* of FILL */
} LaneWord;

/* Whether a word reads the slot that it writes to. */
static inline int lane_adds(const LaneWord *w)
{
    return w->kind == LANE_VJP_ADD || w->kind >= LANE_ELEMENTWISE + ADD_TO;
}

/* What the caller does with a slot, before a run and after it. */
enum { FILLS = 1, READS = 2 };

typedef struct {
    long count;
    Instruction *instructions;
    Stream stream;
    int32_t *pool;
    long size;
    size_t scratch; /* doubles that a run needs besides its values */
    double work;    /* roughly, elements that a run touches */
} Plan;

/* What went wrong in a run: an index that is no row. */
typedef struct {
    int kind;
    double index;
    long rows;
} Fault;

/* What is decoded: the words, and the index arrays and numbers that they point into. */
typedef struct {
    const int64_t *words;
    const int32_t *pool;
    const double *numbers;
    long length, pool_length, number_count;
} Words;

/* Fill a plan whose `size` is set; returns what instruction number `count` has wrong, or NULL. */
const char *decode(Plan *plan, const Words *words);

/* How many operands the op of this code takes as a map; 0 if there is no such map. Of isas.c. */
int arity_of(int64_t op);

/* Write the stream of a program; -1 if there is no memory. */
int write_stream(Stream *s, const Instruction *instructions, long count);

/* Write its words for lanes, for a caller who uses slots in this way, and tell whether every word is
   one slot of each operand; NULL if there is no memory. */
LaneWord *write_lanes(const Plan *plan, const unsigned char *uses, int *single);

/* Where element (i0, i1, i2) of an operand lies. */
static inline long slot_of(const Ref *r, const Instruction *c, long i0, long i1, long i2)
{
    const long row = i0 * c->d1 + i1;
    if (r->form == CELLS)
        return r->base + r->index[row * c->d2 + i2];
    return r->base + i2 * r->s2 + (r->form == ROWS ? r->index[row] : i0 * r->s0 + i1 * r->s1);
}

#endif
