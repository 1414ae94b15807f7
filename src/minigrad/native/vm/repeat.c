/* A call like the one before it, from arguments to results in one piece.

   A `Repeat` has all that such a call needs: the key of its arguments, what the function read
   besides them, a machine with its buffer and guards, and what becomes of the numbers. Whatever is
   not as it was (another structure, an open block, a changed global, a guard that fails, inf, an
   audit that is due) goes the long way, through compiler/dispatch.py, which makes and takes away
   repeats; compiler/repeat.py says the same in Python.

   From the first number that is written into the buffer to the last that is read, nothing is
   allocated that a collector watches, no Python code runs, and the global lock is not released. So
   no other thread, signal handler or finalizer comes in between, and the machine's own lock need
   only be free. */

#include "calls.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <structmember.h>
#include <time.h>

enum { MOST_VALUES = 64 }; /* Values among the arguments: with more, the long way is as good */
enum { PAUSE = 16 };       /* calls that go the long way after one that had to be run twice */

enum { SLOTS = 4 };        /* of a `Gradients` */

enum { LEAF, FUSED, GRADIENT }; /* what becomes of the numbers */

/* The order of the names in `make_repeat`. */
enum {
    ARGS, KWARGS, WAYS, THINGS, CONTENTS, SPACES, WORDS, MEANT, MISSING, BLOCKS, RUNNING, CAPTURED,
    LOCKED, KEPT, MAKE, BY, ASKED, MACHINE, OBJECTS
};

typedef struct {
    PyObject_HEAD
    PyObject *objects[OBJECTS];
    int kind, pause;
    long long writes; /* in `world`, when the captured nodes were read */
    Py_buffer values;
    Slots guards;
    Versions versions; /* of the classes among THINGS */
    long parameters, count, adjoints, inputs, result;
    long *places, place_count; /* FUSED: of the arguments that are Values; GRADIENT: of wholes */
    Py_ssize_t slots[SLOTS];   /* GRADIENT: where the object has its fields */
} Repeat;

/* The base of `Dispatcher`: the calls of a function, counted, and how the next one may go. */
typedef struct {
    PyObject_HEAD
    long long calls, left;
    double seconds; /* that the latest call took which was looked at, the last before `left` is 1 */
    PyObject *repeated_call, *repeated_gradient; /* each a Repeat, or NULL */
} Calls;

/* The base of `Compiled`. */
typedef struct {
    PyObject_HEAD
    PyObject *dispatch; /* a Calls, or NULL before it is made */
} Entry;

static PyTypeObject *repeat_type, *calls_type, *entry_type;
static PyObject *array_type, *text_d, *text_call, *text_gradient;

/* ---- results ---- */

/* The Values among the arguments, which nobody holds but the arguments. */
static void hold(const Source *sources, Py_ssize_t count)
{
    for (Py_ssize_t k = 0; k < count; k++)
        Py_INCREF(sources[k].value);
}

static PyObject *listed_sources(const Repeat *repeat, const Source *sources, Py_ssize_t count)
{
    if (!count)
        return PyTuple_New(0);
    PyObject *found = PyList_New(count);
    for (Py_ssize_t k = 0; found && k < count; k++) {
        PyObject *pair = Py_BuildValue("nO", sources[k].at - repeat->parameters, sources[k].value);
        if (pair)
            PyList_SET_ITEM(found, k, pair);
        else
            Py_CLEAR(found);
    }
    return found;
}

/* (value, Gradients): the latter has the numbers, and whatever is asked of it is made of them then. */
static PyObject *gradient(Repeat *repeat, double value, PyObject *found, const Source *sources,
                          Py_ssize_t count)
{
    PyTypeObject *kind = (PyTypeObject *)repeat->objects[MAKE];
    PyObject *given = found ? listed_sources(repeat, sources, count) : NULL;
    PyObject *made = given ? kind->tp_alloc(kind, 0) : NULL;
    PyObject *number = made ? PyFloat_FromDouble(value) : NULL;
    PyObject *pair = number ? PyTuple_New(2) : NULL;
    if (!pair) {
        Py_XDECREF(found), Py_XDECREF(given), Py_XDECREF(made), Py_XDECREF(number);
        return NULL;
    }
    PyObject *fields[SLOTS] = {Py_NewRef(repeat->objects[BY]), found, given, Py_NewRef(Py_None)};
    for (int k = 0; k < SLOTS; k++)
        *(PyObject **)((char *)made + repeat->slots[k]) = fields[k];
    PyTuple_SET_ITEM(pair, 0, number);
    PyTuple_SET_ITEM(pair, 1, made);
    return pair;
}

/* A node with known derivatives by what is captured and by the Values given. */
static PyObject *fused(Repeat *repeat, double value, PyObject *found, const Source *sources,
                       Py_ssize_t count)
{
    PyObject *captured = repeat->objects[CAPTURED], *operands = captured;
    const Py_ssize_t own = PyTuple_GET_SIZE(captured);
    if (count && (operands = PyTuple_New(own + count))) {
        for (Py_ssize_t k = 0; k < own; k++)
            PyTuple_SET_ITEM(operands, k, Py_NewRef(PyTuple_GET_ITEM(captured, k)));
        for (Py_ssize_t k = 0; k < count; k++)
            PyTuple_SET_ITEM(operands, own + k, Py_NewRef(sources[k].value));
    } else {
        Py_XINCREF(operands);
    }
    PyObject *partials = found && operands
                             ? PyObject_CallFunctionObjArgs(array_type, text_d, found, NULL) : NULL;
    PyObject *number = partials ? PyFloat_FromDouble(value) : NULL;
    PyObject *made = number ? PyObject_CallFunctionObjArgs(repeat->objects[MAKE], number, operands,
                                                           partials, NULL) : NULL;
    Py_XDECREF(found), Py_XDECREF(operands), Py_XDECREF(partials), Py_XDECREF(number);
    return made;
}

static PyObject *leaf(Repeat *repeat, double value)
{
    PyObject *number = PyFloat_FromDouble(value);
    PyObject *made = number ? PyObject_CallOneArg(repeat->objects[MAKE], number) : NULL;
    Py_XDECREF(number);
    return made;
}

/* The derivatives that somebody gets, as bytes. */
static PyObject *derivatives(const Repeat *repeat, const double *values)
{
    const double *from = values + repeat->adjoints;
    const PyObject *asked = repeat->objects[ASKED];
    if (asked != Py_None) { /* by what is captured; what others are made of lies behind it */
        const size_t own = repeat->parameters * sizeof(double);
        PyObject *found = PyBytes_FromStringAndSize(NULL, own + repeat->inputs * sizeof(double));
        if (found) {
            memcpy(PyBytes_AS_STRING(found), from, own);
            memcpy(PyBytes_AS_STRING(found) + own, values, repeat->inputs * sizeof(double));
        }
        return found;
    }
    if (repeat->kind == GRADIENT) {
        PyObject *found = PyBytes_FromStringAndSize((const char *)from,
                                                    repeat->inputs * sizeof(double));
        for (long k = 0; found && k < repeat->place_count; k++) /* by whole numbers there are none */
            ((double *)PyBytes_AS_STRING(found))[repeat->parameters + repeat->places[k]] = 0.0;
        return found;
    }
    const long count = repeat->parameters + repeat->place_count;
    PyObject *found = PyBytes_FromStringAndSize(NULL, count * sizeof(double));
    if (found) {
        double *to = (double *)PyBytes_AS_STRING(found);
        memcpy(to, from, repeat->parameters * sizeof(double));
        for (long k = 0; k < repeat->place_count; k++)
            to[repeat->parameters + k] = from[repeat->parameters + repeat->places[k]];
    }
    return found;
}

/* ---- a call ---- */

static int is_like_before(const Repeat *repeat)
{
    PyObject *const *x = repeat->objects;
    return first_new_meaning(x[SPACES], x[WORDS], x[MEANT], x[MISSING], 0) < 0
           && first_other(x[WAYS], x[THINGS], x[CONTENTS], 0, &repeat->versions) < 0;
}

/* Whether somebody wants what this repeat leaves out. */
static int is_asked(PyObject *asked)
{
    return asked != Py_None && PyList_GET_SIZE(asked);
}

static int is_free(PyObject *locked)
{
    PyObject *found = PyObject_CallNoArgs(locked);
    Py_XDECREF(found); /* True and False stay */
    return found == Py_False;
}

/* Write the numbers of a call into the buffer; whether its arguments have the structure of before.

   Nodes lie all over the memory, and reading thousands of them takes half as long as a run. As long
   as no number was written into any node, their numbers lie there still: a run does not write to its
   inputs, and who else fills this buffer fills it from the same nodes. */
static int fill_in(Repeat *repeat, PyObject *args, PyObject *kwargs, Fill *fill)
{
    PyObject *captured = repeat->objects[CAPTURED];
    if (repeat->writes != *world.writes)
        for (long k = 0; k < repeat->parameters; k++)
            fill->x[k] = number_of(PyTuple_GET_ITEM(captured, k));
    repeat->writes = *world.writes;
    Py_ssize_t at = refill_tree(fill, args, repeat->objects[ARGS], repeat->parameters);
    if (at >= 0 && kwargs)
        at = refill_tree(fill, kwargs, repeat->objects[KWARGS], at);
    return at == fill->room;
}

static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

/* The result of a call, or NULL: with an exception, or without one if it has to go the long way. */
static PyObject *repeated(Repeat *repeat, Calls *calls, PyObject *args, PyObject *kwargs)
{
    Machine *machine = (Machine *)repeat->objects[MACHINE];
    double *values = repeat->values.buf;
    if (kwargs && !PyDict_GET_SIZE(kwargs))
        kwargs = NULL;
    if (calls->left <= 1 || PyDict_GET_SIZE(repeat->objects[BLOCKS])
        || PyList_GET_SIZE(world.writebacks) || is_asked(repeat->objects[ASKED])
        || PySet_GET_SIZE(repeat->objects[RUNNING])
        || (repeat->objects[KWARGS] == Py_None) != !kwargs)
        return NULL;
    if (repeat->pause) {
        repeat->pause--;
        return NULL;
    }
    if (!is_like_before(repeat) || !is_free(repeat->objects[LOCKED]))
        return NULL;
    Source sources[MOST_VALUES];
    Fill fill = {.x = values, .room = repeat->parameters + repeat->count, .sources = sources,
                 .most = MOST_VALUES};
    if (!fill_in(repeat, args, kwargs, &fill) || PyErr_Occurred())
        return NULL;
    if (run_once(machine, values) < 0)
        return NULL;
    if (failed_guard(&repeat->guards, values) >= 0 || !is_finite(machine, values, 1)) {
        repeat->pause = PAUSE;
        return NULL;
    }
    const double value = values[repeat->result];
    PyObject *found = repeat->kind == LEAF ? NULL : derivatives(repeat, values);
    /* All numbers are read: from here on anything may happen. */
    calls->calls++, calls->left--;
    if (repeat->kind == LEAF)
        return leaf(repeat, value);
    hold(sources, fill.count);
    PyObject *made = (repeat->kind == FUSED ? fused : gradient)(repeat, value, found, sources,
                                                                fill.count);
    for (Py_ssize_t k = 0; k < fill.count; k++)
        Py_DECREF(sources[k].value);
    return made;
}

static PyObject *call_by(PyObject *self, PyObject *args, PyObject *kwargs, size_t which,
                         PyObject *long_way)
{
    Calls *calls = (Calls *)((Entry *)self)->dispatch;
    PyObject *repeat = calls ? *(PyObject **)((char *)calls + which) : NULL;
    if (repeat) {
        Py_INCREF(repeat), Py_INCREF(calls); /* somebody may take them away meanwhile */
        const int is_last = calls->left == 2; /* of those before the clock is looked at */
        const double started = is_last ? now() : 0.0;
        PyObject *made = repeated((Repeat *)repeat, calls, args, kwargs);
        if (is_last && made)
            calls->seconds = now() - started;
        Py_DECREF(repeat), Py_DECREF(calls);
        if (made || PyErr_Occurred())
            return made;
    }
    PyObject *names = kwargs ? Py_NewRef(kwargs) : PyDict_New();
    PyObject *made = names ? PyObject_CallMethodObjArgs(self, long_way, args, names, NULL) : NULL;
    Py_XDECREF(names);
    return made;
}

static PyObject *entry_call(PyObject *self, PyObject *args, PyObject *kwargs)
{
    return call_by(self, args, kwargs, offsetof(Calls, repeated_call), text_call);
}

static PyObject *entry_gradient(PyObject *self, PyObject *args, PyObject *kwargs)
{
    return call_by(self, args, kwargs, offsetof(Calls, repeated_gradient), text_gradient);
}

/* ---- Entry ---- */

static int entry_traverse(PyObject *self, visitproc visit, void *arg)
{
    Py_VISIT(Py_TYPE(self));
    Py_VISIT(((Entry *)self)->dispatch);
    return 0;
}

static int entry_clear(PyObject *self)
{
    Py_CLEAR(((Entry *)self)->dispatch);
    return 0;
}

static void free_cleared(PyObject *self, inquiry clear)
{
    PyTypeObject *type = Py_TYPE(self); /* a subclass, mostly */
    PyObject_GC_UnTrack(self);
    clear(self);
    type->tp_free(self);
    Py_DECREF(type);
}

static void entry_free(PyObject *self)
{
    free_cleared(self, entry_clear);
}

static int set_object(PyObject **place, PyObject *to, PyTypeObject *kind, const char *what)
{
    if (to && to != Py_None && !PyObject_TypeCheck(to, kind))
        return refuse(PyExc_TypeError, "%s: got %s.", what, Py_TYPE(to)->tp_name);
    Py_XSETREF(*place, to && to != Py_None ? Py_NewRef(to) : NULL);
    return 0;
}

static PyObject *get_dispatch(PyObject *self, void *nothing)
{
    (void)nothing;
    PyObject *found = ((Entry *)self)->dispatch;
    return found ? Py_NewRef(found) : PyErr_Format(PyExc_AttributeError, "dispatch");
}

static int set_dispatch(PyObject *self, PyObject *to, void *nothing)
{
    (void)nothing;
    return set_object(&((Entry *)self)->dispatch, to, calls_type, "dispatch");
}

static PyMethodDef entry_methods[] = {
    {"value_and_grad", (PyCFunction)(void (*)(void))entry_gradient, METH_VARARGS | METH_KEYWORDS,
     "value_and_grad($self, /, *args, **kwargs)\n--\n\n"
     "Return the value and its derivatives by the arguments and by what it closes over."},
    {NULL, NULL, 0, NULL},
};
static PyGetSetDef entry_fields[] = {
    {"dispatch", get_dispatch, set_dispatch, "The programs of the function.", NULL},
    {NULL, NULL, NULL, NULL, NULL},
};
static PyType_Slot entry_slots[] = {
    {Py_tp_call, entry_call},         {Py_tp_methods, entry_methods},
    {Py_tp_getset, entry_fields},     {Py_tp_dealloc, entry_free},
    {Py_tp_traverse, entry_traverse}, {Py_tp_clear, entry_clear},
    {Py_tp_doc, "A compiled function as it is called."}, {0, NULL},
};
static PyType_Spec entry_spec = {
    "minigrad._vm.Entry", sizeof(Entry), 0,
    Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_HAVE_GC, entry_slots,
};

/* ---- Calls ---- */

static int calls_traverse(PyObject *self, visitproc visit, void *arg)
{
    Py_VISIT(Py_TYPE(self));
    Py_VISIT(((Calls *)self)->repeated_call);
    Py_VISIT(((Calls *)self)->repeated_gradient);
    return 0;
}

static int calls_clear(PyObject *self)
{
    Py_CLEAR(((Calls *)self)->repeated_call);
    Py_CLEAR(((Calls *)self)->repeated_gradient);
    return 0;
}

static void calls_free(PyObject *self)
{
    free_cleared(self, calls_clear);
}

static PyObject *get_repeat(PyObject *self, void *place)
{
    PyObject *found = *(PyObject **)((char *)self + (size_t)place);
    return Py_NewRef(found ? found : Py_None);
}

static int set_repeat(PyObject *self, PyObject *to, void *place)
{
    return set_object((PyObject **)((char *)self + (size_t)place), to, repeat_type, "a repeat");
}

static PyMemberDef calls_members[] = {
    {"calls", T_LONGLONG, offsetof(Calls, calls), 0, "Calls so far."},
    {"seconds", T_DOUBLE, offsetof(Calls, seconds), 0, "What a repeat took; 0: there was none."},
    {"left", T_LONGLONG, offsetof(Calls, left), 0, "Calls until somebody looks at the clock."},
    {NULL, 0, 0, 0, NULL},
};
static PyGetSetDef calls_fields[] = {
    {"repeated_call", get_repeat, set_repeat, "How a call may go, or None.",
     (void *)offsetof(Calls, repeated_call)},
    {"repeated_gradient", get_repeat, set_repeat, "The same for value_and_grad.",
     (void *)offsetof(Calls, repeated_gradient)},
    {NULL, NULL, NULL, NULL, NULL},
};
static PyType_Slot calls_slots[] = {
    {Py_tp_members, calls_members},   {Py_tp_getset, calls_fields},
    {Py_tp_dealloc, calls_free},      {Py_tp_traverse, calls_traverse},
    {Py_tp_clear, calls_clear},       {Py_tp_doc, "The calls of a compiled function."},
    {0, NULL},
};
static PyType_Spec calls_spec = {
    "minigrad._vm.Calls", sizeof(Calls), 0,
    Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_HAVE_GC, calls_slots,
};

/* ---- Repeat ---- */

static int repeat_traverse(PyObject *self, visitproc visit, void *arg)
{
    Py_VISIT(Py_TYPE(self));
    for (int k = 0; k < OBJECTS; k++)
        Py_VISIT(((Repeat *)self)->objects[k]);
    return 0;
}

/* Nothing is cleared while somebody may still call: a cycle is broken where it comes through. */
static void repeat_free(PyObject *self)
{
    Repeat *repeat = (Repeat *)self;
    PyTypeObject *type = Py_TYPE(self);
    PyObject_GC_UnTrack(self);
    release_slots(&repeat->guards);
    PyBuffer_Release(&repeat->values);
    free(repeat->places);
    free(repeat->versions.known);
    for (int k = 0; k < OBJECTS; k++)
        Py_XDECREF(repeat->objects[k]);
    type->tp_free(self);
    Py_DECREF(type);
}

static PyType_Slot repeat_slots[] = {
    {Py_tp_dealloc, repeat_free},
    {Py_tp_traverse, repeat_traverse},
    {Py_tp_doc, "A call like the one before it. Made by repeat()."},
    {0, NULL},
};
static PyType_Spec repeat_spec = {
    "minigrad._vm.Repeat", sizeof(Repeat), 0,
    Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_DISALLOW_INSTANTIATION, repeat_slots,
};

/* Whether everything lies where a call will look for it. */
static int check(Repeat *repeat)
{
    PyObject **x = repeat->objects;
    const long size = ((Machine *)x[MACHINE])->plan.size;
    int fits = PyList_CheckExact(x[THINGS]) && PyList_CheckExact(x[CONTENTS])
               && PyList_CheckExact(x[SPACES]) && PyList_CheckExact(x[WORDS])
               && PyList_CheckExact(x[MEANT]) && PyBytes_CheckExact(x[WAYS])
               && PyDict_CheckExact(x[BLOCKS]) && PySet_CheckExact(x[RUNNING])
               && (x[ASKED] == Py_None || PyList_CheckExact(x[ASKED]))
               && PyTuple_CheckExact(x[CAPTURED]) && world.node
               && PyTuple_GET_SIZE(x[CAPTURED]) == repeat->parameters;
    for (Py_ssize_t k = 0; fits && k < PyList_GET_SIZE(x[SPACES]); k++)
        fits = PyDict_Check(PyList_GET_ITEM(x[SPACES], k));
    for (Py_ssize_t k = 0; fits && k < repeat->parameters; k++)
        fits = PyObject_TypeCheck(PyTuple_GET_ITEM(x[CAPTURED], k), world.node);
    for (long k = 0; fits && k < repeat->place_count; k++)
        fits = is_range(repeat->places[k], 1, repeat->count);
    fits = fits && repeat->count >= 0 && repeat->inputs == repeat->parameters + repeat->count
           && is_range(0, repeat->inputs, size) && is_range(repeat->result, 1, size)
           && (repeat->kind == LEAF || is_range(repeat->adjoints, repeat->inputs, size));
    return fits ? 0 : refuse(PyExc_ValueError, "repeat: something lies outside the buffer, or is of "
                                               "another kind.");
}

static int take_places(Repeat *repeat, PyObject *places)
{
    const Py_ssize_t count = PyTuple_GET_SIZE(places);
    if (!(repeat->places = malloc(count * sizeof(long) + 1)))
        return PyErr_NoMemory(), -1;
    for (Py_ssize_t k = 0; k < count; k++)
        repeat->places[k] = PyLong_AsLong(PyTuple_GET_ITEM(places, k));
    repeat->place_count = count;
    return PyErr_Occurred() ? -1 : 0;
}

static int make_versions(Repeat *repeat)
{
    repeat->versions.count = PyBytes_GET_SIZE(repeat->objects[WAYS]);
    repeat->versions.known = calloc(repeat->versions.count + 1, sizeof(unsigned));
    return repeat->versions.known ? 0 : (PyErr_NoMemory(), -1);
}

/* Where instances of a class have its slots. */
static int find_slots(Repeat *repeat)
{
    static const char *const names[SLOTS] = {"_by", "_found", "_sources", "_made"};
    PyObject *kind = repeat->objects[MAKE];
    for (int k = 0; k < SLOTS; k++) {
        PyObject *slot = PyType_Check(kind) ? PyObject_GetAttrString(kind, names[k]) : NULL;
        const int is_slot = slot && Py_TYPE(slot) == &PyMemberDescr_Type;
        if (is_slot)
            repeat->slots[k] = ((PyMemberDescrObject *)slot)->d_member->offset;
        Py_XDECREF(slot);
        if (!is_slot)
            return refuse(PyExc_TypeError, "repeat: gradients have no slot %s.", names[k]);
    }
    return 0;
}

/* A Repeat; or None if the program releases the global lock, so that others may come in between. */
PyObject *make_repeat(PyObject *module, PyObject *arguments, PyObject *names)
{
    (void)module;
    static char *words[] = {
        "args", "kwargs", "ways", "things", "contents", "spaces", "words", "meant", "missing",
        "open_blocks", "running", "captured", "locked", "kept", "make", "by", "asked", "machine",
        "kind", "values", "guards", "parameters", "count", "adjoints", "inputs", "result",
        "places", NULL,
    };
    Repeat *repeat = (Repeat *)repeat_type->tp_alloc(repeat_type, 0);
    PyObject **x = repeat ? repeat->objects : NULL, *values, *guards, *places;
    if (!repeat)
        return NULL;
    repeat->writes = -1;
    const int is_told = PyArg_ParseTupleAndKeywords(
        arguments, names, "OOOOOOOOOOOOOOOOOO!iOOlllllO!:repeat", words, &x[ARGS], &x[KWARGS],
        &x[WAYS], &x[THINGS], &x[CONTENTS], &x[SPACES], &x[WORDS], &x[MEANT], &x[MISSING],
        &x[BLOCKS], &x[RUNNING], &x[CAPTURED], &x[LOCKED], &x[KEPT], &x[MAKE], &x[BY], &x[ASKED],
        machine_class(), &x[MACHINE], &repeat->kind, &values, &guards, &repeat->parameters,
        &repeat->count, &repeat->adjoints, &repeat->inputs, &repeat->result, &PyTuple_Type, &places);
    for (int k = 0; k < OBJECTS; k++)
        Py_XINCREF(x[k]);
    if (!is_told || take_places(repeat, places) || check(repeat)
        || make_versions(repeat)
        || get_values((Machine *)x[MACHINE], values, &repeat->values)
        || get_guards(guards, &repeat->guards, ((Machine *)x[MACHINE])->plan.size)
        || (repeat->kind == GRADIENT && find_slots(repeat))) {
        Py_DECREF(repeat);
        return NULL;
    }
    if (releases_lock((Machine *)x[MACHINE])) {
        Py_DECREF(repeat);
        Py_RETURN_NONE;
    }
    return (PyObject *)repeat;
}

int add_call_types(PyObject *module)
{
    PyObject *arrays = PyImport_ImportModule("array");
    array_type = arrays ? PyObject_GetAttrString(arrays, "array") : NULL;
    Py_XDECREF(arrays);
    text_d = PyUnicode_InternFromString("d");
    text_call = PyUnicode_InternFromString("_call");
    text_gradient = PyUnicode_InternFromString("_value_and_grad");
    repeat_type = (PyTypeObject *)PyType_FromSpec(&repeat_spec);
    calls_type = (PyTypeObject *)PyType_FromSpec(&calls_spec);
    entry_type = (PyTypeObject *)PyType_FromSpec(&entry_spec);
    if (!array_type || !text_d || !text_call || !text_gradient || !repeat_type || !calls_type
        || !entry_type)
        return -1;
    return PyModule_AddObjectRef(module, "Calls", (PyObject *)calls_type) < 0
                   || PyModule_AddObjectRef(module, "Entry", (PyObject *)entry_type) < 0 ? -1 : 0;
}
