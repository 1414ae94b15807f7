# C types for refill.py; see there.

cimport cython

from ...core.node cimport Node

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
