# C types for canonical.py; see there.

cimport cython

from ...core.buffers cimport ints_in
from .tape cimport Entries, check_length, zeros

cdef int _SUM, _DOT, _ADD, _MUL

cpdef long long sharing_key(long long operand, long long code)

@cython.final
cdef class _Sums:
    cdef int *roots
    cdef int *starts
    cdef int *ends
    cdef int *terms
    cdef int *dot_roots
    cdef int *dot_starts
    cdef int *dot_ends
    cdef int *lefts
    cdef int *rights
    cdef list arrays
    cdef Py_ssize_t sum_count, term_count, dot_count, pair_count

    cdef end_sum(self, int root, int start, Py_ssize_t end)
    cdef end_dot(self, int root, int start, Py_ssize_t end)
    @cython.locals(half=Py_ssize_t, end=Py_ssize_t, k=Py_ssize_t)
    cdef add_dot(self, int root, int start, operands)
    cdef into(self, found)

@cython.locals(count=Py_ssize_t, k=Py_ssize_t, code="int *", first="int *",
               second="int *", uses="int *", user="int *", level="int *",
               same="int *", inside="int *", has_product="int *", above=int, stack="int *", maps="int *",
               work=_Sums, op=int, roots=Py_ssize_t, products=Py_ssize_t,
               plain=Py_ssize_t, spread=Py_ssize_t, drawn=bint, a=int, b=int, highest=int, map_count=Py_ssize_t, zero=int,
               at=int, key="long long")
cpdef canonical(Entries entries, ends, bint as_written=*)
@cython.locals(k=Py_ssize_t, a=int, b=int, at=int, op=int, code="int *",
               first="int *", second="int *")
cdef _count_uses(Entries entries, ends, int *uses, int *user)
@cython.locals(code="int *", first="int *", second="int *", lefts="int *",
               rights="int *", terms="int *", pairs=Py_ssize_t, pairs_before=Py_ssize_t,
               lone=Py_ssize_t, lone_before=Py_ssize_t, zeros=int, highest=int, top=Py_ssize_t,
               k=int, a=int, b=int, at=int, drawn=int, start=int)
cdef _add_sum(Entries entries, int root, int zero, int *inside, int *stack, int *level,
              int *same, _Sums work)

cdef int _check_operand(int at, Py_ssize_t user) except -1

@cython.locals(k=Py_ssize_t, highest=int)
cdef int _highest(int *terms, Py_ssize_t start, Py_ssize_t end, int *level)
