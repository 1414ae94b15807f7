# C types for parameters.py; see there.

cimport cython

from .node cimport Node

cdef extern from "Python.h":  # items of tuples, borrowed
    void *PyTuple_GET_ITEM(object values, Py_ssize_t k)
    void *Py_TYPE(void *item)

@cython.locals(found=list)
cdef list _listed(values, what)

@cython.locals(nodes=list, x="double[::1]", k=Py_ssize_t)
cpdef data_of(values)

@cython.locals(nodes=list, x="double[::1]", k=Py_ssize_t)
cpdef grads_of(values)

@cython.locals(nodes=list, x="double[::1]", k=Py_ssize_t)
cpdef set_data(values, numbers)

@cython.locals(nodes=list, x="double[::1]", k=Py_ssize_t)
cpdef set_grads(values, numbers)

@cython.locals(nodes=list, k=Py_ssize_t)
cpdef zero_grad(values)

# Loops over thousands of Values: nobody's references are counted, each is looked at once.
cdef inline int copy_fields(tuple values, double[::1] x, int which) except -1:
    cdef Py_ssize_t k
    cdef void *known = NULL
    cdef void *node
    if x.shape[0] < len(values):
        raise IndexError(f"{x.shape[0]} numbers for {len(values)} Values.")
    if not values:
        return 0
    cdef double *p = &x[0]
    for k in range(len(values)):
        node = PyTuple_GET_ITEM(values, k)
        if Py_TYPE(node) != known:  # nearly all are of one class
            if not isinstance(<object>node, Node):
                raise TypeError("only Values have numbers to read or write.")
            known = Py_TYPE(node)
        if which == 0:
            p[k] = (<Node>node)._data
        elif which == 1:
            (<Node>node)._data = p[k]
        else:
            (<Node>node)._grad = p[k]
    return 0

cdef inline int read_fields(tuple values, double[::1] x) except -1:
    cdef Py_ssize_t k
    if values is None or x.shape[0] < len(values):
        raise IndexError("fewer numbers than Values.")
    if not values:
        return 0
    cdef double *p = &x[0]
    for k in range(len(values)):
        p[k] = (<Node>PyTuple_GET_ITEM(values, k))._data
    return 0

@cython.final
cdef class Nodes:
    cdef readonly tuple values

cpdef read_data(tuple values, numbers)

cpdef write_data(tuple values, numbers)

cpdef write_grads(tuple values, numbers)
