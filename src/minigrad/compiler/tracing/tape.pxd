# C types for tape.py; see there.

cimport cython

from ...core.buffers cimport ints_in
from ...core.node cimport Node, Extras

cdef extern from "Python.h":
    Py_ssize_t getrefcount "Py_REFCNT" (object thing)

cdef Py_ssize_t _alone

cdef int _INPUT, _CONSTANT, IS_SPECIAL, UNSTAMPED, _WHERE
cdef int *_arity
cdef long long _next_base

cdef long long _MOST

cpdef zeros(Py_ssize_t count)

cpdef check_length(long long count)

@cython.final
cdef class Entries:
    cdef public object captured, captured_values
    cdef readonly object code, first, second
    cdef readonly dict more, numbers, known
    cdef readonly Py_ssize_t count
    cdef Py_ssize_t capacity
    cdef long long base
    cdef int *codes
    cdef int *firsts
    cdef int *seconds

    cpdef reserve(self, Py_ssize_t count)
    cdef _look(self)
    @cython.locals(at=Py_ssize_t)
    cpdef int add(self, int code, int first=*, int second=*) except -9
    cpdef int constant(self, double number) except -9
    @cython.locals(node=Node, a=Node, b=Node, code=int, arity=int, p=int, q=int, base="long long")
    cpdef read(self, nodes, arguments, describe, stopped)
    cdef int _special(self, Node node, describe) except -9
    @cython.locals(mark="long long")
    cpdef int entry(self, Node node) except -9
    @cython.locals(at=int)
    cpdef int capture(self, Node node) except -9
    cpdef long long strange(self)
    cpdef close(self)

cpdef release(list nodes)
@cython.locals(nodes=list)
cdef Py_ssize_t _count_alone()

@cython.locals(extras=Extras)
cdef bint _is_plain(Node node)
