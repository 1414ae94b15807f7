/* Operators of Values, as fast as they get: what `_binary`, `_binary_number`, `_number_binary` and
   `_unary` of scalar.py do, where that is asked of Values themselves and numbers, no block is open
   and no write-back is pending. Anything else goes to what Cython has made of `__add__` and so on.
   The rules are the functions of minigrad_ops.h. */

#ifndef MINIGRAD_OPERATORS_H
#define MINIGRAD_OPERATORS_H

#include "minigrad_ops.h"
#include "slab.h"

static PyObject *known_blocks, *known_writebacks; /* a dict and a list */
static const int *known_stamp;                    /* where the clock has its stamp */
static PyNumberMethods by_cython;

static inline int is_ordinary(void)
{
    return !PyDict_GET_SIZE(known_blocks) && !PyList_GET_SIZE(known_writebacks);
}

/* A float, or a small int; `_real` of scalar.py knows about others. */
static inline int is_simple_number(PyObject *x, double *number)
{
    if (PyFloat_CheckExact(x)) {
        *number = PyFloat_AS_DOUBLE(x);
        return 1;
    }
    if (!PyLong_CheckExact(x))
        return 0;
    int beyond;
    const long whole = PyLong_AsLongAndOverflow(x, &beyond);
    *number = (double)whole;
    return !beyond && -1000000 < whole && whole < 1000000;
}

static inline PyObject *new_node(int code, double data, PyObject *a, PyObject *b, double da,
                                 double db)
{
    Fields *node = (Fields *)make_node(a, b);
    if (node == NULL) return NULL;
    node->data = data, node->da = da, node->db = db;
    node->tag = code | *known_stamp;
    return (PyObject *)node;
}

#define NUMBER(x) (((Fields *)(x))->data)

/* The result of an operator, or NULL without an exception if Cython's has to find it. */
#define BINARY(NAME, CODE)                                                                          \
    static inline PyObject *NAME##_of(PyObject *x, PyObject *y)                                     \
    {                                                                                               \
        double p, q, z;                                                                             \
        if (Py_TYPE(x) == node_type) {                                                              \
            p = NUMBER(x);                                                                          \
            if (Py_TYPE(y) == node_type) {                                                          \
                q = NUMBER(y), z = value2[CODE](NULL, p, q);                                        \
                return new_node(CODE, z, x, y, first2[CODE](NULL, z, p, q),                         \
                                second2[CODE](NULL, z, p, q));                                      \
            }                                                                                       \
            if (is_simple_number(y, &q)) {                                                          \
                z = value2[CODE](NULL, p, q);                                                       \
                return new_node(CODE, z, x, Py_None, first2[CODE](NULL, z, p, q), q);               \
            }                                                                                       \
        } else if (Py_TYPE(y) == node_type && is_simple_number(x, &p)) {                            \
            q = NUMBER(y), z = value2[CODE](NULL, p, q);                                            \
            return new_node(CODE, z, Py_None, y, p, second2[CODE](NULL, z, p, q));                  \
        }                                                                                           \
        return NULL;                                                                                \
    }
#define BINARY_SLOT(NAME, CODE)                                                                     \
    BINARY(NAME, CODE)                                                                              \
    static PyObject *NAME(PyObject *x, PyObject *y)                                                 \
    {                                                                                               \
        PyObject *made = is_ordinary() ? NAME##_of(x, y) : NULL;                                    \
        return made || PyErr_Occurred() ? made : by_cython.nb_##NAME(x, y);                         \
    }
#define UNARY_SLOT(NAME, CODE)                                                                      \
    static PyObject *NAME(PyObject *x)                                                              \
    {                                                                                               \
        if (Py_TYPE(x) != node_type || !is_ordinary())                                              \
            return by_cython.nb_##NAME(x);                                                          \
        const double p = NUMBER(x), z = value1[CODE](NULL, p);                                      \
        return new_node(CODE, z, x, Py_None, first1[CODE](NULL, z, p), 0.0);                        \
    }

BINARY_SLOT(add, CODE_ADD)
BINARY_SLOT(subtract, CODE_SUB)
BINARY_SLOT(multiply, CODE_MUL)
BINARY_SLOT(true_divide, CODE_DIV)
BINARY(power, CODE_POW)
UNARY_SLOT(negative, CODE_NEG)
UNARY_SLOT(absolute, CODE_ABS)

static PyObject *power(PyObject *x, PyObject *y, PyObject *modulus)
{
    PyObject *made = modulus == Py_None && is_ordinary() ? power_of(x, y) : NULL;
    return made || PyErr_Occurred() ? made : by_cython.nb_power(x, y, modulus);
}

/* From now on these are the operators of the class whose nodes come from the slab. */
static void install_operators(PyObject *blocks, PyObject *writebacks, const int *stamp)
{
    PyNumberMethods *slots = node_type->tp_as_number;
    known_blocks = Py_NewRef(blocks), known_writebacks = Py_NewRef(writebacks);
    known_stamp = stamp;
    by_cython = *slots;
    slots->nb_add = add, slots->nb_subtract = subtract, slots->nb_multiply = multiply;
    slots->nb_true_divide = true_divide, slots->nb_power = power;
    slots->nb_negative = negative, slots->nb_absolute = absolute;
}

#endif
