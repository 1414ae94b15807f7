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

#ifndef MINIGRAD_VM_STREAM_H
#define MINIGRAD_VM_STREAM_H

#include <stddef.h>
#include <stdint.h>

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

#endif
