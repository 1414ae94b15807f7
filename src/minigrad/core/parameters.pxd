# C types for parameters.py; see there.

cimport cython

from .buffers cimport doubles_in
from .node cimport Clock, Node

from libc.string cimport memcmp

cdef extern from "Python.h":  # items of lists and tuples, borrowed
    void **PySequence_Fast_ITEMS(object values)
    void *Py_TYPE(void *item)

cdef int READ_DATA, WRITE_DATA, WRITE_GRADS, READ_GRADS
cdef Clock clock

@cython.locals(at=Py_ssize_t)
cdef object _checked(values, what, ordered=*)

cpdef data_of(values)

cpdef grads_of(values)

cpdef set_data(values, numbers)

cpdef set_grads(values, numbers)

cpdef zero_grad(values)

# Loops over thousands of Values, in a list or a tuple, between which no Python code runs: nobody's
# references are counted, and what was looked at first is there later.
cdef inline Py_ssize_t first_stranger(values) except -2:
    cdef Py_ssize_t k
    cdef void **items = PySequence_Fast_ITEMS(values)
    cdef void *known = NULL
    for k in range(len(values)):
        if Py_TYPE(items[k]) != known:  # nearly all are of one class
            if not isinstance(<object>items[k], Node):
                return k
            known = Py_TYPE(items[k])
    return -1

cdef inline bint has_same_items(values, tuple before) noexcept:
    cdef Py_ssize_t count = len(before)
    if len(values) != count:
        return False
    return memcmp(PySequence_Fast_ITEMS(values), PySequence_Fast_ITEMS(before),
                  count * sizeof(void *)) == 0

cdef inline int copy_fields(values, numbers, int which) except -1:
    cdef Py_ssize_t k
    cdef Py_ssize_t count = len(values)
    cdef void **items = PySequence_Fast_ITEMS(values)
    cdef Py_ssize_t room
    cdef double *p = doubles_in(numbers, &room)
    if room < count:
        raise IndexError(f"{room} numbers for {count} Values.")
    if which == READ_DATA:
        for k in range(count):
            p[k] = (<Node>items[k])._data
    elif which == WRITE_DATA:
        for k in range(count):
            (<Node>items[k])._data = p[k]
    elif which == WRITE_GRADS:
        for k in range(count):
            (<Node>items[k])._grad = p[k]
    else:
        for k in range(count):
            p[k] = (<Node>items[k])._grad
    return 0

cdef inline Py_ssize_t place_of_data(Node node):
    return <char *>&node._data - <char *><void *>node

cdef inline Py_ssize_t place_of_writes(Clock clock):
    return <char *>&clock.writes - <char *><void *>clock

@cython.final
cdef class Nodes:
    cdef readonly tuple values

cpdef read_data(tuple values, numbers)

cdef object _write(values, numbers)

cpdef write_data(tuple values, numbers)

cpdef write_grads(tuple values, numbers)
