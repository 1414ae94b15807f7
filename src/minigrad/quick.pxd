# C types for quick.py; see there.

cimport cython

from .node cimport Node

cdef extern from "quick.h":
    bint same_content(object now, object then)
    bint same_meaning(object space, object word, object then)

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

@cython.locals(pairs=tuple, pair=tuple, k=Py_ssize_t, count=Py_ssize_t)
cdef Py_ssize_t _refill_dict(dict tree, tuple key, double[::1] x, numbers, Py_ssize_t at,
                             list sources, other) except -2

@cython.locals(k=Py_ssize_t)
cpdef Py_ssize_t first_moved(list spaces, list words, list then, Py_ssize_t at) except -2

@cython.locals(k=Py_ssize_t)
cpdef Py_ssize_t first_changed(list containers, list then, Py_ssize_t at) except -2

@cython.locals(x="double[::1]", k=Py_ssize_t)
cpdef read_data(tuple values, numbers)

@cython.locals(x="double[::1]", k=Py_ssize_t)
cpdef write_data(tuple values, numbers)

@cython.locals(x="double[::1]", k=Py_ssize_t)
cpdef write_grads(tuple values, numbers)
