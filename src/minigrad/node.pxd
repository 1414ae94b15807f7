# C types for node.py; see there.

cimport cython

cdef class Rare:
    cdef public object label, op, operands, partials, prev, given, source, step

cdef class Node:
    # native/slab.h knows this layout: two operands and the rare things right before the mark.
    cdef Node _a, _b
    cdef readonly Rare _rare
    cdef long long _mark
    cdef double _data, _grad, _da, _db
    cdef int _tag
    cdef void *_users

cdef int _POW, _WHERE, _CODE, _modes
cdef bint _owed

@cython.locals(node=Node, rare=Rare)
cpdef _from_state(kind, tuple state)
