/* SPDX-FileCopyrightText: The spice-accel authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */
/* One message at a time: header, then body. The wire is either in a header (header_len bytes of it
 * are there) or in a body (left bytes of it are missing). A sub-message list lies anywhere in the
 * body, mostly at its end, so its body is kept whole, as it comes: an announced size alone costs
 * no memory.
 */
#include "core/wire.h"

#include <string.h>

/* SPICE_MSG_LIST: a message that is nothing but its list. The only way to have one with the mini
 * header, where the list starts the body. */
#define MSG_LIST 8u

#define LIST_COUNT_SIZE  2u
#define LIST_OFFSET_SIZE 4u
#define SUB_HEADER_SIZE  6u

guint16
sa_le16(const guint8 *p)
{
    return (guint16)(p[0] | (guint)p[1] << 8);
}

guint32
sa_le32(const guint8 *p)
{
    return (guint32)p[0] | (guint32)p[1] << 8 | (guint32)p[2] << 16 | (guint32)p[3] << 24;
}

guint64
sa_le64(const guint8 *p)
{
    return (guint64)sa_le32(p) | (guint64)sa_le32(p + 4) << 32;
}

void
sa_put_le16(guint8 *p, guint16 v)
{
    p[0] = (guint8)v;
    p[1] = (guint8)(v >> 8);
}

void
sa_put_le32(guint8 *p, guint32 v)
{
    sa_put_le16(p, (guint16)v);
    sa_put_le16(p + 2, (guint16)(v >> 16));
}

void
sa_wire_init(SaWire *wire, guint header_size)
{
    memset(wire, 0, sizeof *wire);
    wire->header_size =
        header_size == SA_WIRE_HEADER_MINI ? SA_WIRE_HEADER_MINI : SA_WIRE_HEADER_FULL;
    wire->body_max = SA_WIRE_BODY_MAX;
}

static void
drop_list(SaWire *wire)
{
    g_clear_pointer(&wire->list, g_byte_array_unref);
}

void
sa_wire_finish(SaWire *wire)
{
    drop_list(wire);
}

static void
parse_header(SaWire *wire)
{
    const guint8 *h = wire->header;

    memset(&wire->msg, 0, sizeof wire->msg);
    wire->sub_list = 0;
    if (wire->header_size == SA_WIRE_HEADER_MINI) {
        wire->msg.type = sa_le16(h);
        wire->msg.size = sa_le32(h + 2);
    } else {
        wire->msg.serial = sa_le64(h);
        wire->msg.type = sa_le16(h + 8);
        wire->msg.size = sa_le32(h + 10);
        wire->sub_list = sa_le32(h + 14);
    }
    wire->msg.head = wire->head;
    wire->msg.start = wire->position - wire->header_size;
}

static SaWireEvent
feed_header(SaWire *wire, const guint8 *data, gsize len, gsize *used, SaWireMessage *msg)
{
    gsize n = MIN(len, wire->header_size - wire->header_len);

    if (n > 0)
        memcpy(wire->header + wire->header_len, data, n);
    wire->header_len += n;
    wire->position += n;
    *used = n;
    if (wire->header_len < wire->header_size)
        return SA_WIRE_MORE;

    wire->header_len = 0;
    parse_header(wire);
    if (wire->msg.size > wire->body_max) {
        wire->error = "message body larger than any SPICE message";
        return SA_WIRE_BROKEN;
    }
    wire->in_body = TRUE;
    wire->left = wire->msg.size;
    if ((wire->msg.type == MSG_LIST || wire->sub_list != 0) && wire->msg.size <= SA_WIRE_LIST_MAX)
        wire->list = g_byte_array_new();
    *msg = wire->msg;
    return SA_WIRE_HEADER;
}

static SaWireEvent
feed_body(SaWire *wire, const guint8 *data, gsize len, gsize *used, SaWireMessage *msg)
{
    gsize n = MIN(len, wire->left);
    gsize keep = MIN(n, SA_WIRE_HEAD_MAX - wire->msg.head_len);

    if (keep > 0)
        memcpy(wire->head + wire->msg.head_len, data, keep);
    wire->msg.head_len += keep;
    if (wire->list && n > 0)
        g_byte_array_append(wire->list, data, (guint)n);
    wire->left -= (guint32)n;
    wire->position += n;
    *used = n;
    if (wire->left > 0)
        return SA_WIRE_MORE;

    wire->in_body = FALSE;
    *msg = wire->msg;
    return SA_WIRE_MESSAGE;
}

SaWireEvent
sa_wire_feed(SaWire *wire, const guint8 *data, gsize len, gsize *used, SaWireMessage *msg)
{
    *used = 0;
    if (wire->error)
        return SA_WIRE_BROKEN;
    if (wire->in_body)
        return feed_body(wire, data, len, used, msg);
    drop_list(wire);
    return feed_header(wire, data, len, used, msg);
}

gboolean
sa_wire_at_boundary(const SaWire *wire)
{
    if (wire->error)
        return FALSE;
    /* A body without bytes is over before its message is reported. */
    return wire->in_body ? wire->left == 0 : wire->header_len == 0;
}

guint64
sa_wire_position(const SaWire *wire)
{
    return wire->position;
}

const char *
sa_wire_error(const SaWire *wire)
{
    return wire->error;
}

gboolean
sa_wire_sub_message(const SaWire *wire, guint index, SaWireMessage *sub)
{
    const guint8 *body;
    guint64 size, entry, offset;
    guint count;

    /* Offsets are 32 bits off the wire: summed in 64 bits, they cannot wrap. */
    if (!wire->list || wire->in_body)
        return FALSE;
    body = wire->list->data;
    size = wire->list->len;
    if ((guint64)wire->sub_list + LIST_COUNT_SIZE > size)
        return FALSE;
    count = MIN(sa_le16(body + wire->sub_list), SA_WIRE_SUB_MAX);
    if (index >= count)
        return FALSE;
    entry = (guint64)wire->sub_list + LIST_COUNT_SIZE + (guint64)index * LIST_OFFSET_SIZE;
    if (entry + LIST_OFFSET_SIZE > size)
        return FALSE;
    offset = sa_le32(body + entry);
    if (offset + SUB_HEADER_SIZE > size)
        return FALSE;

    memset(sub, 0, sizeof *sub);
    sub->type = sa_le16(body + offset);
    sub->size = sa_le32(body + offset + 2);
    if (offset + SUB_HEADER_SIZE + sub->size > size)
        return FALSE;
    sub->serial = wire->msg.serial;
    sub->head = body + offset + SUB_HEADER_SIZE;
    sub->head_len = MIN(sub->size, SA_WIRE_HEAD_MAX);
    sub->start = wire->msg.start + wire->header_size + offset;
    return TRUE;
}
