/* The words of a program, as compiler/backends/encode.py writes them: what module.c gets
   to load, and what it is decoded to.

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

#include "stream.h"

enum { ELEMENTWISE, MAP, VJP, SUM, DOT, MM, MAX, ARGMAX, TAKE, PUT, GET, FILL, KINDS };
enum { COPY, NEG, ADD, SUB, MUL, ADD_TO, SUB_FROM, MUL_ADD_TO, ELEMENTWISE_OPS };
enum { AFFINE, ROWS, CELLS };
enum { STORES = 1, REPEATS = 2 }; /* REPEATS: results of a product share slots */

enum {
    HEAD_WORDS = 9, /* kind op which flags d0 d1 d2 number operands */
    REF_WORDS = 6,  /* form base s0 s1 s2 index */
    MOST_REFS = 6,
    CHUNK = 512,    /* elements that are gathered at once */
    WIDEST = 8      /* lanes of the widest vectors */
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

#endif
