# C types for scalar.py; see there. The rules come from a header made from the op table.

cimport cython
cimport minigrad_codes as codes

from .core.node cimport Clock, Node, Extras, Scope, _this_thread

ctypedef double (*value_rule1)(object, double) noexcept
ctypedef double (*value_rule2)(object, double, double) noexcept
ctypedef double (*partial_rule1)(object, double, double) noexcept
ctypedef double (*partial_rule2)(object, double, double, double) noexcept

cdef extern from "minigrad_ops.h":
    const value_rule1 value1[1]
    const value_rule2 value2[1]
    const partial_rule1 first1[1]
    const partial_rule2 first2[1]
    const partial_rule2 second2[1]

cdef extern from "nodes/slab.h":
    ctypedef struct Fields:
        void *a
        void *b
        void *extras
        long long mark
        double data, grad, da, db
        int tag, place
        void *attributes
    int install_slab(object sample, bint same_layout) except -1
    void open_slab(object kind)
    int set_in_class(object kind, object name, object thing) except -1
    void refuse_elements(object kind, object refusal)
    object make_node(object a, object b)
    Py_ssize_t slab_count()
    void track(object node)
    void track_like_any(object node, tuple operands)

cdef int STAMP, STAMPS, UNSTAMPED, _DEEPEST
cdef Clock clock
cdef dict open_blocks
cdef list writebacks
cdef object ieee

cdef class Value(Node):
    pass

@cython.final
cdef class Recorder:
    cdef list nodes
    cdef Py_ssize_t many
    cdef object warn
    cdef unsigned long thread
    cdef long long strange
    cdef bint closely

cdef Recorder _recorder

cdef extern from "nodes/operators.h":
    void install_operators(dict blocks, list writebacks, const int *stamp)

# Every field of a sample, by Cython's own account and by that of the headers.
cdef inline int place_nodes(Value sample, Value operand) except -1:
    cdef Fields *fields = <Fields *><void *>sample
    sample._a = operand
    same = (fields.a == <void *>sample._a and fields.b == <void *>sample._b
            and fields.extras == <void *>sample._extras and &fields.mark == &sample._mark
            and &fields.data == &sample._data and &fields.grad == &sample._grad
            and &fields.da == &sample._da and &fields.db == &sample._db
            and &fields.tag == &sample._tag and &fields.place == &sample._place
            and <void *>&fields.attributes == <void *>&sample._users)
    return install_slab(sample, same)

cdef inline int place_operators() except -1:
    install_operators(open_blocks, writebacks, &clock.stamp)
    return 0

@cython.locals(node=Value)
cdef Value _node(int code, double data, Value a, Value b, double da, double db, Extras extras=*)

@cython.locals(x=double, y=double)
cdef Value _unary(int code, Value a)

@cython.locals(p=double, q=double, y=double)
cdef Value _binary(int code, Value a, Value b)

@cython.locals(p=double, q=double, y=double)
cdef object _binary_number(int code, Value a, object number)

@cython.locals(p=double, q=double, y=double)
cdef object _number_binary(int code, object number, Value b)

cdef object _with_value_or_number(int code, Value a, object b)

@cython.locals(recorder=Recorder)
cdef object _observe(Value node)

@cython.locals(scope=Scope, recorder=Recorder)
cpdef object end_call(object result, object name, long long start, object inputs=*)

@cython.locals(node=Value, extras=Extras, age="long long")
cdef object _note_call(object result, tuple calls, long long start, long long end, int depth)

@cython.locals(operand=Value, xs=list, node=Value)
cdef Value _nary(object op, tuple operands)

@cython.locals(value=Value)
cdef object _number_of(object other, object symbol)
