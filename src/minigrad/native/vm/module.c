/* minigrad._vm: runs the programs of minigrad.compiler.

   load(words, pool, numbers, size, isa) decodes and checks a program (program.c), writes short
   instructions out once more (stream.c), and returns a Machine, which runs it in buffers of the
   caller's: `run` and `step` (step.c) for one row of data, `batch` (batch.c) for many, and
   `repeat` (repeat.c) for a whole call of a compiled function. The machine
   proper, isa/body.h, is compiled for several instruction sets (isas.c); `load` takes the best that
   this processor has. No function of the Python API is called while a program runs. */

#include "calls.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- machines ---- */

/* Programs of less work than this keep the global lock: releasing it would take longer. */
static const double LEAST_UNLOCKED = 1e6;

int refuse(PyObject *exception, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    PyErr_FormatV(exception, format, arguments);
    va_end(arguments);
    return -1;
}

double *aligned(size_t count)
{
    void *found = NULL;
    return posix_memalign(&found, 64, (count + 8) * sizeof(double)) ? NULL : found;
}

static void machine_free(PyObject *self)
{
    Machine *machine = (Machine *)self;
    PyTypeObject *type = Py_TYPE(self);
    free(machine->plan.instructions);
    free(machine->plan.stream.words);
    leave_lanes(machine->lanes);
    free(machine->plan.pool);
    free(machine->scratch);
    free(machine->finite);
    type->tp_free(self);
    Py_DECREF(type);
}

int get_buffer(PyObject *from, Py_buffer *view, char kind, int writable, const char *what)
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
    refuse(PyExc_TypeError, "%s: the buffer holds '%s', not %s.", what, format,
           kind == 'd' ? "float64" : kind == 'i' ? "int32" : "int64");
    PyBuffer_Release(view);
    return -1;
}

int get_values(Machine *machine, PyObject *from, Py_buffer *view)
{
    if (get_buffer(from, view, 'd', 1, "values"))
        return -1;
    if (length_of(view) == machine->plan.size)
        return 0;
    refuse(PyExc_ValueError, "values: %ld numbers; this program has %ld slots.", length_of(view),
           machine->plan.size);
    PyBuffer_Release(view);
    return -1;
}

PyObject *raise_fault(const Fault *fault)
{
    static const char *const names[KINDS] = {[TAKE] = "take", [PUT] = "put", [GET] = "get"};
    char text[100];
    snprintf(text, sizeof text, "%s: index %g of %ld rows", names[fault->kind], fault->index,
             fault->rows);
    return PyErr_Format(PyExc_IndexError, "%s", text);
}

int releases_lock(const Machine *machine)
{
    return machine->plan.work >= LEAST_UNLOCKED;
}

int run_once(Machine *machine, double *values)
{
    Fault fault = {0, 0.0, 0};
    double *own = machine->busy ? aligned(machine->plan.scratch) : NULL;
    if (machine->busy && !own) {
        PyErr_NoMemory();
        return -1;
    }
    const int unlocked = releases_lock(machine);
    machine->busy += unlocked;
    PyThreadState *state = unlocked ? PyEval_SaveThread() : NULL;
    const int result = machine->isa->run(&machine->plan, values, own ? own : machine->scratch,
                                         &fault);
    if (unlocked)
        PyEval_RestoreThread(state);
    machine->busy -= unlocked;
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

int is_finite(const Machine *machine, const double *values, long lanes)
{
    for (long k = 0; k < machine->finite_count; k++) {
        const long first = machine->finite[2 * k], end = machine->finite[2 * k + 1];
        if (!machine->isa->all_finite((end - first) * lanes, values + first * lanes))
            return 0;
    }
    return 1;
}

static PyMethodDef machine_methods[] = {
    {"run", machine_run, METH_O, "run(values): execute all instructions, in place."},
    {"step", (PyCFunction)(void (*)(void))machine_step, METH_FASTCALL,
     "step(values, inputs, guards, update): copy in, run, look at guards, move parameters."},
    {"batch", (PyCFunction)(void (*)(void))machine_batch, METH_FASTCALL,
     "batch(values, start, stop, lanes, columns, outputs, sums, totals, guards): many rows."},
    {NULL, NULL, 0, NULL},
};
static PyType_Slot machine_slots[] = {
    {Py_tp_dealloc, machine_free},
    {Py_tp_methods, machine_methods},
    {Py_tp_doc, "A program, loaded. Made by load()."},
    {0, NULL},
};
static PyType_Spec machine_spec = {
    "minigrad._vm.Machine", sizeof(Machine), 0,
    Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION, machine_slots,
};
static PyTypeObject *machine_type;

PyTypeObject *machine_class(void)
{
    return machine_type;
}

/* ---- loading ---- */

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
    if (!fits) {
        PyErr_SetString(PyExc_ValueError, "load: ranges that lie outside the buffer.");
    } else if (!(machine->finite = malloc(view.len + 1))) {
        PyErr_NoMemory();
    } else {
        memcpy(machine->finite, pairs, view.len);
        machine->finite_count = count / 2;
    }
    PyBuffer_Release(&view);
    return machine->finite ? 0 : -1;
}

static PyObject *load(PyObject *module, PyObject *arguments)
{
    PyObject *words, *pool, *numbers, *finite = NULL;
    Py_ssize_t size;
    const char *name = NULL;
    (void)module;
    if (!PyArg_ParseTuple(arguments, "OOOn|zO:load", &words, &pool, &numbers, &size, &name,
                          &finite))
        return NULL;
    const Isa *isa = supported_isa(0);
    for (int k = 1; isa && name && strcmp(name, isa->name); k++)
        isa = supported_isa(k);
    if (!isa)
        return PyErr_Format(PyExc_ValueError, "load: this processor has no %s.", name);
    if (size < 0 || size > INT32_MAX)
        return PyErr_Format(PyExc_ValueError, "load: a program of %zd slots.", size);
    Machine *machine = NULL;
    Py_buffer w = {0}, p = {0}, x = {0};
    if (!get_buffer(words, &w, 'q', 0, "words") && !get_buffer(pool, &p, 'i', 0, "pool")
        && !get_buffer(numbers, &x, 'd', 0, "numbers"))
        machine = (Machine *)machine_type->tp_alloc(machine_type, 0);
    if (machine) {
        machine->isa = isa;
        machine->plan.size = (long)size;
        const Words all = {w.buf, p.buf, x.buf, length_of(&w), length_of(&p), length_of(&x)};
        const char *wrong = decode(&machine->plan, &all);
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
    const Isa *isa;
    for (int k = 0; found && (isa = supported_isa(k)); k++) {
        PyObject *name = PyUnicode_FromString(isa->name);
        if (!name || PyList_Append(found, name))
            Py_CLEAR(found);
        Py_XDECREF(name);
    }
    return found;
}

static PyMethodDef functions[] = {
    {"load", load, METH_VARARGS, "load(words, pool, numbers, size, isa=None, finite=…) -> Machine"},
    {"formula", formula_load, METH_VARARGS,
     "formula(text, columns, settings, uniform, constants, rows, results) -> Formula"},
    {"connect", connect_engine, METH_VARARGS,
     "connect(node, data, value, ndarray, floating, integer, writebacks, flush, clock, writes): see "
     "calls.h."},
    {"refill", (PyCFunction)(void (*)(void))refill, METH_FASTCALL,
     "refill(tree, key, numbers, at, sources, other): see compiler/arguments/refill.py."},
    {"first_changed", (PyCFunction)(void (*)(void))first_changed, METH_FASTCALL,
     "first_changed(ways, places, then, at): see compiler/tracing/unchanged.py."},
    {"first_moved", (PyCFunction)(void (*)(void))first_moved, METH_FASTCALL,
     "first_moved(spaces, words, then, missing, at): see compiler/tracing/unchanged.py."},
    {"attributes_of", attributes_of, METH_O, "The dict of an object's attributes, or None."},
    {"repeat", (PyCFunction)(void (*)(void))make_repeat, METH_VARARGS | METH_KEYWORDS,
     "A call like the one before it; see compiler/repeat.py."},
    {"isas", list_isas, METH_NOARGS, "The instruction sets of this processor, best first."},
    {NULL, NULL, 0, NULL},
};
static struct PyModuleDef definition = {
    PyModuleDef_HEAD_INIT, "_vm", "Runs compiled programs; see module.c.", -1, functions,
    NULL, NULL, NULL, NULL,
};

PyMODINIT_FUNC PyInit__vm(void)
{
    PyObject *module = PyModule_Create(&definition);
    if (module
        && (!(machine_type = (PyTypeObject *)PyType_FromSpec(&machine_spec)) || !formula_type()
            || add_call_types(module)))
        Py_CLEAR(module);
    return module;
}
