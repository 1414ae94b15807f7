/* The stream: what a run for one row of data reads, made from the decoded (and checked) program.

   Irregular programs are thousands of instructions on a handful of elements each, and looking at
   six operands would take longer than the work. An instruction of up to FEW elements is therefore
   written out slot by slot, behind a word that has its operation and its number of elements n; what
   isa/short.h does with it is one loop. Two that hand the same adjoint on, to both operands of an
   operation, become one. All others stay as they are: LONG, with their place among the codes.

       END
       LONG       first count      codes, as isa/body.h runs them
       ZEROS      (start count)*n  ranges that are filled with 0
       PUT_*      out  lists       out and the n - 1 slots behind it = from lists of n slots
       PUT_SUM    out terms  list  n sums; the slots row by row
       GIVE_*     g  out…          n slots take from g and the slots behind it; lists of factors
                                   and of a second result may follow
       GIVE_ANY   -  out… g…       n slots take from n others
       MAPS       op out  operands
       VJPS       op which  out…  operands

   An operand of MAPS and VJPS is a slot (the others follow it), or -1 and a list that is filled up
   to whole vectors with its last slot. */

#ifndef MINIGRAD_VM_STREAM_H
#define MINIGRAD_VM_STREAM_H

#include <stddef.h>
#include <stdint.h>

enum {
    END, LONG, ZEROS, PUT_COPY, PUT_NEG, PUT_ADD, PUT_SUB, PUT_MUL, PUT_MUL_ADD, PUT_SUM,
    GIVE_GAIN, GIVE_LOSE, GIVE_GAIN_MUL, GIVE_GAIN_GAIN, GIVE_GAIN_LOSE, GIVE_GAIN_MULS, GIVE_ANY,
    MAPS, VJPS
};

/* The first word: 5 bits of kind, the lowest, then n in 3 bits if it fits, so that one jump finds a
   loop already unrolled, and then n. */
enum {
    FEW = 32, BRIEF_N = 5, FULL_N = 8,
    KIND = (1 << BRIEF_N) - 1, KIND_AND_N = (1 << FULL_N) - 1
};

typedef struct {
    int32_t *words;
    size_t count, room;
    size_t latest; /* where the latest instruction starts */
} Stream;

#endif
