/* The numbers of arguments, when their structure is the one of last time: what refill.py says, in C.

   Keys are those of compiler/arguments/structure.py, in plain tuples: a class for one number,
   (kind, length, class) for many alike, (kind, keys) and (dict, ((name, key, kind), …)) for
   containers, (ndarray, shape, class) for arrays, and ("object", id) or the like for what must not
   differ. */

#include "calls.h"

#include <string.h>

World world;

static const long long EXACT = 1LL << 53; /* whole numbers beyond have no float of their own */

#define IS_CLASS(key, kind) ((key) == (PyObject *)&(kind))

static inline Py_ssize_t put(Fill *fill, Py_ssize_t at, double x)
{
    if (at >= fill->room) {
        PyErr_SetString(PyExc_IndexError, "more numbers than there is room for.");
        return RAISED;
    }
    fill->x[at] = x;
    return at + 1;
}

static Py_ssize_t put_whole(Fill *fill, Py_ssize_t at, PyObject *whole)
{
    int beyond;
    const long long n = PyLong_AsLongLongAndOverflow(whole, &beyond);
    if (n == -1 && !beyond && PyErr_Occurred())
        return RAISED;
    return beyond || n > EXACT || n < -EXACT ? ANOTHER : put(fill, at, (double)n);
}

/* A number that is not Python's own may be NumPy's, and counts as one of Python's then. */
static Py_ssize_t put_numpy(Fill *fill, Py_ssize_t at, PyObject *part, PyObject *key)
{
    if (IS_CLASS(key, PyFloat_Type) && PyObject_TypeCheck(part, world.floating)) {
        if (!fill->other && !PyFloat_Check(part)) /* asking a float32 for its number is a call */
            return ANOTHER;
        const double x = PyFloat_AsDouble(part);
        return x == -1.0 && PyErr_Occurred() ? RAISED : put(fill, at, x);
    }
    if (IS_CLASS(key, PyLong_Type) && PyObject_TypeCheck(part, world.integer) && fill->other)
        return put_whole(fill, at, part);
    return ANOTHER;
}

static Py_ssize_t put_value(Fill *fill, Py_ssize_t at, PyObject *node, PyObject *key)
{
    if (key != world.value) /* unless it has to be this very one */
        return PyTuple_CheckExact(key) && PyTuple_GET_ITEM(key, 1) == node ? at : ANOTHER;
    if (!fill->listed) {
        if (fill->count == fill->most)
            return ANOTHER;
        fill->sources[fill->count++] = (Source){at, node};
        return put(fill, at, number_of(node));
    }
    if (!PyList_GET_SIZE(fill->listed) && PyList_GET_SIZE(world.writebacks)) {
        PyObject *done = PyObject_CallNoArgs(world.flush);
        if (!done)
            return RAISED;
        Py_DECREF(done);
    }
    PyObject *pair = Py_BuildValue("nO", at, node);
    const int result = pair ? PyList_Append(fill->listed, pair) : -1;
    Py_XDECREF(pair);
    return result ? RAISED : put(fill, at, number_of(node));
}

/* ---- containers ---- */

static Py_ssize_t put_alike(Fill *fill, Py_ssize_t at, PyObject *tree, PyObject *key)
{
    const int is_float = IS_CLASS(key, PyFloat_Type);
    for (Py_ssize_t k = 0; at >= 0 && k < PySequence_Fast_GET_SIZE(tree); k++) {
        PyObject *part = PySequence_Fast_GET_ITEM(tree, k);
        if (is_float && PyFloat_CheckExact(part))
            at = put(fill, at, PyFloat_AS_DOUBLE(part));
        else if (!is_float && PyLong_CheckExact(part))
            at = put_whole(fill, at, part);
        else {
            Py_INCREF(part);
            at = put_numpy(fill, at, part, key);
            Py_DECREF(part);
        }
    }
    return at;
}

static Py_ssize_t put_sequence(Fill *fill, Py_ssize_t at, PyObject *tree, PyObject *key)
{
    const Py_ssize_t count = PySequence_Fast_GET_SIZE(tree);
    if (PyTuple_GET_ITEM(key, 0) != (PyObject *)Py_TYPE(tree))
        return ANOTHER;
    if (PyTuple_GET_SIZE(key) == 3) { /* all of one kind */
        const Py_ssize_t end = at + count;
        if (PyLong_AsSsize_t(PyTuple_GET_ITEM(key, 1)) != count)
            return ANOTHER;
        at = put_alike(fill, at, tree, PyTuple_GET_ITEM(key, 2));
        return at < 0 || at == end ? at : ANOTHER; /* somebody has appended meanwhile */
    }
    PyObject *keys = PyTuple_GET_ITEM(key, 1);
    if (!PyTuple_CheckExact(keys) || PyTuple_GET_SIZE(keys) != count)
        return ANOTHER;
    for (Py_ssize_t k = 0; at >= 0 && k < count; k++) {
        if (PySequence_Fast_GET_SIZE(tree) != count)
            return ANOTHER;
        PyObject *part = Py_NewRef(PySequence_Fast_GET_ITEM(tree, k));
        at = refill_tree(fill, part, PyTuple_GET_ITEM(keys, k), at);
        Py_DECREF(part);
    }
    return at;
}

/* Whether a name is that of a pair (name, key, kind); 1, 1.0 and True are equal, but other names. */
static int is_named(PyObject *name, PyObject *pair)
{
    PyObject *known = PyTuple_GET_ITEM(pair, 0), *kind = (PyObject *)Py_TYPE(name);
    if (name == known)
        return 1;
    if (kind != PyTuple_GET_ITEM(pair, 2) || kind != (PyObject *)Py_TYPE(known))
        return 0;
    if (IS_CLASS(kind, PyUnicode_Type))
        return PyUnicode_Compare(name, known) == 0;
    return IS_CLASS(kind, PyLong_Type) && PyObject_RichCompareBool(name, known, Py_EQ) == 1;
}

static Py_ssize_t put_dict(Fill *fill, Py_ssize_t at, PyObject *tree, PyObject *key)
{
    PyObject *pairs = PyTuple_GET_ITEM(key, 1), *name, *part;
    if (!IS_CLASS(PyTuple_GET_ITEM(key, 0), PyDict_Type) || !PyTuple_CheckExact(pairs)
        || PyTuple_GET_SIZE(pairs) != PyDict_GET_SIZE(tree))
        return ANOTHER;
    const Py_ssize_t count = PyTuple_GET_SIZE(pairs);
    Py_ssize_t place = 0, k = 0;
    while (at >= 0 && PyDict_Next(tree, &place, &name, &part)) {
        if (k == count || !is_named(name, PyTuple_GET_ITEM(pairs, k)))
            return ANOTHER;
        Py_INCREF(part);
        at = refill_tree(fill, part, PyTuple_GET_ITEM(PyTuple_GET_ITEM(pairs, k), 1), at);
        Py_DECREF(part);
        k++;
    }
    return at < 0 || k == count ? at : ANOTHER;
}

/* An array of doubles in one piece; ANOTHER for any other array. */
static Py_ssize_t put_array(Fill *fill, Py_ssize_t at, PyObject *tree, PyObject *key)
{
    Py_buffer view = {0};
    if (!PyTuple_CheckExact(key) || PyTuple_GET_SIZE(key) != 3
        || PyTuple_GET_ITEM(key, 0) != (PyObject *)world.array
        || !IS_CLASS(PyTuple_GET_ITEM(key, 2), PyFloat_Type))
        return ANOTHER;
    if (PyObject_GetBuffer(tree, &view, PyBUF_FORMAT | PyBUF_C_CONTIGUOUS)) {
        PyErr_Clear();
        return ANOTHER;
    }
    PyObject *shape = PyTuple_GET_ITEM(key, 1);
    int same = view.format && !strcmp(view.format, "d") && PyTuple_CheckExact(shape)
               && PyTuple_GET_SIZE(shape) == view.ndim;
    for (int k = 0; same && k < view.ndim; k++)
        same = PyLong_AsSsize_t(PyTuple_GET_ITEM(shape, k)) == view.shape[k];
    const Py_ssize_t count = view.len / (Py_ssize_t)sizeof(double);
    same = same && count <= fill->room - at;
    if (same)
        memcpy(fill->x + at, view.buf, (size_t)view.len);
    PyBuffer_Release(&view);
    return same ? at + count : ANOTHER;
}

/* ---- what must not differ ---- */

static int is_what_it_was(PyObject *tree, PyObject *key)
{
    if (!PyTuple_CheckExact(key) || PyTuple_GET_SIZE(key) != 2
        || !PyUnicode_CheckExact(PyTuple_GET_ITEM(key, 0)))
        return 0;
    PyObject *how = PyTuple_GET_ITEM(key, 0), *what = PyTuple_GET_ITEM(key, 1);
    if (PyLong_CheckExact(what) && PyUnicode_CompareWithASCIIString(how, "object") == 0)
        return PyLong_AsVoidPtr(what) == tree;
    if (!PyTuple_CheckExact(what) || PyTuple_GET_SIZE(what) != 2
        || PyUnicode_CompareWithASCIIString(how, "value") != 0)
        return 0;
    PyObject *kind = PyTuple_GET_ITEM(what, 0), *thing = PyTuple_GET_ITEM(what, 1);
    if (kind != (PyObject *)Py_TYPE(tree))
        return 0;
    return tree == thing
           || (IS_CLASS(kind, PyUnicode_Type) && PyUnicode_CheckExact(thing)
               && PyUnicode_Compare(tree, thing) == 0);
}

static Py_ssize_t ask_other(Fill *fill, PyObject *tree, PyObject *key, Py_ssize_t at)
{
    if (!fill->other)
        return ANOTHER;
    PyObject *found = PyObject_CallFunction(fill->other, "OOOnO", tree, key, fill->numbers, at,
                                            fill->listed);
    const Py_ssize_t next = found ? PyLong_AsSsize_t(found) : RAISED;
    Py_XDECREF(found);
    return PyErr_Occurred() ? RAISED : next < 0 || next > fill->room ? ANOTHER : next;
}

Py_ssize_t refill_tree(Fill *fill, PyObject *tree, PyObject *key, Py_ssize_t at)
{
    const PyTypeObject *kind = Py_TYPE(tree);
    if (kind == &PyFloat_Type)
        return IS_CLASS(key, PyFloat_Type) ? put(fill, at, PyFloat_AS_DOUBLE(tree)) : ANOTHER;
    if (kind == &PyList_Type || kind == &PyTuple_Type)
        return PyTuple_CheckExact(key) && PyTuple_GET_SIZE(key) > 1
                   ? put_sequence(fill, at, tree, key) : ANOTHER;
    if (kind == &PyLong_Type && IS_CLASS(key, PyLong_Type))
        return put_whole(fill, at, tree);
    if (PyObject_TypeCheck(tree, world.node))
        return put_value(fill, at, tree, key);
    if (kind == &PyDict_Type)
        return PyTuple_CheckExact(key) && PyTuple_GET_SIZE(key) == 2 ? put_dict(fill, at, tree, key)
                                                                     : ANOTHER;
    if (is_what_it_was(tree, key))
        return at;
    const Py_ssize_t next = kind == world.array ? put_array(fill, at, tree, key)
                                                : put_numpy(fill, at, tree, key);
    return next != ANOTHER ? next : ask_other(fill, tree, key, at);
}

PyObject *refill(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    (void)module;
    if (count != 6 || !PyList_CheckExact(args[4]))
        return PyErr_Format(PyExc_TypeError, "refill(tree, key, numbers, at, sources, other)");
    const Py_ssize_t at = PyLong_AsSsize_t(args[3]);
    Py_buffer view;
    if ((at == -1 && PyErr_Occurred()) || get_buffer(args[2], &view, 'd', 1, "numbers"))
        return NULL;
    Fill fill = {.x = view.buf, .room = length_of(&view), .numbers = args[2], .listed = args[4],
                 .other = args[5]};
    const Py_ssize_t next = at < 0 ? ANOTHER : refill_tree(&fill, args[0], args[1], at);
    PyBuffer_Release(&view);
    return next == RAISED ? NULL : PyLong_FromSsize_t(next);
}

/* Whether instances of a class have a double, or a long long, at this place. */
static int lies_in(const PyTypeObject *kind, Py_ssize_t at)
{
    return at >= (Py_ssize_t)sizeof(PyObject) && at <= kind->tp_basicsize - (Py_ssize_t)sizeof(double);
}

PyObject *connect_engine(PyObject *module, PyObject *arguments)
{
    (void)module;
    PyObject *node, *value, *array, *floating, *integer, *writebacks, *flush, *clock;
    Py_ssize_t data, writes;
    if (!PyArg_ParseTuple(arguments, "O!nO!O!O!O!O!OOn:connect", &PyType_Type, &node, &data,
                          &PyType_Type, &value, &PyType_Type, &array, &PyType_Type, &floating,
                          &PyType_Type, &integer, &PyList_Type, &writebacks, &flush, &clock,
                          &writes))
        return NULL;
    if (!lies_in((PyTypeObject *)node, data) || !lies_in(Py_TYPE(clock), writes))
        return PyErr_Format(PyExc_ValueError, "connect: there is no number there.");
    world = (World){
        .node = (PyTypeObject *)Py_NewRef(node), .data = data, .value = Py_NewRef(value),
        .array = (PyTypeObject *)Py_NewRef(array),
        .floating = (PyTypeObject *)Py_NewRef(floating),
        .integer = (PyTypeObject *)Py_NewRef(integer),
        .writebacks = Py_NewRef(writebacks), .flush = Py_NewRef(flush),
        .writes = (const long long *)((char *)Py_NewRef(clock) + writes),
    };
    Py_RETURN_NONE;
}
