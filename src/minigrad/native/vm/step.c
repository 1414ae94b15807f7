/* Machine.step: copy inputs in, run, check the guards, update the parameters. */

#include "vm.h"

#include <string.h>

/* Copy numbers, a buffer or a sequence, to the values from `slot` on. */
static int copy_in(double *values, long size, long slot, PyObject *numbers)
{
    if (PyList_CheckExact(numbers) || PyTuple_CheckExact(numbers)) {
        const Py_ssize_t count = PySequence_Fast_GET_SIZE(numbers);
        if (slot < 0 || slot > size || count > size - slot) {
            PyErr_SetString(PyExc_ValueError, "step: inputs that lie outside the buffer.");
            return -1;
        }
        for (Py_ssize_t k = 0; k < count; k++) {
            const double x = PyFloat_AsDouble(PySequence_Fast_GET_ITEM(numbers, k));
            if (x == -1.0 && PyErr_Occurred())
                return -1;
            values[slot + k] = x;
        }
        return 0;
    }
    Py_buffer view;
    if (get_buffer(numbers, &view, 'd', 0, "inputs"))
        return -1;
    const long count = length_of(&view);
    const int fits = slot >= 0 && slot <= size && count <= size - slot;
    if (fits)
        memmove(values + slot, view.buf, view.len);
    else
        PyErr_SetString(PyExc_ValueError, "step: inputs that lie outside the buffer.");
    PyBuffer_Release(&view);
    return fits ? 0 : -1;
}

static int copy_inputs(double *values, long size, PyObject *inputs)
{
    PyObject *pairs = PySequence_Fast(inputs, "step: inputs are pairs (slot, numbers).");
    if (!pairs)
        return -1;
    int result = 0;
    for (Py_ssize_t k = 0; k < PySequence_Fast_GET_SIZE(pairs) && !result; k++) {
        PyObject *pair = PySequence_Fast_GET_ITEM(pairs, k);
        if (!PyTuple_Check(pair) || PyTuple_GET_SIZE(pair) != 2) {
            PyErr_SetString(PyExc_TypeError, "step: inputs are pairs (slot, numbers).");
            result = -1;
            break;
        }
        const long slot = PyLong_AsLong(PyTuple_GET_ITEM(pair, 0));
        if (slot == -1 && PyErr_Occurred())
            result = -1;
        else
            result = copy_in(values, size, slot, PyTuple_GET_ITEM(pair, 1));
    }
    Py_DECREF(pairs);
    return result;
}

/* ---- guards ---- */

int get_guards(PyObject *from, Guards *guards, long size)
{
    *guards = (Guards){0};
    if (from == Py_None)
        return 0;
    if (!PyTuple_Check(from) || PyTuple_GET_SIZE(from) != 2) {
        PyErr_SetString(PyExc_TypeError, "guards are a pair (slots, numbers).");
        return -1;
    }
    int fits = !get_buffer(PyTuple_GET_ITEM(from, 0), &guards->slots, 'q', 0, "guards")
               && !get_buffer(PyTuple_GET_ITEM(from, 1), &guards->numbers, 'd', 0, "guards");
    if (fits) {
        guards->count = length_of(&guards->slots);
        fits = guards->count == length_of(&guards->numbers);
        for (long k = 0; k < guards->count && fits; k++) {
            const int64_t slot = ((const int64_t *)guards->slots.buf)[k];
            fits = slot >= 0 && slot < size;
        }
        if (!fits)
            PyErr_SetString(PyExc_ValueError, "guards that lie outside the buffer.");
    }
    if (!fits)
        release_guards(guards);
    return fits ? 0 : -1;
}

void release_guards(Guards *guards)
{
    PyBuffer_Release(&guards->slots);
    PyBuffer_Release(&guards->numbers);
}

/* Two numbers are the same if their bits are, or both are nan. */
static int is_same(double x, double y)
{
    return !memcmp(&x, &y, sizeof x) || (x != x && y != y);
}

long failed_guard(const Guards *guards, const double *values, long lanes, long lane)
{
    for (long k = 0; k < guards->count; k++) {
        const int64_t slot = ((const int64_t *)guards->slots.buf)[k];
        if (!is_same(values[slot * lanes + lane], ((const double *)guards->numbers.buf)[k]))
            return k;
    }
    return -1;
}

/* ---- optimisers ---- */

/* Move the parameters, and count the step in the same breath: no signal comes in between. */
static int update(Machine *machine, double *values, PyObject *update)
{
    PyObject *formula, *state, *settings, *clock;
    long count, grads;
    if (!PyArg_ParseTuple(update, "O!llO!O!O", formula_type(), &formula, &count, &grads,
                          &PyTuple_Type, &state, &PyTuple_Type, &settings, &clock))
        return -1;
    const long size = machine->plan.size;
    if (!is_range(0, count, size) || !is_range(grads, count, size) || (count && grads < count)) {
        PyErr_SetString(PyExc_ValueError,
                        "step: parameters or gradients that lie outside the buffer.");
        return -1;
    }
    double *columns[MOST_COLUMNS] = {values, values + grads};
    Py_buffer steps;
    if (get_buffer(clock, &steps, 'q', 1, "the clock"))
        return -1;
    int result = -1;
    if (length_of(&steps) != 1)
        PyErr_SetString(PyExc_ValueError, "step: the clock has another length.");
    else
        result = apply_formula(formula, machine->isa, count, columns, 2, state, settings);
    if (!result)
        ++*(int64_t *)steps.buf;
    PyBuffer_Release(&steps);
    return result;
}

PyObject *machine_step(PyObject *self, PyObject *const *args, Py_ssize_t count)
{
    Machine *machine = (Machine *)self;
    if (count != 4 || !(args[3] == Py_None || PyTuple_Check(args[3])))
        return PyErr_Format(PyExc_TypeError, "step(values, inputs, guards, update)");
    Py_buffer view;
    Guards guards;
    if (get_values(machine, args[0], &view))
        return NULL;
    double *values = view.buf;
    long failed = -1;
    int result = get_guards(args[2], &guards, machine->plan.size);
    if (!result) {
        result = copy_inputs(values, machine->plan.size, args[1]);
        if (!result)
            result = run_once(machine, values);
        if (!result)
            failed = failed_guard(&guards, values, 1, 0);
        if (!result && failed < 0 && !is_finite(machine, values, 1))
            failed = NOT_FINITE;
        if (!result && failed == -1 && args[3] != Py_None)
            result = update(machine, values, args[3]);
        release_guards(&guards);
    }
    PyBuffer_Release(&view);
    return result ? NULL : PyLong_FromLong(failed);
}
