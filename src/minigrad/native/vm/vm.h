/* What the translation units of minigrad._vm share besides programs (program.h): instruction sets,
   machines, and buffers that come from Python. */

#ifndef MINIGRAD_VM_H
#define MINIGRAD_VM_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include "program.h"

#include <string.h>

/* ---- instruction sets: isas.c ---- */

/* A formula of an optimiser: rows (operation, three registers) over registers, which are columns,
   settings, constants, and a result for each row. See codegen/formula.py. */
enum { MOST_COLUMNS = 16, MOST_REGISTERS = 256, PIECE = 128 };
typedef struct {
    int columns, settings, constants, uniform, count;
    int loop; /* the number of the loop that was built for it, or -1 */
    int32_t rows[4 * MOST_REGISTERS], results[MOST_COLUMNS];
    double numbers[MOST_REGISTERS]; /* the constants */
    double *scratch;                /* PIECE numbers for each register but columns */
} Formula;

typedef struct {
    const char *name;
    int (*run)(const Plan *, double *, double *, Fault *);
    int (*run_lanes)(const Plan *, const LaneWord *, double *const *, double *, long, double *,
                     Fault *);
    void (*formula)(const Formula *, long, double *const *, const double *);
    int (*all_finite)(long, const double *);
    int (*run_lanes_f32)(const Plan *, const LaneWord *, float *const *, float *, long, float *,
                         Fault *);
    int (*all_finite_f32)(long, const float *);
} Isa;

/* Number k of those that this processor has, the best first; NULL behind the last. */
const Isa *supported_isa(int k);

/* The number of the loop that was built for the formula with this text, or -1. */
int loop_of(const char *text);

/* ---- machines: module.c ---- */

/* A program written out for lanes; several runs may share it. Counted under the global lock. */
typedef struct {
    long users;
    LaneWord *words;
    unsigned char *uses; /* what slots are used for; see program.h */
    int single;          /* every word is one slot of each operand */
} Lanes;
void leave_lanes(Lanes *lanes); /* by one of its users; NULL is fine. Of batch.c */

typedef struct {
    PyObject_HEAD
    Plan plan;
    Lanes *lanes; /* of the latest batch */
    const Isa *isa;
    double *scratch; /* of one run; a second run at the same time makes its own */
    int busy;        /* runs that have released the global lock */
    int64_t *finite; /* pairs: ranges of slots, the end excluded, whose numbers must be finite */
    long finite_count;
} Machine;

enum { NOT_FINITE = -2 }; /* as in compiler/ir/program.py; -1 is: all is well */

/* Memory for `count` doubles and a vector behind them, aligned; NULL if there is none. */
double *aligned(size_t count);

/* Whether all numbers that must be finite are; slots are `lanes` numbers apart. */
int is_finite(const Machine *machine, const double *values, long lanes);

/* These return -1 with an exception set if something is wrong; `refuse` sets one and does the same.
   A view that could not be had, or is all zero, may be released as well. */

int refuse(PyObject *exception, const char *format, ...);

/* Get a contiguous buffer of doubles ('d') or of 32- or 64-bit integers ('i', 'q'). */
int get_buffer(PyObject *from, Py_buffer *view, char kind, int writable, const char *what);
int get_values(Machine *machine, PyObject *from, Py_buffer *view);
int run_once(Machine *machine, double *values);
int releases_lock(const Machine *machine); /* whether others run Python while it runs */
PyTypeObject *machine_class(void);
PyObject *raise_fault(const Fault *fault); /* returns NULL */

static inline long length_of(const Py_buffer *view)
{
    return (long)(view->len / view->itemsize);
}

static inline int is_range(long first, long count, long size)
{
    return first >= 0 && count >= 0 && first <= size && count <= size - first;
}

/* ---- formulas as objects: formula.c ---- */

PyObject *formula_load(PyObject *module, PyObject *arguments);
PyTypeObject *formula_type(void); /* NULL, with an exception set, if it cannot be made */

/* Move columns: `given` of them are there, the others are buffers of `count` numbers. */
int apply_formula(PyObject *formula, const Isa *isa, long count, double **columns, int given,
                  PyObject *others, PyObject *settings);

/* ---- methods: step.c and batch.c ---- */

PyObject *machine_step(PyObject *self, PyObject *const *args, Py_ssize_t count);
PyObject *machine_batch(PyObject *self, PyObject *const *args, Py_ssize_t count);

/* Slots, and a number for each: what a guard must find there after a run, or a total over rows. */
typedef struct {
    Py_buffer slot_view, number_view;
    const int64_t *slots;
    double *numbers;
    long count;
} Slots;

int get_slots(PyObject *slots, PyObject *numbers, int writable, Slots *found, long size,
              const char *what);
int get_guards(PyObject *pair, Slots *guards, long size); /* of None, there are none */
void release_slots(Slots *slots);

/* Two numbers are the same if their bits are, or both are nan. */
static inline int is_same(double x, double y)
{
    return !memcmp(&x, &y, sizeof x) || (x != x && y != y);
}

/* The first guard that fails, or -1. */
long failed_guard(const Slots *guards, const double *values);

#endif
