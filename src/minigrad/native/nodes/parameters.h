/* Items of a tuple of nodes, for loops over thousands of them: borrowed, each looked at once. */

static inline PyObject *item_at(PyObject *values, Py_ssize_t k)
{
    return PyTuple_GET_ITEM(values, k);
}

/* The item of a tuple, borrowed, if it is of this class; else NULL. Nearly all are of one class. */
static inline PyObject *of_kind(PyObject *values, Py_ssize_t k, PyTypeObject **known, PyObject *kind)
{
    PyObject *const item = PyTuple_GET_ITEM(values, k);
    if (Py_TYPE(item) != *known) {
        if (!PyObject_TypeCheck(item, (PyTypeObject *)kind))
            return NULL;
        *known = Py_TYPE(item);
    }
    return item;
}
