/* What quick.py asks of C: are the things in a container the very same as before? By pointers and
   bytes alone, so that no object is touched. A `no` only means that somebody has to look closer. */

/* Nothing may lie anywhere, also at NULL, which memcmp does not take. */
static int same_bytes(const void *a, const void *b, Py_ssize_t count)
{
    return count == 0 || !memcmp(a, b, (size_t)count);
}

static int same_buffer(PyObject *now, PyObject *then)
{
    Py_buffer a, b;
    if (PyObject_GetBuffer(now, &a, PyBUF_FORMAT | PyBUF_ND)) {
        PyErr_Clear();
        return 0;
    }
    if (PyObject_GetBuffer(then, &b, PyBUF_FORMAT | PyBUF_ND)) {
        PyErr_Clear();
        PyBuffer_Release(&a);
        return 0;
    }
    int same = a.ndim == b.ndim && a.len == b.len && a.format && b.format && !strcmp(a.format, b.format);
    for (int k = 0; k < a.ndim && same; k++)
        same = a.shape[k] == b.shape[k];
    same = same && same_bytes(a.buf, b.buf, a.len);
    PyBuffer_Release(&a);
    PyBuffer_Release(&b);
    return same;
}

static int is_it(PyObject *now, PyObject *then)
{
    return (now ? now : Py_None) == then;
}

/* A list against a tuple of its elements; a dict, or that of a class, against a tuple of keys and
   values in turn; a function against its defaults and code; an array against its copy. */
static int same_content(PyObject *now, PyObject *then)
{
    if (!PyTuple_CheckExact(then))
        return PyObject_CheckBuffer(now) && same_buffer(now, then);
    PyObject **items = ((PyTupleObject *)then)->ob_item;
    const Py_ssize_t count = PyTuple_GET_SIZE(then);
    if (PyList_Check(now))
        return PyList_GET_SIZE(now) == count
               && same_bytes(((PyListObject *)now)->ob_item, items,
                             count * (Py_ssize_t)sizeof *items);
    if (PyFunction_Check(now)) {
        const PyFunctionObject *function = (PyFunctionObject *)now;
        return count == 3 && is_it(function->func_defaults, items[0])
               && is_it(function->func_kwdefaults, items[1]) && function->func_code == items[2];
    }
    if (PyType_Check(now))
        now = ((PyTypeObject *)now)->tp_dict;
    /* An OrderedDict has an order of its own. */
    if (!now || !PyDict_Check(now) || PyODict_Check(now) || 2 * PyDict_GET_SIZE(now) != count)
        return 0;
    PyObject *key, *value;
    Py_ssize_t at = 0;
    for (Py_ssize_t k = 0; PyDict_Next(now, &at, &key, &value); k += 2)
        if (key != items[k] || value != items[k + 1])
            return 0;
    return 1;
}

/* Does a word in a namespace, a dict of texts, still mean this very object? */
static int same_meaning(PyObject *space, PyObject *word, PyObject *then)
{
    PyObject *now = PyDict_Check(space) ? PyDict_GetItemWithError(space, word) : NULL;
    if (now == NULL) PyErr_Clear();
    return now == then;
}
