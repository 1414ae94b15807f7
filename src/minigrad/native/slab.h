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

#include <Python.h>
#include <stdint.h>
#include <stdlib.h>
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

static inline void track_like(PyObject *o, PyObject *operand)
{
    if (operand != Py_None && is_tracked(operand)) track(o);
}

#if MINIGRAD_SLAB

#define CHUNK_BYTES ((size_t)256 * 1024)
#define CHUNKS_IN_RESERVE 256 /* 64 MiB: what a loop over a million nodes frees and takes again */

typedef struct Chunk {
    struct Chunk *next, *previous; /* in the list of chunks that have room */
    void *holes;                   /* freed pieces, each pointing to the next */
    char *fresh, *end;             /* the part that was never used since the chunk was empty */
    size_t used;
    int listed;
} Chunk;

static Chunk *with_room = NULL;
static size_t piece_bytes = 0;
static size_t empty_chunks = 0;

#define HEADER_BYTES ((size_t)64)
#define GC_BYTES (2 * sizeof(uintptr_t))

static Chunk *chunk_of(void *piece) { return (Chunk *)((uintptr_t)piece & ~(CHUNK_BYTES - 1)); }

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
}

static void *piece_take(void)
{
    Chunk *chunk = with_room;
    void *piece;
    if (chunk == NULL) {
        chunk = (Chunk *)aligned_alloc(CHUNK_BYTES, CHUNK_BYTES);
        if (chunk == NULL) return NULL;
        chunk_reset(chunk);
        chunk->end = (char *)chunk + CHUNK_BYTES;
        chunk_list(chunk);
        empty_chunks++;
    }
    if (chunk->used++ == 0) empty_chunks--;
    if (chunk->holes != NULL) {
        piece = chunk->holes;
        chunk->holes = *(void **)piece;
    } else {
        piece = chunk->fresh;
        chunk->fresh += piece_bytes;
    }
    if (chunk->holes == NULL && chunk->fresh + piece_bytes > chunk->end) chunk_unlist(chunk);
    return piece;
}

static void piece_give(void *piece)
{
    Chunk *chunk = chunk_of(piece);
    if (--chunk->used == 0) {
        if (empty_chunks >= CHUNKS_IN_RESERVE) {
            if (chunk->listed) chunk_unlist(chunk);
            free(chunk);
            return;
        }
        empty_chunks++;
        chunk_reset(chunk);
    } else {
        *(void **)piece = chunk->holes;
        chunk->holes = piece;
    }
    if (!chunk->listed) chunk_list(chunk);
}

static PyObject *node_alloc(PyTypeObject *type, Py_ssize_t items)
{
    char *piece;
    PyObject *o;
    if ((size_t)type->tp_basicsize + GC_BYTES > piece_bytes)
        return PyType_GenericAlloc(type, items);
    piece = (char *)piece_take();
    if (piece == NULL) return PyErr_NoMemory();
    memset(piece, 0, GC_BYTES + (size_t)type->tp_basicsize);
    o = (PyObject *)(piece + GC_BYTES);
    PyObject_Init(o, type);
    slab_alive++;
    return o;
}

static void node_free(void *o)
{
    slab_alive--;
    piece_give((char *)o - GC_BYTES);
}

static void prepare_slab(PyTypeObject *type)
{
    piece_bytes = ((size_t)type->tp_basicsize + GC_BYTES + 7) & ~(size_t)7;
}

#else

static PyObject *node_alloc(PyTypeObject *type, Py_ssize_t items)
{
    PyObject *o = PyType_GenericAlloc(type, items);
    if (o != NULL) {
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

static void prepare_slab(PyTypeObject *type) { (void)type; }

#endif

/* Have a class of nodes live here. It adds no fields to its base, so the base's destructor can be
   its own: that one frees a chain of any length without recursion (Python's trashcan), but only for
   objects that have it as their first destructor. */
static void install_slab(PyObject *kind)
{
    PyTypeObject *type = (PyTypeObject *)kind;
    prepare_slab(type);
    type->tp_alloc = node_alloc;
    type->tp_free = node_free;
    type->tp_dealloc = type->tp_base->tp_dealloc;
    PyType_Modified(type);
}

#endif
