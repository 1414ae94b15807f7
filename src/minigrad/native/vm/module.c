/* minigrad._vm: runs the programs of minigrad.compiler.

   load(words, pool, numbers, size, isa) decodes and checks a program (vm_program.h), writes short
   instructions out once more (vm_stream.h), and returns a Machine, which runs it in buffers of the
   caller's: `run` and `step` for one row of data, `batch` for many. The machine proper, vm_body.h,
   stands here up to three times, compiled for different instruction sets; `load` takes the best
   that this processor has. No function of the Python API is called while a program runs. */

#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <stdio.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "vm_program.h"

#define ALWAYS inline __attribute__((always_inline))
#if defined(__has_builtin)
#if __has_builtin(__builtin_shufflevector)
#define SHUFFLE __builtin_shufflevector
#endif
#endif

typedef struct {
    const char *name;
    int (*run)(const Plan *, double *, double *, Fault *);
    int (*run_lanes)(const Plan *, double *, long, double *, Fault *);
    void (*sgd)(long, double *, const double *, double *, double, double, int, double);
    void (*adam)(long, double *, const double *, double *, double *, double, double, double, double,
                 double, double, double);
    int (*all_finite)(long, const double *);
} Isa;

#define ISA(name) \
    {#name, run_##name, run_lanes_##name, sgd_##name, adam_##name, all_finite_##name}

/* clang has no such pragma; it gets what its flags ask for */
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__)
#define MANY_ISAS 1
#include <immintrin.h>
#else
#define MANY_ISAS 0
#if defined(__x86_64__) || defined(__i386__)
#include <immintrin.h>
#endif
#endif

#define LANES 2
#define KERNEL(name) name##_baseline
#include "minigrad_kernels.h"
#include "vm_body.h"
#undef LANES
#undef KERNEL

#if MANY_ISAS
#pragma GCC push_options
#pragma GCC target("avx2,fma")
#define LANES 4
#define KERNEL(name) name##_avx2
#include "minigrad_kernels.h"
#include "vm_body.h"
#undef LANES
#undef KERNEL
#pragma GCC pop_options

#pragma GCC push_options
#pragma GCC target("avx512f,avx512dq,avx512vl,avx2,fma,prefer-vector-width=512")
#define LANES 8
#define KERNEL(name) name##_avx512
#include "minigrad_kernels.h"
#include "vm_body.h"
#undef LANES
#undef KERNEL
#pragma GCC pop_options
#endif

static const Isa isas[] = {
#if MANY_ISAS
    ISA(avx512),
    ISA(avx2),
#endif
    ISA(baseline),
};
enum { ISAS = sizeof(isas) / sizeof(isas[0]) };

static int is_here(const Isa *isa)
{
#if MANY_ISAS
    if (!strcmp(isa->name, "avx512"))
        return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq")
               && __builtin_cpu_supports("avx512vl");
    if (!strcmp(isa->name, "avx2"))
        return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
#endif
    (void)isa;
    return 1;
}

/* ---- machines ---- */

typedef struct {
    PyObject_HEAD
    Plan plan;
    const Isa *isa;
    double *scratch; /* of one run; a second run at the same time makes its own */
    int busy;
    int64_t *finite; /* pairs: ranges of slots, the end excluded, whose numbers must be finite */
    long finite_count;
} Machine;

enum { NOT_FINITE = -2 }; /* as in compiler/program.py; -1 is: all is well */

/* Programs shorter than this keep the global lock: handing it on would take longer. */
static const double BRIEF = 1e6;

static double *aligned(size_t count)
{
    void *found = NULL;
    return posix_memalign(&found, 64, (count + 8) * sizeof(double)) ? NULL : found;
}

static void machine_free(PyObject *self)
{
    Machine *machine = (Machine *)self;
    PyTypeObject *type = Py_TYPE(self);
    free(machine->plan.codes);
    free(machine->plan.stream.words);
    free(machine->plan.pool);
    free(machine->scratch);
    free(machine->finite);
    type->tp_free(self);
    Py_DECREF(type);
}

/* Get a contiguous buffer of doubles ('d') or of 32- or 64-bit integers ('i', 'q'). */
static int get_buffer(PyObject *from, Py_buffer *view, char kind, int writable, const char *what)
{
    const int flags = PyBUF_C_CONTIGUOUS | PyBUF_FORMAT | (writable ? PyBUF_WRITABLE : 0);
    if (PyObject_GetBuffer(from, view, flags))
        return -1;
    const char *format = view->format ? view->format : "B";
    const int fits = kind == 'd' ? !strcmp(format, "d")
                     : (strchr("ilq", format[0]) != NULL && !format[1]
                        && view->itemsize == (kind == 'i' ? 4 : 8));
    if (fits)
        return 0;
    PyBuffer_Release(view);
    PyErr_Format(PyExc_TypeError, "%s: the buffer holds '%s', not %s.", what, format,
                 kind == 'd' ? "float64" : kind == 'i' ? "int32" : "int64");
    return -1;
}

static long length_of(const Py_buffer *view)
{
    return (long)(view->len / view->itemsize);
}

static int get_values(Machine *machine, PyObject *from, Py_buffer *view)
{
    if (get_buffer(from, view, 'd', 1, "values"))
        return -1;
    if (length_of(view) == machine->plan.size)
        return 0;
    PyErr_Format(PyExc_ValueError, "values: %ld numbers; this program has %ld slots.",
                 length_of(view), machine->plan.size);
    PyBuffer_Release(view);
    return -1;
}

static void raise_fault(const Fault *fault)
{
    static const char *const names[KINDS] = {[TAKE] = "take", [PUT] = "put", [GET] = "get"};
    char text[100];
    snprintf(text, sizeof text, "%s: index %g of %ld rows", names[fault->kind], fault->index,
             fault->rows);
    PyErr_SetString(PyExc_IndexError, text);
}

static int run_once(Machine *machine, double *values)
{
    Fault fault = {0, 0.0, 0};
    int result;
    double *own = machine->busy ? aligned(machine->plan.scratch) : NULL;
    if (machine->busy && !own) {
        PyErr_NoMemory();
        return -1;
    }
    double *scratch = own ? own : machine->scratch;
    if (machine->plan.work < BRIEF) {
        result = machine->isa->run(&machine->plan, values, scratch, &fault);
    } else {
        if (!own)
            machine->busy = 1;
        Py_BEGIN_ALLOW_THREADS
        result = machine->isa->run(&machine->plan, values, scratch, &fault);
        Py_END_ALLOW_THREADS
        if (!own)
            machine->busy = 0;
    }
    free(own);
    if (result < 0)
        raise_fault(&fault);
    return result;
}

static PyObject *machine_run(PyObject *self, PyObject *from)
{
    Machine *machine = (Machine *)self;
    Py_buffer values;
    if (get_values(machine, from, &values))
        return NULL;
    const int result = run_once(machine, values.buf);
    PyBuffer_Release(&values);
    if (result < 0)
        return NULL;
    Py_RETURN_NONE;
}

/* Whether all numbers that must be finite are; slots are `lanes` numbers apart. */
static int is_finite(const Machine *machine, const double *values, long lanes)
{
    for (long k = 0; k < machine->finite_count; k++) {
        const long first = machine->finite[2 * k], end = machine->finite[2 * k + 1];
        if (!machine->isa->all_finite((end - first) * lanes, values + first * lanes))
            return 0;
    }
    return 1;
}

#include "vm_step.h"
#include "vm_batch.h"

static PyObject *machine_isa(PyObject *self, void *closure)
{
    (void)closure;
    return PyUnicode_FromString(((Machine *)self)->isa->name);
}

static PyMethodDef machine_methods[] = {
    {"run", machine_run, METH_O, "run(values): execute all instructions, in place."},
    {"step", (PyCFunction)(void (*)(void))machine_step, METH_FASTCALL,
     "step(values, inputs, guards, optimiser): copy in, run, look at guards, take a step."},
    {"batch", (PyCFunction)(void (*)(void))machine_batch, METH_FASTCALL,
     "batch(values, start, stop, lanes, columns, outputs, sums, totals, guards): many rows."},
    {NULL, NULL, 0, NULL},
};
static PyGetSetDef machine_fields[] = {
    {"isa", machine_isa, NULL, "The instruction set in use.", NULL},
    {NULL, NULL, NULL, NULL, NULL},
};
static PyType_Slot machine_slots[] = {
    {Py_tp_dealloc, machine_free},
    {Py_tp_methods, machine_methods},
    {Py_tp_getset, machine_fields},
    {Py_tp_doc, "A program, loaded. Made by load()."},
    {0, NULL},
};
static PyType_Spec machine_spec = {
    "minigrad._vm.Machine", sizeof(Machine), 0,
    Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION, machine_slots,
};
static PyTypeObject *machine_type;

/* ---- loading ---- */

static const char *decode(Plan *plan, const Py_buffer *words, const Py_buffer *pool,
                          const Py_buffer *numbers)
{
    const int64_t *w = words->buf;
    const long length = length_of(words);
    long at = 0, count = 0;
    for (; at < length; count++) {
        if (length - at < HEAD_WORDS || w[at + 8] < 0 || w[at + 8] > MOST_REFS
            || length - at < HEAD_WORDS + w[at + 8] * REF_WORDS)
            return "words that end too soon";
        at += HEAD_WORDS + (long)w[at + 8] * REF_WORDS;
    }
    if (count > INT32_MAX) /* the stream has 32 bits for the place of one */
        return "too many behind it";
    plan->codes = calloc(count ? count : 1, sizeof(Code));
    plan->pool = malloc(pool->len ? pool->len : 1);
    if (!plan->codes || !plan->pool)
        return "no memory";
    if (pool->len)
        memcpy(plan->pool, pool->buf, pool->len);
    plan->scratch = (MOST_REFS + 1) * CHUNK;
    for (at = 0; plan->count < count; plan->count++) {
        Code *c = &plan->codes[plan->count];
        const char *wrong =
            decode_one(c, w + at, plan, length_of(pool), numbers->buf, length_of(numbers));
        if (wrong)
            return wrong;
        if (c->kind == MM)
            c->swap = mm_cost(c, 1) < mm_cost(c, 0);
        const size_t needed = scratch_of(c);
        plan->scratch = needed > plan->scratch ? needed : plan->scratch;
        plan->work += 30.0 + (double)c->d0 * c->d1 * c->d2;
        at += HEAD_WORDS + c->refs * REF_WORDS;
    }
    return write_stream(&plan->stream, plan->codes, count) < 0 ? "no memory" : NULL;
}

/* Remember which ranges of slots must be finite. */
static int keep_finite(Machine *machine, PyObject *from)
{
    Py_buffer view;
    if (get_buffer(from, &view, 'q', 0, "finite"))
        return -1;
    const int64_t *pairs = view.buf;
    const long count = length_of(&view);
    int fits = count % 2 == 0;
    for (long k = 0; k + 1 < count && fits; k += 2)
        fits = pairs[k] >= 0 && pairs[k] <= pairs[k + 1] && pairs[k + 1] <= machine->plan.size;
    if (!fits)
        PyErr_SetString(PyExc_ValueError, "load: ranges that lie outside the buffer.");
    else if (count && !(machine->finite = malloc(view.len)))
        fits = 0, PyErr_NoMemory();
    if (fits && count) {
        memcpy(machine->finite, pairs, view.len);
        machine->finite_count = count / 2;
    }
    PyBuffer_Release(&view);
    return fits ? 0 : -1;
}

static PyObject *load(PyObject *module, PyObject *arguments)
{
    PyObject *words, *pool, *numbers, *finite = NULL;
    Py_ssize_t size;
    const char *name = NULL;
    (void)module;
    if (!PyArg_ParseTuple(arguments, "OOOn|zO:load", &words, &pool, &numbers, &size, &name, &finite))
        return NULL;
    const Isa *isa = NULL;
    for (int k = 0; k < ISAS && !isa; k++)
        if (is_here(&isas[k]) && (!name || !strcmp(name, isas[k].name)))
            isa = &isas[k];
    if (!isa)
        return PyErr_Format(PyExc_ValueError, "load: this processor has no %s.", name);
    if (size < 0 || size > INT32_MAX)
        return PyErr_Format(PyExc_ValueError, "load: a program of %zd slots.", size);
    Py_buffer w, p, x;
    if (get_buffer(words, &w, 'q', 0, "words"))
        return NULL;
    if (get_buffer(pool, &p, 'i', 0, "pool")) {
        PyBuffer_Release(&w);
        return NULL;
    }
    if (get_buffer(numbers, &x, 'd', 0, "numbers")) {
        PyBuffer_Release(&w);
        PyBuffer_Release(&p);
        return NULL;
    }
    Machine *machine = (Machine *)machine_type->tp_alloc(machine_type, 0);
    if (machine) {
        machine->isa = isa;
        machine->plan.size = (long)size;
        const char *wrong = decode(&machine->plan, &w, &p, &x);
        if (!wrong && !(machine->scratch = aligned(machine->plan.scratch)))
            wrong = "no memory";
        if (wrong)
            PyErr_Format(PyExc_ValueError, "load: instruction %ld has %s.", machine->plan.count,
                         wrong);
        if (wrong || (finite && keep_finite(machine, finite) < 0))
            Py_CLEAR(machine);
    }
    PyBuffer_Release(&w);
    PyBuffer_Release(&p);
    PyBuffer_Release(&x);
    return (PyObject *)machine;
}

static PyObject *list_isas(PyObject *module, PyObject *nothing)
{
    (void)module, (void)nothing;
    PyObject *found = PyList_New(0);
    for (int k = 0; found && k < ISAS; k++) {
        PyObject *name = is_here(&isas[k]) ? PyUnicode_FromString(isas[k].name) : NULL;
        if (name && PyList_Append(found, name))
            Py_CLEAR(found);
        Py_XDECREF(name);
    }
    return found;
}

static PyMethodDef functions[] = {
    {"load", load, METH_VARARGS, "load(words, pool, numbers, size, isa=None, finite=…) -> Machine"},
    {"isas", list_isas, METH_NOARGS, "The instruction sets of this processor, best first."},
    {NULL, NULL, 0, NULL},
};
static struct PyModuleDef definition = {
    PyModuleDef_HEAD_INIT, "_vm", "Runs compiled programs; see vm.c.", -1, functions,
    NULL, NULL, NULL, NULL,
};

PyMODINIT_FUNC PyInit__vm(void)
{
#if MANY_ISAS
    __builtin_cpu_init();
#endif
    PyObject *module = PyModule_Create(&definition);
    if (module && !(machine_type = (PyTypeObject *)PyType_FromSpec(&machine_spec)))
        Py_CLEAR(module);
    return module;
}
