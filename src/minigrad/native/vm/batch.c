/* Machine.batch: rows `start` … `stop` of the data, a block of lanes at a time. */

#include "vm.h"

#include <stdlib.h>
#include <string.h>

typedef struct {
    Py_buffer view;
    long slot, width;
    Py_ssize_t by_row, by_column; /* in bytes */
} Column;

typedef struct {
    Column *at;
    Py_ssize_t count;
} Columns;

typedef struct {
    Columns columns, outputs;
    long start, stop, lanes;
    Slots sums, guards;
    Lanes *words;
    unsigned char *direct; /* by slot: whether words may work in the caller's memory */
    void *at;              /* by slot: pointers to where its lanes are in this block of rows */
    int is_single;         /* numbers of rows are floats */
} Job;

static void release_columns(Columns *columns)
{
    for (Py_ssize_t k = 0; k < columns->count; k++)
        PyBuffer_Release(&columns->at[k].view);
    PyMem_Free(columns->at);
}

/* Whether this is a pair (slot, array of shape (rows,) or (rows, width)). */
static int get_column(PyObject *pair, Column *c, const Job *job, long size, int writable)
{
    if (!PyTuple_Check(pair) || PyTuple_GET_SIZE(pair) != 2)
        return 0;
    c->slot = PyLong_AsLong(PyTuple_GET_ITEM(pair, 0));
    const int flags = PyBUF_STRIDES | PyBUF_FORMAT | (writable ? PyBUF_WRITABLE : 0);
    if ((c->slot == -1 && PyErr_Occurred())
        || PyObject_GetBuffer(PyTuple_GET_ITEM(pair, 1), &c->view, flags))
        return 0;
    const Py_buffer *v = &c->view;
    const int flat = v->ndim == 1;
    if (!v->format || strcmp(v->format, job->is_single ? "f" : "d")
        || (!flat && v->ndim != 2) || v->shape[0] < job->stop)
        return 0;
    c->width = flat ? 1 : (long)v->shape[1];
    c->by_row = v->strides[0], c->by_column = flat ? 0 : v->strides[1];
    return is_range(c->slot, c->width, size);
}

static int get_columns(PyObject *from, Columns *found, const Job *job, long size, int writable)
{
    PyObject *pairs = PySequence_Fast(from, "batch: columns are pairs (slot, array).");
    if (!pairs)
        return -1;
    const Py_ssize_t count = PySequence_Fast_GET_SIZE(pairs);
    found->at = PyMem_Calloc(count ? count : 1, sizeof(Column));
    int fits = found->at != NULL;
    for (; found->count < count && fits; found->count++)
        fits = get_column(PySequence_Fast_GET_ITEM(pairs, found->count),
                          &found->at[found->count], job, size, writable);
    Py_DECREF(pairs);
    if (!fits && !PyErr_Occurred())
        PyErr_Format(PyExc_ValueError,
                     "batch: columns are pairs (slot, %s array of shape (rows,) or (rows, width)).",
                     job->is_single ? "float32" : "float64");
    return fits ? 0 : -1;
}

/* ---- words for lanes: kept for the next batch that reads the same slots ---- */

void leave_lanes(Lanes *lanes)
{
    if (!lanes || --lanes->users)
        return;
    free(lanes->words);
    free(lanes->uses);
    PyMem_Free(lanes);
}

static unsigned char *uses_of(const Machine *machine, const Job *job)
{
    unsigned char *uses = calloc(machine->plan.size + 1, 1);
    if (!uses)
        return NULL;
    for (int output = 0; output < 2; output++) {
        const Columns *columns = output ? &job->outputs : &job->columns;
        for (Py_ssize_t k = 0; k < columns->count; k++)
            for (long j = 0; j < columns->at[k].width; j++)
                uses[columns->at[k].slot + j] |= output ? READS : FILLS;
    }
    for (long k = 0; k < job->sums.count; k++)
        uses[job->sums.slots[k]] |= READS;
    for (long k = 0; k < job->guards.count; k++)
        uses[job->guards.slots[k]] |= READS;
    for (long k = 0; k < machine->finite_count; k++)
        for (int64_t s = machine->finite[2 * k]; s < machine->finite[2 * k + 1]; s++)
            uses[s] |= READS;
    return uses;
}

static Lanes *lanes_for(Machine *machine, const Job *job)
{
    unsigned char *uses = uses_of(machine, job);
    Lanes *found = machine->lanes;
    if (!uses || !found || memcmp(uses, found->uses, machine->plan.size)) {
        int single = 0;
        LaneWord *words = uses ? write_lanes(&machine->plan, uses, &single) : NULL;
        found = words ? PyMem_Calloc(1, sizeof(Lanes)) : NULL;
        if (!found) {
            free(uses);
            free(words);
            PyErr_NoMemory();
            return NULL;
        }
        *found = (Lanes){1, words, uses, single};
        leave_lanes(machine->lanes);
        machine->lanes = found;
    } else {
        free(uses);
    }
    found->users++;
    return found;
}

/* ---- a run ---- */

/* The bytes that a view reaches, whatever its strides: the first, and the one behind the last. */
static void reach(const Py_buffer *view, const char **first, const char **end)
{
    *first = view->buf, *end = *first + view->itemsize;
    for (int k = 0; k < view->ndim; k++) {
        const Py_ssize_t far = view->shape[k] ? (view->shape[k] - 1) * view->strides[k] : 0;
        *(far < 0 ? first : end) += far;
    }
}

static int overlap(const Columns *a, const Columns *b)
{
    for (Py_ssize_t k = 0; k < a->count; k++)
        for (Py_ssize_t n = 0; n < b->count; n++) {
            const char *start, *stop, *first, *end;
            reach(&a->at[k].view, &start, &stop);
            reach(&b->at[n].view, &first, &end);
            if (start < end && first < stop)
                return 1;
        }
    return 0;
}

/* Find the slots that need no copy in the block: each is one column, which no word writes to, or one
   output, which a word writes to before any reads it; and its rows follow each other. */
static void find_direct(Job *job, long size)
{
    enum { WRITTEN = 1, READ_FIRST = 2 };
    unsigned char *words = job->direct + size; /* what they do to a slot */
    const LaneWord *w = job->words->words;
    memset(job->direct, 0, 2 * size);
    if (!job->words->single || overlap(&job->columns, &job->outputs))
        return;
    for (; w->kind != LANE_END; w++) {
        for (int n = !lane_adds(w); n < w->refs; n++)
            words[w->slots[n]] |= words[w->slots[n]] & WRITTEN ? 0 : READ_FIRST;
        words[w->slots[0]] |= WRITTEN;
    }
    for (int output = 0; output < 2; output++) {
        const Columns *columns = output ? &job->outputs : &job->columns;
        for (Py_ssize_t k = 0; k < columns->count; k++)
            for (long j = 0; j < columns->at[k].width; j++) {
                const long s = columns->at[k].slot + j;
                const int fits = output ? words[s] == WRITTEN : !(words[s] & WRITTEN);
                const int alone = !job->direct[s]; /* 2: taken, or not to be had */
                job->direct[s] = fits && alone && columns->at[k].by_row == columns->at[k].view.itemsize ? 1 : 2;
            }
    }
    for (long k = 0; k < job->sums.count; k++)
        job->direct[job->sums.slots[k]] = 2;
    for (long k = 0; k < job->guards.count; k++)
        job->direct[job->guards.slots[k]] = 2;
}

/* Where rows of column j of c are in the caller's memory. */
static char *place(const Column *c, long j, long row)
{
    return (char *)c->view.buf + row * c->by_row + j * c->by_column;
}

static int is_direct(const Job *job, const Column *c, long j, long rows)
{
    return rows == job->lanes && job->direct[c->slot + j] == 1;
}

/* A lane for each row: of doubles, and of floats. */
#define REAL double
#define ROWS(name) name
#define RUN_LANES run_lanes
#define ALL_FINITE all_finite
#include "rows.h"

#define REAL float
#define ROWS(name) name##_f32
#define RUN_LANES run_lanes_f32
#define ALL_FINITE all_finite_f32
#include "rows.h"

/* Everything is at hand: allocate, and run without the global lock. */
static PyObject *do_job(Machine *machine, Job *job, const double *values)
{
    const size_t lanes = job->lanes, least = machine->plan.scratch;
    void *block = aligned(machine->plan.size * lanes);
    void *scratch = aligned(lanes > least ? lanes : least);
    Fault fault = {0, 0.0, 0};
    long guard = -1, row = 0;
    int result = 0;
    job->at = malloc((machine->plan.size + 1) * sizeof(void *));
    job->direct = malloc(2 * machine->plan.size + 1);
    if (block && scratch && job->at && job->direct) {
        find_direct(job, machine->plan.size);
        Py_BEGIN_ALLOW_THREADS
        if (job->is_single)
            result = run_job_f32(machine, job, values, block, scratch, &fault, &guard, &row);
        else
            result = run_job(machine, job, values, block, scratch, &fault, &guard, &row);
        Py_END_ALLOW_THREADS
    } else {
        PyErr_NoMemory();
    }
    free(job->at);
    free(job->direct);
    free(block);
    free(scratch);
    if (PyErr_Occurred())
        return NULL;
    if (result < 0)
        return raise_fault(&fault);
    if (result > 0)
        return Py_BuildValue("ll", guard, row);
    Py_RETURN_NONE;
}

PyObject *machine_batch(PyObject *self, PyObject *const *args, Py_ssize_t count)
{
    Machine *machine = (Machine *)self;
    const long size = machine->plan.size;
    if (count != 10)
        return PyErr_Format(PyExc_TypeError, "batch(values, start, stop, lanes, columns, outputs, "
                                             "sums, totals, guards, single)");
    Job job = {0};
    job.start = PyLong_AsLong(args[1]);
    job.stop = PyLong_AsLong(args[2]);
    job.lanes = PyLong_AsLong(args[3]);
    job.is_single = PyObject_IsTrue(args[9]);
    const int piece = LANE_BYTES / (job.is_single ? sizeof(float) : sizeof(double));
    if (PyErr_Occurred())
        return NULL;
    if (job.start < 0 || job.stop < job.start || job.lanes < piece || job.lanes > 4096
        || job.lanes % piece)
        return PyErr_Format(PyExc_ValueError, "batch: rows %ld to %ld in %ld lanes.", job.start,
                            job.stop, job.lanes);
    Py_buffer view;
    PyObject *result = NULL;
    if (get_values(machine, args[0], &view))
        return NULL;
    if (!get_columns(args[4], &job.columns, &job, size, 0)
        && !get_columns(args[5], &job.outputs, &job, size, 1)
        && !get_slots(args[6], args[7], 1, &job.sums, size, "batch: sums")
        && !get_guards(args[8], &job.guards, size)
        && (job.words = lanes_for(machine, &job)))
        result = do_job(machine, &job, view.buf);
    leave_lanes(job.words);
    release_slots(&job.guards);
    release_slots(&job.sums);
    release_columns(&job.outputs);
    release_columns(&job.columns);
    PyBuffer_Release(&view);
    return result;
}
