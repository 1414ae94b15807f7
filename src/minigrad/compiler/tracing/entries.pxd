# C types for entries.py; see there.

cimport cython

from ...core.node cimport Node, Extras

cdef int _INPUT, _CONSTANT, _SUM, _DOT, HAS_EXTRAS, _ADD, _MUL, _WHERE
cdef int[::1] _arity
cdef long long _next_base

cdef long long _MOST

cdef _room(Py_ssize_t count)

cdef _check_length(long long count)

cpdef long long sharing_key(long long operand, long long code)

@cython.final
cdef class Entries:
    cdef public object captured, captured_values
    cdef readonly object code, first, second
    cdef readonly dict more, numbers, known
    cdef readonly Py_ssize_t count
    cdef Py_ssize_t capacity
    cdef long long base
    cdef int[::1] codes, firsts, seconds

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
    @cython.locals(count=Py_ssize_t, k=Py_ssize_t, code="int[::1]", first="int[::1]",
                   second="int[::1]", uses="int[::1]", user="int[::1]", level="int[::1]",
                   same="int[::1]", inside="int[::1]", has_product="int[::1]", above=int, stack="int[::1]", maps="int[::1]",
                   work=_Sums, op=int, roots=Py_ssize_t, products=Py_ssize_t,
                   plain=Py_ssize_t, spread=Py_ssize_t, drawn=bint, a=int, b=int, highest=int, map_count=Py_ssize_t, zero=int,
                   at=int, key="long long")
    cpdef canonical(self, ends, bint as_written=*)
    @cython.locals(k=Py_ssize_t, a=int, b=int, at=int, op=int, code="int[::1]",
                   first="int[::1]", second="int[::1]")
    cdef _count_uses(self, ends, int[::1] uses, int[::1] user)
    @cython.locals(code="int[::1]", first="int[::1]", second="int[::1]", lefts="int[::1]",
                   rights="int[::1]", terms="int[::1]", pairs=Py_ssize_t, pairs_before=Py_ssize_t,
                   lone=Py_ssize_t, lone_before=Py_ssize_t, zeros=int, highest=int, top=Py_ssize_t,
                   k=int, a=int, b=int, at=int, drawn=int, start=int)
    cdef _add_sum(self, int root, int zero, int[::1] inside, int[::1] stack, int[::1] level,
                  int[::1] same, _Sums work)

@cython.final
cdef class _Sums:
    cdef int[::1] roots, starts, ends, terms, dot_roots, dot_starts, dot_ends, lefts, rights
    cdef Py_ssize_t sum_count, term_count, dot_count, pair_count

    cdef end_sum(self, int root, int start, Py_ssize_t end)
    cdef end_dot(self, int root, int start, Py_ssize_t end)
    @cython.locals(half=Py_ssize_t, end=Py_ssize_t, k=Py_ssize_t)
    cdef add_dot(self, int root, int start, operands)
    cdef into(self, found)

cdef inline int _check_operand(int at, Py_ssize_t user) except -1

@cython.locals(k=Py_ssize_t, highest=int)
cdef int _highest(int[::1] terms, Py_ssize_t start, Py_ssize_t end, int[::1] level)

@cython.locals(extras=Extras)
cdef bint _is_plain(Node node)
