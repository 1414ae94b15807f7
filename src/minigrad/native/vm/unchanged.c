/* What unchanged.py asks of C: are the things in a container the very same as before? By pointers and
   bytes alone, so that no object is touched. A `no` only means that somebody has to look closer. */

#include "calls.h"

#include <string.h>

static int same_buffer(PyObject *now, PyObject *then)
{
    Py_buffer a = {0}, b = {0};
    int same = !PyObject_GetBuffer(now, &a, PyBUF_FORMAT | PyBUF_ND)
               && !PyObject_GetBuffer(then, &b, PyBUF_FORMAT | PyBUF_ND) && a.ndim == b.ndim
               && a.len == b.len && a.format && b.format && !strcmp(a.format, b.format);
    PyErr_Clear(); /* what has no such buffer differs, and that is all */
    for (int k = 0; k < a.ndim && same; k++)
        same = a.shape[k] == b.shape[k];
    same = same && !memcmp(a.buf, b.buf, (size_t)a.len);
    PyBuffer_Release(&a); /* of nothing, if there is none */
    PyBuffer_Release(&b);
    return same;
}

/* Things without a format of their own, against their bytes. */
static int same_bytes(PyObject *now, PyObject *then)
{
    Py_buffer a = {0};
    const int same = !PyObject_GetBuffer(now, &a, PyBUF_SIMPLE)
                     && a.len == PyBytes_GET_SIZE(then)
                     && !memcmp(a.buf, PyBytes_AS_STRING(then), (size_t)a.len);
    PyErr_Clear();
    PyBuffer_Release(&a);
    return same;
}

static int is_it(PyObject *now, PyObject *then)
{
    return (now ? now : Py_None) == then;
}

/* The dict of an object's attributes, which is the object's; NULL if it has none (yet). */
static PyObject *attributes(PyObject *thing)
{
    const Py_ssize_t offset = Py_TYPE(thing)->tp_dictoffset;
    if (offset >= 0)
        return offset ? *(PyObject **)((char *)thing + offset) : NULL;
    PyObject *found = PyObject_GenericGetDict(thing, NULL); /* elsewhere in each Python */
    if (found)
        Py_DECREF(found);
    else
        PyErr_Clear();
    return found;
}

PyObject *attributes_of(PyObject *module, PyObject *thing)
{
    (void)module;
    PyObject *found = attributes(thing);
    return Py_NewRef(found ? found : Py_None);
}

/* Keys and values in turn. */
static int same_pairs(PyObject *table, PyObject **items, Py_ssize_t count)
{
    if (!table)
        return count == 0;
    if (!PyDict_Check(table) || 2 * PyDict_GET_SIZE(table) != count)
        return 0;
    PyObject *key, *value;
    Py_ssize_t at = 0;
    for (Py_ssize_t k = 0; PyDict_Next(table, &at, &key, &value); k += 2)
        if (key != items[k] || value != items[k + 1])
            return 0;
    return 1;
}

/* What an object shows the garbage collector, in that order: this touches nothing else. */
typedef struct {
    PyObject **items;
    Py_ssize_t count;
} Expected;

static int differs(PyObject *part, void *expected)
{
    Expected *rest = expected;
    if (!rest->count || *rest->items != part)
        return 1;
    rest->items++, rest->count--;
    return 0;
}

static int same_referents(PyObject *now, PyObject **items, Py_ssize_t count)
{
    Expected rest = {items, count};
    const traverseproc traverse = Py_TYPE(now)->tp_traverse;
    return traverse && !traverse(now, differs, &rest) && !rest.count;
}

/* None of these Values has attributes that somebody set. */
static int are_bare(PyObject **values, Py_ssize_t count)
{
    for (Py_ssize_t k = 0; k < count; k++) {
        PyObject *own = attributes(values[k]);
        if (own && PyDict_GET_SIZE(own))
            return 0;
    }
    return 1;
}

/* One place; the letters are those of `Kind.way` in compiler/tracing/places.py. */
static int same_content(char way, PyObject *now, PyObject *then)
{
    if (way == 'b')
        return PyBytes_CheckExact(then) ? same_bytes(now, then) : same_buffer(now, then);
    if (!PyTuple_CheckExact(then))
        return 0;
    PyObject **items = ((PyTupleObject *)then)->ob_item;
    const Py_ssize_t count = PyTuple_GET_SIZE(then);
    switch (way) {
    case 'l': /* an empty list has no items to point to */
        return PyList_Check(now) && PyList_GET_SIZE(now) == count
               && (!count || !memcmp(((PyListObject *)now)->ob_item, items, count * sizeof *items));
    case 'd':
        return same_pairs(now, items, count);
    case 'a':
        return (PyObject *)Py_TYPE(now) == items[0]
               && same_pairs(attributes(now), items + 1, count - 1);
    case 'c': {
        const PyTypeObject *kind = (PyTypeObject *)now;
        return kind->tp_mro == items[0] && same_pairs(kind->tp_dict, items + 1, count - 1);
    }
    case 'f': {
        const PyFunctionObject *function = (PyFunctionObject *)now;
        return is_it(function->func_defaults, items[0])
               && is_it(function->func_kwdefaults, items[1]) && function->func_code == items[2]
               && same_pairs(function->func_dict, items + 3, count - 3);
    }
    case 'x':
        return PyCell_GET(now) == (count ? items[0] : NULL);
    case 'r':
        return same_referents(now, items, count);
    case 'v':
        return are_bare(items, count);
    }
    return 0;
}

/* The lists may be growing: the length that all have. */
static Py_ssize_t common(Py_ssize_t count, PyObject *a, PyObject *b)
{
    count = count < PyList_GET_SIZE(a) ? count : PyList_GET_SIZE(a);
    return count < PyList_GET_SIZE(b) ? count : PyList_GET_SIZE(b);
}

/* A class gets a new version whenever one of its attributes is set, or one of a base; 0 until somebody
   looks one up again. It saves reading all of them. */
static unsigned version_of(PyObject *kind)
{
    return ((PyTypeObject *)kind)->tp_version_tag;
}

Py_ssize_t first_other(PyObject *ways, PyObject *places, PyObject *then, Py_ssize_t at,
                       const Versions *versions)
{
    const char *way = PyBytes_AS_STRING(ways);
    const Py_ssize_t count = common(PyBytes_GET_SIZE(ways), places, then);
    for (; at < count; at++) {
        PyObject *now = PyList_GET_ITEM(places, at);
        unsigned *known = way[at] == 'c' && at < versions->count ? versions->known + at : NULL;
        if (known && *known && *known == version_of(now))
            continue;
        if (!same_content(way[at], now, PyList_GET_ITEM(then, at)))
            return at;
        if (known)
            *known = version_of(now);
    }
    return -1;
}

Py_ssize_t first_new_meaning(PyObject *spaces, PyObject *words, PyObject *then, PyObject *missing,
                             Py_ssize_t at)
{
    const Py_ssize_t count = common(PyList_GET_SIZE(spaces), words, then);
    for (; at < count; at++) {
        PyObject *now = PyDict_GetItemWithError(PyList_GET_ITEM(spaces, at),
                                                PyList_GET_ITEM(words, at));
        if ((now ? now : missing) != PyList_GET_ITEM(then, at)) {
            PyErr_Clear(); /* of a name that could not be looked up */
            return at;
        }
    }
    return -1;
}

/* ---- for Python ---- */

PyObject *first_changed(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    (void)module;
    if (count != 4 || !PyBytes_CheckExact(args[0]) || !PyList_CheckExact(args[1])
        || !PyList_CheckExact(args[2]))
        return PyErr_Format(PyExc_TypeError, "first_changed(ways: bytes, places: list, then: list, "
                                             "at)");
    const Py_ssize_t at = PyLong_AsSsize_t(args[3]);
    if (at < 0)
        return PyErr_Occurred() ? NULL : PyErr_Format(PyExc_ValueError, "first_changed: at < 0");
    const Versions none = {NULL, 0};
    return PyLong_FromSsize_t(first_other(args[0], args[1], args[2], at, &none));
}

PyObject *first_moved(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    (void)module;
    int fits = count == 5 && PyList_CheckExact(args[0]) && PyList_CheckExact(args[1])
               && PyList_CheckExact(args[2]);
    for (Py_ssize_t k = 0; fits && k < PyList_GET_SIZE(args[0]); k++)
        fits = PyDict_Check(PyList_GET_ITEM(args[0], k));
    if (!fits)
        return PyErr_Format(PyExc_TypeError, "first_moved(spaces: list of dicts, words: list, "
                                             "then: list, missing, at)");
    const Py_ssize_t at = PyLong_AsSsize_t(args[4]);
    if (at < 0)
        return PyErr_Occurred() ? NULL : PyErr_Format(PyExc_ValueError, "first_moved: at < 0");
    return PyLong_FromSsize_t(first_new_meaning(args[0], args[1], args[2], args[3], at));
}
