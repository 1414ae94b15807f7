/* Formulas of optimisers as objects of Python; isa/body.h runs them.

   A formula is checked when it is made, and the columns that it moves at each call. The global lock
   is held throughout: to everybody else, all parameters move at once. */

#include "vm.h"

#include <stdlib.h>
#include <string.h>

typedef struct {
    PyObject_HEAD
    Formula formula;
} FormulaObject;

static void formula_free(PyObject *self)
{
    PyTypeObject *type = Py_TYPE(self);
    free(((FormulaObject *)self)->formula.scratch);
    type->tp_free(self);
    Py_DECREF(type);
}

/* Whether numbers of registers and rows are such that nothing lies outside. */
static int is_sound(const Formula *f)
{
    const long inputs = (long)f->columns + f->settings + f->constants;
    int sound = f->columns >= 2 && f->columns <= MOST_COLUMNS && f->settings >= 0
                && f->settings <= MOST_REGISTERS && inputs + f->count <= MOST_REGISTERS
                && f->uniform >= 0 && f->uniform <= f->count;
    for (int k = 0; k < f->count && sound; k++)
        for (int j = 1; j < 4 && sound; j++)
            sound = f->rows[4 * k + j] >= (k < f->uniform ? f->columns : 0)
                    && f->rows[4 * k + j] < inputs + k;
    for (int k = 0; k < f->columns - 1 && sound; k++)
        sound = f->results[k] >= inputs && f->results[k] < inputs + f->count;
    return sound;
}

static PyObject *formula_made(Formula *f, const Py_buffer *constants, const Py_buffer *rows,
                              const Py_buffer *results)
{
    const int fits = constants->len <= (Py_ssize_t)sizeof f->numbers
                     && rows->len <= (Py_ssize_t)sizeof f->rows && length_of(rows) % 4 == 0
                     && results->len <= (Py_ssize_t)sizeof f->results
                     && length_of(results) == f->columns - 1;
    if (fits) {
        memcpy(f->rows, rows->buf, rows->len);
        memcpy(f->numbers, constants->buf, constants->len);
        memcpy(f->results, results->buf, results->len);
        f->constants = (int)length_of(constants), f->count = (int)length_of(rows) / 4;
    }
    if (!fits || !is_sound(f))
        return PyErr_Format(PyExc_ValueError, "formula: registers that are not there, or too many.");
    FormulaObject *made = (FormulaObject *)formula_type()->tp_alloc(formula_type(), 0);
    f->scratch = aligned((size_t)(f->settings + f->constants + f->count) * PIECE);
    if (!made || !f->scratch) {
        free(f->scratch);
        Py_XDECREF(made);
        return PyErr_NoMemory();
    }
    made->formula = *f;
    return (PyObject *)made;
}

PyObject *formula_load(PyObject *module, PyObject *arguments)
{
    const char *text;
    Py_buffer constants = {0}, rows = {0}, results = {0};
    PyObject *from[3], *made = NULL;
    Formula f = {0};
    (void)module;
    if (!PyArg_ParseTuple(arguments, "siiiOOO:formula", &text, &f.columns, &f.settings, &f.uniform,
                          &from[0], &from[1], &from[2]))
        return NULL;
    if (!get_buffer(from[0], &constants, 'd', 0, "constants")
        && !get_buffer(from[1], &rows, 'i', 0, "rows")
        && !get_buffer(from[2], &results, 'i', 0, "results")) {
        char head[64]; /* what a text says of the columns, which a loop trusts, is to be true */
        snprintf(head, sizeof head, "%d columns, %d settings;", f.columns, f.settings);
        f.loop = strncmp(text, head, strlen(head)) ? -1 : loop_of(text);
        made = formula_made(&f, &constants, &rows, &results);
    }
    PyBuffer_Release(&constants);
    PyBuffer_Release(&rows);
    PyBuffer_Release(&results);
    return made;
}

int apply_formula(PyObject *self, const Isa *isa, long count, double **columns, int given,
                  PyObject *others, PyObject *settings)
{
    const Formula *f = &((FormulaObject *)self)->formula;
    double numbers[MOST_REGISTERS];
    Py_buffer views[MOST_COLUMNS];
    int held = 0, result = 0;
    if (PyTuple_GET_SIZE(others) != f->columns - given
        || PyTuple_GET_SIZE(settings) != f->settings)
        return refuse(PyExc_ValueError, "the formula has %d columns and %d settings.", f->columns,
                      f->settings);
    for (int k = 0; k < f->settings; k++) {
        numbers[k] = PyFloat_AsDouble(PyTuple_GET_ITEM(settings, k));
        if (numbers[k] == -1.0 && PyErr_Occurred())
            return -1;
    }
    while (!result && given + held < f->columns) {
        Py_buffer *view = &views[held];
        result = get_buffer(PyTuple_GET_ITEM(others, held), view, 'd', 1, "a column");
        if (result)
            break;
        columns[given + held++] = view->buf;
        count = count < 0 ? length_of(view) : count;
        if (length_of(view) != count)
            result = refuse(PyExc_ValueError, "%ld numbers to move but %ld beside them; "
                                              "give as many.", count, length_of(view));
    }
    if (!result)
        isa->formula(f, count, columns, numbers);
    while (held-- > 0)
        PyBuffer_Release(&views[held]);
    return result;
}

static PyObject *formula_apply(PyObject *self, PyObject *const *args, Py_ssize_t count)
{
    if (count != 2 || !PyTuple_Check(args[0]) || !PyTuple_Check(args[1]))
        return PyErr_Format(PyExc_TypeError, "apply(columns, settings): give tuples.");
    double *columns[MOST_COLUMNS];
    if (apply_formula(self, supported_isa(0), -1, columns, 0, args[0], args[1]))
        return NULL;
    Py_RETURN_NONE;
}

static PyMethodDef formula_methods[] = {
    {"apply", (PyCFunction)(void (*)(void))formula_apply, METH_FASTCALL,
     "apply(columns, settings): move x and the state, columns 0 and 2 to the last, in place."},
    {NULL, NULL, 0, NULL},
};
static PyType_Slot formula_slots[] = {
    {Py_tp_dealloc, formula_free},
    {Py_tp_methods, formula_methods},
    {Py_tp_doc, "A formula of an optimiser. Made by formula()."},
    {0, NULL},
};
static PyType_Spec formula_spec = {
    "minigrad._vm.Formula", sizeof(FormulaObject), 0,
    Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION, formula_slots,
};

PyTypeObject *formula_type(void)
{
    static PyTypeObject *type;
    return type ? type : (type = (PyTypeObject *)PyType_FromSpec(&formula_spec));
}
