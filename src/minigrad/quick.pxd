# C types for quick.py; see there.

cimport cython

from .node cimport Node

cdef extern from "quick.h":
    Py_ssize_t first_other(bytes ways, list places, list then, Py_ssize_t at)
    Py_ssize_t first_new_meaning(list spaces, list words, list then, object missing, Py_ssize_t at)
    object own_attributes(object thing)

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

@cython.locals(x="double[::1]", k=Py_ssize_t)
cpdef read_data(tuple values, numbers)

@cython.locals(x="double[::1]", k=Py_ssize_t)
cpdef write_data(tuple values, numbers)

@cython.locals(x="double[::1]", k=Py_ssize_t)
cpdef write_grads(tuple values, numbers)
