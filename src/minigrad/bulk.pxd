# C types for bulk.py; see there.

cimport cython
from libc.math cimport sqrt

from .node cimport Node

@cython.locals(found=list)
cdef list _listed(values, what)

@cython.locals(nodes=list, x="double[::1]", k=Py_ssize_t)
cpdef data_of(values)

@cython.locals(nodes=list, x="double[::1]", k=Py_ssize_t)
cpdef grads_of(values)

@cython.locals(nodes=list, x="double[::1]", k=Py_ssize_t)
cpdef set_data(values, numbers)

@cython.locals(nodes=list, x="double[::1]", k=Py_ssize_t)
cpdef set_grads(values, numbers)

@cython.locals(nodes=list, k=Py_ssize_t)
cpdef zero_grad(values)

@cython.locals(count=Py_ssize_t, k=Py_ssize_t, slope=double, speed=double,
               x="double[::1]", g="double[::1]", u="double[::1]",
               new_x="double[::1]", new_u="double[::1]")
cpdef sgd(data, grads, velocity, double lr, double momentum, bint nesterov, double weight_decay)

@cython.locals(count=Py_ssize_t, k=Py_ssize_t, beta1=double, beta2=double, rate=double,
               scale=double, slope=double, average=double, square=double,
               x="double[::1]", g="double[::1]", m="double[::1]", v="double[::1]",
               new_x="double[::1]", new_m="double[::1]", new_v="double[::1]")
cpdef adam(data, grads, first, second, double lr, betas, double eps, long long steps,
           double penalty, double shrink)
