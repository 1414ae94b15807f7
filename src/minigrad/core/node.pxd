# C types for node.py; see there.

cimport cython
cimport minigrad_codes as codes
from cpython.bytearray cimport PyByteArray_AS_STRING, PyByteArray_GET_SIZE

@cython.final
cdef class Clock:
    cdef public long long count
    cdef public int stamp
    cdef public dict tags
    cdef public long long writes

    cpdef long long tick(self)

@cython.final
cdef class Scope:
    cdef public object name, outer, inputs
    cdef public long long start, end

cdef class Extras:
    cdef public object label, op, operands, partials, prev, given, source, custom_backward
    cdef public object block
    cdef public tuple calls

cdef class Node:
    # native/nodes/slab.h knows this layout: two operands and the extras right before the mark.
    cdef Node _a, _b
    cdef readonly Extras _extras
    cdef long long _mark
    cdef double _data, _grad, _da, _db
    cdef int _tag, _place
    cdef void *_users

@cython.final
cdef class Gradients:
    cdef long long mark
    cdef Py_ssize_t count
    cdef bytearray buffer

    cpdef object read(self, Node node)

    cpdef bint write(self, Node node, double number) except -1

cdef inline double *numbers_in(bytearray buffer) noexcept:
    return <double *>PyByteArray_AS_STRING(buffer)

cdef inline Py_ssize_t count_in(bytearray buffer) except -1:
    if buffer is None:
        raise TypeError("a buffer of gradients is a bytearray, not None.")
    return PyByteArray_GET_SIZE(buffer) // <Py_ssize_t>sizeof(double)

cdef extern from "pythread.h":
    unsigned long _this_thread "PyThread_get_thread_ident"()

cdef int _CODE, _STAMP, _STAMPS
cdef Clock _clock
cdef dict open_blocks
cdef list writebacks
