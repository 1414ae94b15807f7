# C types for unchanged.py; see there.

cdef extern from "tracing/unchanged.h":
    Py_ssize_t first_other(bytes ways, list places, list then, Py_ssize_t at)
    Py_ssize_t first_new_meaning(list spaces, list words, list then, object missing, Py_ssize_t at)
    object own_attributes(object thing)

cpdef Py_ssize_t first_moved(list spaces, list words, list then, missing, Py_ssize_t at) except -2

cpdef Py_ssize_t first_changed(bytes ways, list places, list then, Py_ssize_t at) except -2

cpdef attributes_of(thing)
