# Where the numbers of an array lie, for loops in C: what Cython's views of arrays would also tell, with
# 18,000 lines of C. Whoever asks keeps the array, and nobody changes its length meanwhile.

from cpython.buffer cimport PyBUF_C_CONTIGUOUS, PyBUF_FORMAT, PyBUF_WRITABLE
from cpython.buffer cimport PyBuffer_Release, PyObject_GetBuffer

cdef inline void *_items(array, char kind, Py_ssize_t *count) except? NULL:
    cdef Py_buffer view
    PyObject_GetBuffer(array, &view, PyBUF_C_CONTIGUOUS | PyBUF_FORMAT | PyBUF_WRITABLE)
    cdef void *items = view.buf
    cdef bint fits = view.ndim == 1 and view.format[0] == kind and view.format[1] == 0
    count[0] = view.shape[0] if fits else 0
    PyBuffer_Release(&view)
    if not fits:
        raise ValueError(f"an array of numbers of the kind '{chr(kind)}' is needed.")
    return items

cdef inline int *ints_in(array) except? NULL:
    cdef Py_ssize_t count
    return <int *>_items(array, b'i', &count)

cdef inline double *doubles_in(array, Py_ssize_t *count) except? NULL:
    return <double *>_items(array, b'd', count)
