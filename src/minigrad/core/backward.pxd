# C types for backward.py; see there.

cimport cython
from cpython.bytearray cimport PyByteArray_FromStringAndSize
from libc.string cimport memset

from .buffers cimport doubles_in
from .node cimport Extras, Gradients, Node, numbers_in, _this_thread

cdef dict open_blocks
cdef list writebacks
cdef bint _is_plain
cdef unsigned long _owner
cdef long long _epoch
cdef int IS_SPECIAL

@cython.locals(first="long long", second="long long", listed="long long", done="long long",
               order=list, path=list, lists=list, mark="long long", is_special=int, count=int,
               node=Node, below=Node, operand=Node, a=Node, b=Node, p=Node, q=Node,
               extras=Extras)
cpdef list _postorder(Node root)

cdef inline bytearray new_buffer(Py_ssize_t count):
    cdef bytearray buffer = PyByteArray_FromStringAndSize(NULL, count * sizeof(double))
    memset(numbers_in(buffer), 0, count * sizeof(double))
    return buffer

cdef extern from "Python.h":  # items of tuples, borrowed
    void *PyTuple_GET_ITEM(object values, Py_ssize_t k)

# What one node passes on to thousands: all are Values and have their places, since the order is made.
cdef inline double *partials_of(tuple operands, array) except? NULL:
    cdef Py_ssize_t count
    cdef double *partials = doubles_in(array, &count)
    if count != len(operands):
        raise ValueError(f"{len(operands)} operands, but {count} derivatives.")
    return partials

cdef inline int add_products(tuple operands, array, double grad, double *flow) except -1:
    cdef Py_ssize_t k
    cdef double *partials = partials_of(operands, array)
    for k in range(len(operands)):
        flow[(<Node>PyTuple_GET_ITEM(operands, k))._place] += partials[k] * grad
    return 0

# False, and nothing added, if one of the operands is no leaf, or is there twice.
cdef inline bint add_to_leaves(Node root, tuple operands, array) except -1:
    cdef Py_ssize_t k
    cdef Node node
    cdef int is_special = IS_SPECIAL
    cdef double *partials = partials_of(operands, array)
    if root._a is not None or root._b is not None or (<Extras>root._extras).custom_backward is not None:
        return False
    for k in range(len(operands)):
        node = <Node>PyTuple_GET_ITEM(operands, k)
        if (node._a is not None or node._b is not None or node._tag & is_special
                or node._mark == root._mark):
            return False
        node._mark = root._mark
    for k in range(len(operands)):
        (<Node>PyTuple_GET_ITEM(operands, k))._grad += partials[k]
    root._grad += 1.0
    return True

cdef inline int set_at_once(list nodes, field, list numbers) except -1:
    cdef Py_ssize_t k
    cdef bytearray buffer = new_buffer(len(nodes))
    for k in range(len(nodes)):  # what can raise, raises before anything is set
        <Node?>nodes[k]
        numbers_in(buffer)[k] = numbers[k]
    for k in range(len(nodes)):
        (<Node>nodes[k])._grad = numbers_in(buffer)[k]
    return 0

cdef extern from "nodes/pass.h":
    bint plain_pass(object root, long long first, int is_special)

@cython.locals(order=list, buffer=bytearray)
cpdef add_gradients(Node root)

@cython.locals(extras=Extras)
cdef bint _passed_to_leaves(Node root) except -1

cdef bint _passed_plainly(Node root) except -1

@cython.locals(count=Py_ssize_t, flow="double *")
cdef bytearray _seeded(list order)

@cython.locals(root=Node, left=Py_ssize_t, rest=_Rest)
cdef object _run_pass(list order, bytearray buffer, list watchers, bint ends)

@cython.locals(node=Node, a=Node, b=Node, grad=double, flow="double *", count=Py_ssize_t)
cdef object _pass_back(list order, bytearray buffer)

@cython.locals(node=Node, a=Node, b=Node, operand=Node, grad=double, partial=double, extras=Extras,
               is_special=int, flow="double *", root=Node, done="long long")
cdef Py_ssize_t _run_steps(list order, bytearray buffer, Py_ssize_t count, bint by_hand) except -1

@cython.final
cdef class _Rest:
    cdef list order
    cdef bytearray buffer
    cdef Py_ssize_t count

@cython.locals(extras=Extras)
cdef object _rules(Node node)

@cython.locals(node=Node, flow="double *", k=Py_ssize_t)
cdef object _set_gradients(list order, bytearray buffer, bint adds)

@cython.locals(order=list)
cpdef zero_gradients(Node root)

cpdef list gradients(Node root, inputs, watchers=*)

cpdef tuple gradients_and_scale(Node root, inputs)

@cython.locals(node=Node, found=list, order=list, buffer=bytearray, flow="double *")
cpdef tuple _gradients(Node root, inputs, list watchers, bint with_scale)

@cython.locals(node=Node, total=double, part=double, flow="double *", k=Py_ssize_t)
cdef double _scale(list order, bytearray buffer) except? -1

@cython.locals(operand=Node)
cpdef observed_step(Node node, bint by_hand, list watchers)
