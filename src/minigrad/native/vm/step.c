/* Machine.step: copy inputs in, run, check the guards, update the parameters. */

#include "vm.h"

#include <string.h>

/* Copy the numbers of a pair (slot, numbers), a buffer or a sequence, to the values there. */
static int copy_in(double *values, long size, PyObject *pair)
{
    if (!PyTuple_Check(pair) || PyTuple_GET_SIZE(pair) != 2)
        return refuse(PyExc_TypeError, "step: inputs are pairs (slot, numbers).");
    const long slot = PyLong_AsLong(PyTuple_GET_ITEM(pair, 0));
    if (slot == -1 && PyErr_Occurred())
        return -1;
    PyObject *numbers = PyTuple_GET_ITEM(pair, 1);
    const int is_listed = PyList_CheckExact(numbers) || PyTuple_CheckExact(numbers);
    Py_buffer view = {0};
    if (!is_listed && get_buffer(numbers, &view, 'd', 0, "inputs"))
        return -1;
    const Py_ssize_t count = is_listed ? PySequence_Fast_GET_SIZE(numbers) : length_of(&view);
    int result = 0;
    if (!is_range(slot, count, size))
        result = refuse(PyExc_ValueError, "step: inputs that lie outside the buffer.");
    else if (!is_listed)
        memmove(values + slot, view.buf, view.len);
    else
        for (Py_ssize_t k = 0; k < count && !result; k++) {
            const double x = PyFloat_AsDouble(PySequence_Fast_GET_ITEM(numbers, k));
            if (x == -1.0 && PyErr_Occurred())
                result = -1;
            else
                values[slot + k] = x;
        }
    PyBuffer_Release(&view);
    return result;
}

static int copy_inputs(double *values, long size, PyObject *inputs)
{
    PyObject *pairs = PySequence_Fast(inputs, "step: inputs are pairs (slot, numbers).");
    int result = pairs ? 0 : -1;
    for (Py_ssize_t k = 0; !result && k < PySequence_Fast_GET_SIZE(pairs); k++)
        result = copy_in(values, size, PySequence_Fast_GET_ITEM(pairs, k));
    Py_XDECREF(pairs);
    return result;
}

/* ---- guards ---- */

int get_slots(PyObject *slots, PyObject *numbers, int writable, Slots *found, long size,
              const char *what)
{
    if (get_buffer(slots, &found->slot_view, 'q', 0, what)
        || get_buffer(numbers, &found->number_view, 'd', writable, what))
        return -1;
    found->slots = found->slot_view.buf, found->numbers = found->number_view.buf;
    found->count = length_of(&found->slot_view);
    int fits = found->count == length_of(&found->number_view);
    for (long k = 0; k < found->count && fits; k++)
        fits = found->slots[k] >= 0 && found->slots[k] < size;
    return fits ? 0 : refuse(PyExc_ValueError, "%s that lie outside the buffer.", what);
}

int get_guards(PyObject *pair, Slots *guards, long size)
{
    if (pair == Py_None)
        return 0;
    if (!PyTuple_Check(pair) || PyTuple_GET_SIZE(pair) != 2)
        return refuse(PyExc_TypeError, "guards are a pair (slots, numbers).");
    return get_slots(PyTuple_GET_ITEM(pair, 0), PyTuple_GET_ITEM(pair, 1), 0, guards, size,
                     "guards");
}

void release_slots(Slots *slots)
{
    PyBuffer_Release(&slots->slot_view);
    PyBuffer_Release(&slots->number_view);
}

long failed_guard(const Slots *guards, const double *values)
{
    for (long k = 0; k < guards->count; k++)
        if (!is_same(values[guards->slots[k]], guards->numbers[k]))
            return k;
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
    if (!is_range(0, count, size) || !is_range(grads, count, size) || (count && grads < count))
        return refuse(PyExc_ValueError, "step: parameters or gradients that lie outside the "
                                        "buffer.");
    double *columns[MOST_COLUMNS] = {values, values + grads};
    Py_buffer steps;
    if (get_buffer(clock, &steps, 'q', 1, "the clock"))
        return -1;
    int result = length_of(&steps) == 1
                     ? apply_formula(formula, machine->isa, count, columns, 2, state, settings)
                     : refuse(PyExc_ValueError, "step: the clock has another length.");
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
    Slots guards = {0};
    if (get_values(machine, args[0], &view))
        return NULL;
    double *values = view.buf;
    long failed = -1;
    int result = get_guards(args[2], &guards, machine->plan.size);
    if (!result)
        result = copy_inputs(values, machine->plan.size, args[1]);
    if (!result)
        result = run_once(machine, values);
    if (!result)
        failed = failed_guard(&guards, values);
    if (!result && failed < 0 && !is_finite(machine, values, 1))
        failed = NOT_FINITE;
    if (!result && failed == -1 && args[3] != Py_None)
        result = update(machine, values, args[3]);
    release_slots(&guards);
    PyBuffer_Release(&view);
    return result ? NULL : PyLong_FromLong(failed);
}
