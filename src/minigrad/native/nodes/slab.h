/* Memory for nodes: equal pieces from 256 KiB chunks, and control over the garbage collector.

   A training step makes a hundred thousand nodes and frees them all. From a chunk they come in
   order of address, which caches love, and a chunk that has become empty starts in order again: a
   plain free list scrambles the addresses within a hundred steps. Chunks with holes are used up
   before a new one is made, and empty ones beyond a reserve go back to the system.

   A node keeps the collector's header, but is not tracked: ordinary nodes point to older nodes
   only and cannot form cycles. A node with a hand-written step can; it is tracked, and so is every
   node that has a tracked operand. */

#ifndef MINIGRAD_SLAB_H
#define MINIGRAD_SLAB_H

#include "fields.h"

#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* The header before a collectable object is two words here, the first of them 0 while it is not
   tracked. On other versions nodes come from Python's own allocator and are untracked one by one. */
#if PY_VERSION_HEX >= 0x030B0000 && PY_VERSION_HEX < 0x030F0000 && !defined(Py_GIL_DISABLED) \
    && !defined(PYPY_VERSION) && !defined(Py_TRACE_REFS) && defined(__unix__)
#define MINIGRAD_SLAB 1
#else
#define MINIGRAD_SLAB 0
#endif

static Py_ssize_t slab_alive = 0; /* nodes, for tests of memory */

static Py_ssize_t slab_count(void) { return slab_alive; }

static inline int is_tracked(PyObject *o)
{
#if MINIGRAD_SLAB
    return ((uintptr_t *)o)[-2] != 0;
#else
    return PyObject_GC_IsTracked(o);
#endif
}

static inline void track(PyObject *o)
{
    if (!is_tracked(o)) PyObject_GC_Track(o);
}

static PyTypeObject *node_type = NULL;

/* What a node refers to. */
enum {
    place_a = offsetof(Fields, a),
    place_b = offsetof(Fields, b),
    place_extras = offsetof(Fields, extras),
    place_mark = offsetof(Fields, mark),
    place_attributes = offsetof(Fields, attributes)
};
#define FIELD(o, place) (*(PyObject **)((char *)(o) + (place)))

static inline void track_like(PyObject *o, PyObject *operand)
{
    if (operand != Py_None && is_tracked(operand)) track(o);
}

/* The same for many operands, a tuple: thousands of parameters perhaps. */
static inline void track_like_any(PyObject *o, PyObject *operands)
{
    for (Py_ssize_t k = 0; k < PyTuple_GET_SIZE(operands); k++) {
        PyObject *operand = PyTuple_GET_ITEM(operands, k);
        if (PyObject_IS_GC(operand) && is_tracked(operand)) { /* whoever made the tuple may be wrong */
            track(o);
            return;
        }
    }
}

#if MINIGRAD_SLAB

#include <sys/mman.h>

/* AddressSanitizer sees malloc; of our own pieces it has to be told which are in use. */
#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/asan_interface.h>
#else
#define ASAN_POISON_MEMORY_REGION(start, bytes) ((void)0)
#define ASAN_UNPOISON_MEMORY_REGION(start, bytes) ((void)0)
#endif

#define CHUNK_BYTES ((size_t)256 * 1024)
#define CHUNKS_IN_RESERVE 256 /* 64 MiB: what a loop over a million nodes frees and takes again */

typedef struct Chunk {
    struct Chunk *next, *previous; /* in the list of chunks that have room */
    void *holes;                   /* freed pieces, each pointing to the next */
    char *fresh;                   /* from here on, never used since the chunk was empty */
    size_t used;
    int listed;
} Chunk;

static Chunk *with_room = NULL;
static size_t piece_bytes = 0, empty_chunks = 0;

#define HEADER_BYTES ((size_t)64)
#define GC_BYTES (2 * sizeof(uintptr_t))

static void chunk_list(Chunk *chunk)
{
    chunk->previous = NULL;
    chunk->next = with_room;
    if (with_room) with_room->previous = chunk;
    with_room = chunk;
    chunk->listed = 1;
}

static void chunk_unlist(Chunk *chunk)
{
    if (chunk->previous) chunk->previous->next = chunk->next;
    else with_room = chunk->next;
    if (chunk->next) chunk->next->previous = chunk->previous;
    chunk->listed = 0;
}

static void chunk_reset(Chunk *chunk)
{
    chunk->holes = NULL;
    chunk->fresh = (char *)chunk + HEADER_BYTES;
    chunk->used = 0;
    ASAN_POISON_MEMORY_REGION(chunk->fresh, CHUNK_BYTES - HEADER_BYTES);
}

/* Get a chunk, aligned to its size, straight from the system: malloc would keep what is freed. */
static Chunk *chunk_map(void)
{
    char *got = (char *)mmap(NULL, 2 * CHUNK_BYTES, PROT_READ | PROT_WRITE,
                             MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (got == (char *)MAP_FAILED) return NULL;
    char *start = (char *)(((uintptr_t)got + CHUNK_BYTES - 1) & ~(CHUNK_BYTES - 1));
    if (start > got) munmap(got, (size_t)(start - got));
    munmap(start + CHUNK_BYTES, (size_t)(got + CHUNK_BYTES - start));
    return (Chunk *)start;
}

static void *piece_take(void)
{
    Chunk *chunk = with_room;
    if (chunk == NULL) {
        chunk = chunk_map();
        if (chunk == NULL) return NULL;
        chunk_reset(chunk);
        chunk_list(chunk);
        empty_chunks++;
    }
    if (chunk->used++ == 0) empty_chunks--;
    void *piece = chunk->holes != NULL ? chunk->holes : chunk->fresh;
    ASAN_UNPOISON_MEMORY_REGION(piece, piece_bytes);
    if (chunk->holes != NULL) chunk->holes = *(void **)piece;
    else chunk->fresh += piece_bytes;
    if (chunk->holes == NULL && chunk->fresh + piece_bytes > (char *)chunk + CHUNK_BYTES)
        chunk_unlist(chunk);
    return piece;
}

static void piece_give(void *piece)
{
    Chunk *chunk = (Chunk *)((uintptr_t)piece & ~(CHUNK_BYTES - 1));
    if (--chunk->used == 0) {
        if (empty_chunks >= CHUNKS_IN_RESERVE) {
            if (chunk->listed) chunk_unlist(chunk);
            ASAN_UNPOISON_MEMORY_REGION(chunk, CHUNK_BYTES);
            munmap(chunk, CHUNK_BYTES);
            return;
        }
        empty_chunks++;
        chunk_reset(chunk);
    } else {
        *(void **)piece = chunk->holes;
        chunk->holes = piece;
        ASAN_POISON_MEMORY_REGION(piece, piece_bytes);
    }
    if (!chunk->listed) chunk_list(chunk);
}

static PyObject *node_alloc(PyTypeObject *type, Py_ssize_t items)
{
    if (type != node_type) return PyType_GenericAlloc(type, items);
    char *piece = (char *)piece_take();
    if (piece == NULL) return PyErr_NoMemory();
    memset(piece, 0, GC_BYTES + (size_t)type->tp_basicsize);
    PyObject *o = (PyObject *)(piece + GC_BYTES);
#ifdef Py_REF_DEBUG
    PyObject_Init(o, type);
#else
    Py_SET_REFCNT(o, 1);
    Py_SET_TYPE(o, type);
#endif
    slab_alive++;
    return o;
}

static void node_free(void *o)
{
    slab_alive--;
    piece_give((char *)o - GC_BYTES);
}

#else

static PyObject *node_alloc(PyTypeObject *type, Py_ssize_t items)
{
    PyObject *o = PyType_GenericAlloc(type, items);
    if (o != NULL && type == node_type) {
        PyObject_GC_UnTrack(o);
        slab_alive++;
    }
    return o;
}

static void node_free(void *o)
{
    slab_alive--;
    PyObject_GC_Del(o);
}

#endif

/* Make a node with its operands in place. The maker has to set data, da, db and tag. */
static inline PyObject *make_node(PyObject *a, PyObject *b)
{
#if MINIGRAD_SLAB && !defined(Py_REF_DEBUG)
    char *piece = (char *)piece_take();
    if (piece == NULL) return PyErr_NoMemory();
    ((uintptr_t *)piece)[0] = ((uintptr_t *)piece)[1] = 0;
    PyObject *o = (PyObject *)(piece + GC_BYTES);
    Py_SET_REFCNT(o, 1);
    Py_SET_TYPE(o, node_type);
    slab_alive++;
    Fields *node = (Fields *)o;
    node->mark = 0, node->place = 0, node->attributes = NULL;
    node->grad = 0.0;
#else
    PyObject *o = node_alloc(node_type, 0);
    if (o == NULL) return NULL;
#endif
    FIELD(o, place_a) = Py_NewRef(a);
    FIELD(o, place_b) = Py_NewRef(b);
    FIELD(o, place_extras) = Py_NewRef(Py_None);
    track_like(o, a);
    track_like(o, b);
    return o;
}

/* Nodes that nobody refers to any more wait in a list for their turn to be freed, linked where they
   had their marks. Whatever a node refers to, by its operands, a list of them, an attribute, the
   closure of a step: if freeing that comes to another node, and so on, then from some depth on the
   nodes join the list instead of being freed there and then. So a chain of any length and any kind
   takes little of the stack. (Not at once: an object with a __del__ that takes its time, in this
   thread or another, does not keep nodes waiting.) */
static PyObject *dead = NULL;
#ifdef _MSC_VER
static __declspec(thread) int depth = 0; /* of nodes that this thread is in the middle of freeing */
#else
static _Thread_local int depth = 0;
#endif
#define DEEPEST 16

#define NEXT_DEAD(o) FIELD(o, place_mark)

static inline void await_freeing(PyObject *o)
{
    if (is_tracked(o)) PyObject_GC_UnTrack(o);
    NEXT_DEAD(o) = dead;
    dead = o;
}

static inline void drop(PyObject *operand)
{
    if (Py_REFCNT(operand) == 1 && Py_TYPE(operand) == node_type) await_freeing(operand);
    else Py_DECREF(operand);
}

static void node_dealloc(PyObject *o)
{
    if (Py_TYPE(o) != node_type) Py_INCREF(Py_TYPE(o)); /* it may be gone before our turn comes */
    int *const deep = &depth; /* looked up once */
    if (*deep >= DEEPEST) {
        await_freeing(o);
        return;
    }
    if (is_tracked(o)) PyObject_GC_UnTrack(o);
    ++*deep;
    for (;;) {
        PyTypeObject *type = Py_TYPE(o);
        PyObject *extras = FIELD(o, place_extras), *attributes = FIELD(o, place_attributes);
        drop(FIELD(o, place_a));
        drop(FIELD(o, place_b));
        Py_DECREF(extras);
        Py_XDECREF(attributes);
        type->tp_free(o);
        if (type != node_type) Py_DECREF(type);
        if (dead == NULL) break;
        o = dead;
        dead = NEXT_DEAD(o);
    }
    --*deep;
}

static int node_traverse(PyObject *o, visitproc visit, void *arg)
{
    Py_VISIT(FIELD(o, place_a));
    Py_VISIT(FIELD(o, place_b));
    Py_VISIT(FIELD(o, place_extras));
    Py_VISIT(FIELD(o, place_attributes));
    return 0;
}

static int node_clear(PyObject *o)
{
    const Py_ssize_t places[] = {place_a, place_b, place_extras};
    for (int k = 0; k < 3; k++)
        Py_SETREF(FIELD(o, places[k]), Py_NewRef(Py_None));
    Py_CLEAR(FIELD(o, place_attributes));
    return 0;
}

static PyGetSetDef attributes_of_node[] = {
    {"__dict__", PyObject_GenericGetDict, PyObject_GenericSetDict, NULL, NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

/* Have the class of `sample` live here, whose attributes of the users' own come to life with the first
   of them. All fields of the sample must lie where `Fields` has them: `same_layout` tells. */
static int install_slab(PyObject *sample, int same_layout)
{
    PyTypeObject *type = Py_TYPE(sample);
    if (PyType_HasFeature(type, Py_TPFLAGS_HEAPTYPE)) { /* its instances would have to count it */
        PyErr_SetString(PyExc_ImportError, "minigrad: Value must be a static type");
        return -1;
    }
    if (!same_layout || type->tp_basicsize != (Py_ssize_t)sizeof(Fields)) {
        PyErr_SetString(PyExc_ImportError,
                        "minigrad: the native engine does not fit its own layout; set "
                        "MINIGRAD_PURE=1 and report this");
        return -1;
    }
#if MINIGRAD_SLAB
    piece_bytes = ((size_t)type->tp_basicsize + GC_BYTES + 7) & ~(size_t)7;
#endif
    type->tp_traverse = node_traverse;
    type->tp_clear = node_clear;
    type->tp_dictoffset = place_attributes;
    PyObject *descriptor = PyDescr_NewGetSet(type, attributes_of_node);
    if (descriptor == NULL || PyDict_SetItemString(type->tp_dict, "__dict__", descriptor) < 0)
        return -1;
    Py_DECREF(descriptor);
    type->tp_alloc = node_alloc;
    PyType_Modified(type);
    return 0;
}

/* The last step, when the sample is gone: from now on this is where nodes come from and go to. */
static void open_slab(PyObject *kind)
{
    PyTypeObject *type = (PyTypeObject *)kind;
    node_type = type;
    type->tp_dealloc = node_dealloc;
    type->tp_free = node_free;
}

/* len(v) and loops over v call `refusal`, which raises. Only the slots say so: with methods of
   these names a Value would pass for a list wherever somebody asks whether it has them. */
static PyObject *elements_refusal = NULL;

static PyObject *refuse_iteration(PyObject *o)
{
    (void)o;
    return PyObject_CallNoArgs(elements_refusal);
}

static Py_ssize_t refuse_length(PyObject *o)
{
    Py_XDECREF(refuse_iteration(o));
    return -1;
}

/* Not the slots of v[0], which Python refuses by itself: what has that of mappings fills the place of
   a dict in "text" % v, and the text would come back as it is; what has that of sequences passes for
   a list in NumPy. */
static PyMappingMethods no_elements = {.mp_length = refuse_length};

static void refuse_elements(PyObject *kind, PyObject *refusal)
{
    PyTypeObject *type = (PyTypeObject *)kind;
    Py_INCREF(refusal);
    elements_refusal = refusal;
    type->tp_iter = refuse_iteration;
    type->tp_as_mapping = &no_elements;
    PyType_Modified(type);
}

/* Add an attribute to an extension type, once it is made and before anybody uses it. */
static int set_in_class(PyObject *kind, PyObject *name, PyObject *thing)
{
    PyTypeObject *type = (PyTypeObject *)kind;
    if (PyDict_SetItem(type->tp_dict, name, thing) < 0) return -1;
    PyType_Modified(type);
    return 0;
}

#endif
