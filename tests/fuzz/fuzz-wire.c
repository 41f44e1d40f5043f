/* SPDX-FileCopyrightText: The spice-accel authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */
/* A stream of frames, cut in different ways: the events must be the same, and every sub-message
 * must lie within what was fed. Input: one byte (bit 0: full header), two bytes that seed the
 * cuts, the stream. */
#include "core/wire.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void
require(gboolean holds)
{
    if (!holds)
        abort();
}

static void
note(GByteArray *log, const void *what, gsize size)
{
    g_byte_array_append(log, what, (guint)size);
}

static void
note_message(GByteArray *log, const SaWireMessage *msg)
{
    note(log, &msg->type, sizeof msg->type);
    note(log, &msg->size, sizeof msg->size);
    note(log, &msg->serial, sizeof msg->serial);
    note(log, &msg->start, sizeof msg->start);
    note(log, msg->head, msg->head_len);
}

static void
note_sub_messages(GByteArray *log, const SaWire *wire, const SaWireMessage *msg)
{
    const guint64 end = sa_wire_position(wire);

    /* A bad entry does not hide the later ones. */
    for (guint i = 0; i <= SA_WIRE_SUB_MAX; i++) {
        SaWireMessage sub;

        if (!sa_wire_sub_message(wire, i, &sub))
            continue;
        require(i < SA_WIRE_SUB_MAX);
        require(sub.start > msg->start && sub.start + 6 + sub.size <= end);
        require(sub.head_len == MIN(sub.size, SA_WIRE_HEAD_MAX));
        note(log, &i, sizeof i);
        note_message(log, &sub);
    }
}

/* Feeds one piece; FALSE once the wire is broken. */
static gboolean
feed(SaWire *wire, const uint8_t *data, size_t size, GByteArray *log)
{
    /* a copy of just this size: reading on past it does not go unseen */
    g_autofree guint8 *piece = g_memdup2(data, size);
    gsize fed = 0, used;
    SaWireEvent event;
    SaWireMessage msg;

    do {
        event = sa_wire_feed(wire, size ? piece + fed : NULL, size - fed, &used, &msg);
        require(used <= size - fed);
        fed += used;
        if (event == SA_WIRE_HEADER || event == SA_WIRE_MESSAGE) {
            require(msg.size <= SA_WIRE_BODY_MAX);
            require(msg.head_len ==
                    (event == SA_WIRE_HEADER ? 0 : MIN(msg.size, SA_WIRE_HEAD_MAX)));
            require(event == SA_WIRE_HEADER || sa_wire_at_boundary(wire));
            note(log, &event, sizeof event);
            note_message(log, &msg);
        }
        if (event == SA_WIRE_MESSAGE)
            note_sub_messages(log, wire, &msg);
    } while (event == SA_WIRE_HEADER || event == SA_WIRE_MESSAGE);

    require((event == SA_WIRE_BROKEN) == (sa_wire_error(wire) != NULL));
    require(event == SA_WIRE_BROKEN || fed == size);
    return event == SA_WIRE_MORE;
}

/* seed 0: all at once, 1: every byte alone, else pieces of 0 to 40 bytes. */
static GByteArray *
events(guint header_size, const uint8_t *data, size_t size, guint32 seed)
{
    GByteArray *log = g_byte_array_new();
    guint64 position;
    gboolean whole;
    gsize at = 0;
    SaWire wire;

    sa_wire_init(&wire, header_size);
    do {
        gsize n = size - at;

        if (seed == 1) {
            n = MIN(n, 1);
        } else if (seed > 1) {
            seed = seed * 1664525u + 1013904223u;
            n = MIN(n, (seed >> 24) % 41);
        }
        whole = feed(&wire, data + at, n, log);
        at += n;
    } while (whole && at < size);

    position = sa_wire_position(&wire);
    require(whole ? position == size : position <= size);
    note(log, &position, sizeof position);
    note(log, &whole, sizeof whole);
    sa_wire_finish(&wire);
    return log;
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const guint fixed[] = {1, 0x1000};
    g_autoptr(GByteArray) whole = NULL;
    guint header_size;
    guint32 seed;

    if (size < 3)
        return 0;
    header_size = data[0] & 1 ? SA_WIRE_HEADER_FULL : SA_WIRE_HEADER_MINI;
    seed = 2u + data[1] + (guint32)data[2] * 256;
    whole = events(header_size, data + 3, size - 3, 0);
    for (guint i = 0; i <= G_N_ELEMENTS(fixed); i++) {
        g_autoptr(GByteArray) cut =
            events(header_size, data + 3, size - 3, i < G_N_ELEMENTS(fixed) ? fixed[i] : seed);

        require(cut->len == whole->len && memcmp(cut->data, whole->data, cut->len) == 0);
    }
    return 0;
}
