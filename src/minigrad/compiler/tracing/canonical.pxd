# C types for canonical.py; see there.

cimport cython

from .tape cimport Entries, check_length, zeros

cdef int _SUM, _DOT, _ADD, _MUL

cpdef long long sharing_key(long long operand, long long code)

@cython.final
cdef class _Sums:
    cdef int[::1] roots, starts, ends, terms, dot_roots, dot_starts, dot_ends, lefts, rights
    cdef Py_ssize_t sum_count, term_count, dot_count, pair_count

    cdef end_sum(self, int root, int start, Py_ssize_t end)
    cdef end_dot(self, int root, int start, Py_ssize_t end)
    @cython.locals(half=Py_ssize_t, end=Py_ssize_t, k=Py_ssize_t)
    cdef add_dot(self, int root, int start, operands)
    cdef into(self, found)

@cython.locals(count=Py_ssize_t, k=Py_ssize_t, code="int[::1]", first="int[::1]",
               second="int[::1]", uses="int[::1]", user="int[::1]", level="int[::1]",
               same="int[::1]", inside="int[::1]", has_product="int[::1]", above=int, stack="int[::1]", maps="int[::1]",
               work=_Sums, op=int, roots=Py_ssize_t, products=Py_ssize_t,
               plain=Py_ssize_t, spread=Py_ssize_t, drawn=bint, a=int, b=int, highest=int, map_count=Py_ssize_t, zero=int,
               at=int, key="long long")
cpdef canonical(Entries entries, ends, bint as_written=*)
@cython.locals(k=Py_ssize_t, a=int, b=int, at=int, op=int, code="int[::1]",
               first="int[::1]", second="int[::1]")
cdef _count_uses(Entries entries, ends, int[::1] uses, int[::1] user)
@cython.locals(code="int[::1]", first="int[::1]", second="int[::1]", lefts="int[::1]",
               rights="int[::1]", terms="int[::1]", pairs=Py_ssize_t, pairs_before=Py_ssize_t,
               lone=Py_ssize_t, lone_before=Py_ssize_t, zeros=int, highest=int, top=Py_ssize_t,
               k=int, a=int, b=int, at=int, drawn=int, start=int)
cdef _add_sum(Entries entries, int root, int zero, int[::1] inside, int[::1] stack, int[::1] level,
              int[::1] same, _Sums work)

cdef int _check_operand(int at, Py_ssize_t user) except -1

@cython.locals(k=Py_ssize_t, highest=int)
cdef int _highest(int[::1] terms, Py_ssize_t start, Py_ssize_t end, int[::1] level)
