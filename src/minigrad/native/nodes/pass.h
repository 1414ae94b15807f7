/* The backward pass over a graph whose nodes have two operands at most: `_postorder` and `_pass_back`
   of core/backward.py, which say what happens here and why, without a list of objects in between.
   Nothing comes in between: gradients are added up in the nodes themselves. */

#ifndef MINIGRAD_PASS_H
#define MINIGRAD_PASS_H

#include "fields.h"

#include <string.h>

typedef struct {
    Fields *node;
    double grad;
} Earlier;

/* Arrays that grow; kept from pass to pass, unless they have become very large. */
typedef struct {
    void *items;
    size_t room;
} Room;

enum { KEPT_BYTES = 1 << 24, AHEAD = 8 };

#ifdef __GNUC__
#define PREFETCH(place) __builtin_prefetch(place)
#else
#define PREFETCH(place) ((void)(place))
#endif

static Room pass_order, pass_path, pass_earlier;

static inline int grow(Room *room, size_t count, size_t bytes)
{
    if (count < room->room)
        return 1;
    const size_t wanted = 2 * count + 1024;
    void *items = PyMem_RawRealloc(room->items, wanted * bytes);
    if (!items)
        return 0;
    room->items = items, room->room = wanted;
    return 1;
}

static void tidy(Room *room, size_t bytes)
{
    if (room->room * bytes <= KEPT_BYTES)
        return;
    PyMem_RawFree(room->items);
    room->items = NULL, room->room = 0;
}

#define ORDER ((Fields **)pass_order.items)
#define PATH ((Fields **)pass_path.items)
#define EARLIER ((Earlier *)pass_earlier.items)
#define IS_OPEN(operand, done) (IS_NODE(operand) && (operand)->mark != (done))

/* A node whose operands are in the order is next. What earlier passes have left in its gradient is set
   aside; -0.0 counts, so that sums begin at 0. */
static inline int put_in_order(Fields *node, long long done, size_t *count, size_t *kept)
{
    static const double zero = 0.0;
    if (!grow(&pass_order, *count, sizeof *ORDER))
        return 0;
    node->mark = done;
    ORDER[(*count)++] = node;
    if (memcmp(&node->grad, &zero, sizeof zero)) {
        if (!grow(&pass_earlier, *kept, sizeof *EARLIER))
            return 0;
        EARLIER[(*kept)++] = (Earlier){node, node->grad};
    }
    return 1;
}

/* Put all nodes under a root in order, operands first; how many, or 0 if one of them is not plain, or
   there is no memory. Marks are those of `_postorder`. */
static size_t plain_order(Fields *root, long long first, int is_special, size_t *kept)
{
    const long long second = first + 1, done = first + 3;
    size_t count = 0, depth = 0;
    Fields *node = root;
    for (;;) {
        Fields *below = NULL;
        if (node->tag & is_special || !grow(&pass_path, depth, sizeof *PATH))
            return 0;
        if (IS_OPEN(node->a, done))
            below = node->a, node->mark = first, PATH[depth++] = node;
        else if (IS_OPEN(node->b, done))
            below = node->b, node->mark = second, PATH[depth++] = node;
        else if (!put_in_order(node, done, &count, kept))
            return 0;
        while (!below) { /* nowhere to go down: up, until there is */
            if (!depth)
                return count;
            node = PATH[depth - 1];
            Fields *const b = node->b;
            if (node->mark == first && IS_OPEN(b, done)) {
                if (b->tag & is_special)
                    return 0;
                if (IS_OPEN(b->a, done) || IS_OPEN(b->b, done)) {
                    below = b, node->mark = second;
                    break;
                }
                if (!put_in_order(b, done, &count, kept)) /* no need to go down for it alone */
                    return 0;
            }
            if (!put_in_order(node, done, &count, kept))
                return 0;
            depth--;
        }
        if (below->mark >= first) /* on the way down already: a cycle, and others say so */
            return 0;
        node = below;
    }
}

/* The whole pass; 0, and nothing done, if the graph is not plain or there is no memory. */
static int plain_pass(PyObject *root, long long first, int is_special)
{
    size_t kept = 0, count = plain_order((Fields *)root, first, is_special, &kept);
    const int is_plain = count != 0;
    if (is_plain) {
        for (size_t k = 0; k < kept; k++)
            EARLIER[k].node->grad = 0.0;
        ((Fields *)root)->grad = 1.0;
        while (count--) {
            const Fields *node = ORDER[count];
            const double grad = node->grad;
            if (count >= AHEAD)
                PREFETCH(&ORDER[count - AHEAD]->grad);
            if (IS_NODE(node->a))
                node->a->grad += node->da * grad;
            if (IS_NODE(node->b))
                node->b->grad += node->db * grad;
        }
        for (size_t k = 0; k < kept; k++)
            EARLIER[k].node->grad += EARLIER[k].grad;
    }
    tidy(&pass_order, sizeof *ORDER);
    tidy(&pass_path, sizeof *PATH);
    tidy(&pass_earlier, sizeof *EARLIER);
    return is_plain;
}

#endif
