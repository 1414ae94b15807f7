/* The fields of a node, as core/node.pxd declares them; `install_slab` checks that they lie so. */

#ifndef MINIGRAD_FIELDS_H
#define MINIGRAD_FIELDS_H

#include <Python.h>

typedef struct Fields {
    PyObject_HEAD
    struct Fields *a, *b; /* None where there is none */
    PyObject *extras;
    long long mark;
    double data, grad, da, db;
    int tag, place;
    PyObject *attributes; /* the users' own; NULL until there are any */
} Fields;

#define IS_NODE(operand) ((PyObject *)(operand) != Py_None)

#endif
