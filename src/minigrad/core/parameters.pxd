# C types for quick.py; see there.

cimport cython

from .node cimport Node

cdef extern from "quick.h":
    Py_ssize_t first_other(bytes ways, list places, list then, Py_ssize_t at)
    Py_ssize_t first_new_meaning(list spaces, list words, list then, object missing, Py_ssize_t at)
    object own_attributes(object thing)
    void *item_at(object values, Py_ssize_t k)
    void *of_kind(object values, Py_ssize_t k, void **known, object kind)

cdef long long _EXACT

@cython.locals(x="double[::1]")
cpdef Py_ssize_t refill(tree, key, numbers, Py_ssize_t at, list sources, other) except -2

@cython.locals(node=Node)
cdef Py_ssize_t _refill(tree, key, double[::1] x, numbers, Py_ssize_t at, list sources,
                        other) except -2

@cython.locals(whole="long long")
cdef Py_ssize_t _put_whole(tree, double[::1] x, Py_ssize_t at) except -2

@cython.locals(keys=tuple, k=Py_ssize_t, count=Py_ssize_t)
cdef Py_ssize_t _refill_sequence(tree, kind, tuple key, double[::1] x, numbers, Py_ssize_t at,
                                 list sources, other) except -2

cdef bint _is_taken_for(part, kind) except -1

@cython.locals(pairs=tuple, pair=tuple, k=Py_ssize_t, count=Py_ssize_t)
cdef Py_ssize_t _refill_dict(dict tree, tuple key, double[::1] x, numbers, Py_ssize_t at,
                             list sources, other) except -2

cpdef Py_ssize_t first_moved(list spaces, list words, list then, missing, Py_ssize_t at) except -2

cpdef Py_ssize_t first_changed(bytes ways, list places, list then, Py_ssize_t at) except -2

cpdef attributes_of(thing)

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
        node = of_kind(values, k, &known, Node)
        if node is NULL:
            raise TypeError("only Values have numbers to read or write.")
        if which == 0:
            p[k] = (<Node>node)._data
        elif which == 1:
            (<Node>node)._data = p[k]
        else:
            (<Node>node)._grad = p[k]
    return 0

cdef inline void read_nodes(tuple values, double *x) noexcept:
    cdef Py_ssize_t k
    for k in range(len(values)):
        x[k] = (<Node>item_at(values, k))._data

cdef inline int read_fields(tuple values, double[::1] x) except -1:
    cdef Py_ssize_t k
    if values is None or x.shape[0] < len(values):
        raise IndexError("fewer numbers than Values.")
    if values:
        read_nodes(values, &x[0])
    return 0

@cython.final
cdef class Nodes:
    cdef readonly tuple values

cpdef read_data(tuple values, numbers)

cpdef write_data(tuple values, numbers)

cpdef write_grads(tuple values, numbers)
