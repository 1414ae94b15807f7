/* Calls of compiled functions: what refill.c (their arguments), unchanged.c (what they read besides)
   and repeat.c (a whole call) share. */

#ifndef MINIGRAD_CALLS_H
#define MINIGRAD_CALLS_H

#include "vm.h"

/* What the Python side has told `connect`: classes, and where the engine keeps what every call asks
   for. References are kept for ever. */
typedef struct {
    PyTypeObject *node;   /* the class of nodes, of which a key says `value` */
    Py_ssize_t data;      /* where in a node its number lies */
    PyObject *value;
    PyTypeObject *array, *floating, *integer; /* NumPy's */
    PyObject *writebacks, *flush;             /* a list, and what empties it */
    const long long *writes; /* counts what may have been written into nodes */
} World;
extern World world;

static inline double number_of(PyObject *node)
{
    return *(double *)((char *)node + world.data);
}

/* ---- refill.c ---- */

enum { ANOTHER = -1, RAISED = -2 }; /* another structure than the key's; an exception is set */

typedef struct {
    Py_ssize_t at;
    PyObject *value;
} Source;

/* Where numbers go that are found in arguments, and the Values among these. */
typedef struct {
    double *x;
    Py_ssize_t room;           /* numbers that fit */
    PyObject *numbers, *other; /* Python's: x, and who knows about uncommon kinds; or NULL, and
                                  these are ANOTHER */
    PyObject *listed;          /* a list to append (place, Value) to; or NULL, and they go here, */
    Source *sources;           /* borrowed from the arguments, */
    Py_ssize_t count, most;    /* up to so many */
} Fill;

/* Write the numbers of a tree with this key, from `at` on; returns where the next one goes. Without
   `other` and `listed` no Python code runs meanwhile, and nothing is allocated. */
Py_ssize_t refill_tree(Fill *fill, PyObject *tree, PyObject *key, Py_ssize_t at);

/* ---- unchanged.c ---- */

/* The versions of classes, place by place, in which they were seen to be as they were; 0: none. */
typedef struct {
    unsigned *known;
    Py_ssize_t count;
} Versions;

/* The first place, from `at` on, that may hold something else than it did; -1 if none. */
Py_ssize_t first_other(PyObject *ways, PyObject *places, PyObject *then, Py_ssize_t at,
                       const Versions *versions);

/* The first word, from `at` on, that means another thing in its space, a dict; -1 if none does. */
Py_ssize_t first_new_meaning(PyObject *spaces, PyObject *words, PyObject *then, PyObject *missing,
                             Py_ssize_t at);

/* ---- functions of the module ---- */

PyObject *connect_engine(PyObject *module, PyObject *arguments);
PyObject *refill(PyObject *module, PyObject *const *args, Py_ssize_t count);
PyObject *first_changed(PyObject *module, PyObject *const *args, Py_ssize_t count);
PyObject *first_moved(PyObject *module, PyObject *const *args, Py_ssize_t count);
PyObject *attributes_of(PyObject *module, PyObject *thing);
PyObject *make_repeat(PyObject *module, PyObject *arguments, PyObject *names);
int add_call_types(PyObject *module); /* Calls and Entry, of repeat.c */

#endif
