/* SPDX-FileCopyrightText: The spice-accel authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */
/* Framing of one direction of a SPICE connection, after its link phase.
 *
 * A Wire is fed bytes in any split and says where messages begin and end. It keeps the first
 * SA_WIRE_HEAD_MAX bytes of each body and, for messages that carry a sub-message list, the whole
 * body up to SA_WIRE_LIST_MAX. It never copies more, never looks back and never allocates for a
 * size read off the wire before that size was checked.
 *
 * Protocol: spice-protocol, SpiceMiniDataHeader {type u16, size u32} and SpiceDataHeader
 * {serial u64, type u16, size u32, sub_list u32}, little endian, packed. Which one is used follows
 * from SPICE_COMMON_CAP_MINI_HEADER on both sides of the link (see link.h).
 */
#pragma once

#include <glib.h>

#define SA_WIRE_HEADER_MINI 6u
#define SA_WIRE_HEADER_FULL 18u
/* Bytes of a message's body that are kept for the caller. */
#define SA_WIRE_HEAD_MAX 64u
/* Largest body accepted: 64 Mi pixels of 4 bytes and room for the draw around them. */
#define SA_WIRE_BODY_MAX (64u * 1024 * 1024 * 4 + 65536u)
/* Largest body that is kept whole to read a sub-message list from. A larger one is framed and
 * reported as any other, without its list. */
#define SA_WIRE_LIST_MAX 65536u
/* Most entries of one sub-message list that are reported. */
#define SA_WIRE_SUB_MAX 1024u

/* One message, or one entry of a sub-message list. */
typedef struct SaWireMessage {
    guint16 type;       /* SPICE_MSG_..., SPICE_MSGC_... */
    guint32 size;       /* bytes of the body as announced, header not counted */
    guint64 serial;     /* full header; 0 with the mini header */
    const guint8 *head; /* first head_len bytes of the body; valid until the next feed */
    gsize head_len;     /* MIN(size, SA_WIRE_HEAD_MAX) once complete */
    guint64 start;      /* offset in this direction's stream of the message's header */
} SaWireMessage;

typedef enum SaWireEvent {
    SA_WIRE_MORE,    /* everything was consumed; the message at hand is not complete */
    SA_WIRE_HEADER,  /* a header is complete; msg has type, size, serial; head_len is 0 */
    SA_WIRE_MESSAGE, /* a message is complete; the byte after it is not consumed */
    SA_WIRE_BROKEN,  /* nonsense; why is in sa_wire_error(); the Wire takes no more bytes */
} SaWireEvent;

typedef struct SaWire {
    /*< private >*/
    guint header_size;
    guint header_len;
    guint8 header[SA_WIRE_HEADER_FULL];
    guint8 head[SA_WIRE_HEAD_MAX];
    GByteArray *list; /* body being kept for its sub-message list, or NULL */
    guint32 sub_list;
    guint32 left; /* bytes of the body still to come */
    gboolean in_body;
    guint64 position;
    SaWireMessage msg;
    const char *error;
    guint32 body_max;
} SaWire;

/* Caller's memory. header_size: SA_WIRE_HEADER_MINI or SA_WIRE_HEADER_FULL. */
void sa_wire_init(SaWire *wire, guint header_size);
void sa_wire_finish(SaWire *wire);

/* Consumes bytes of [data, data+len) up to the next event and returns how many in *used.
 * Call again with the rest until SA_WIRE_MORE or SA_WIRE_BROKEN. *msg is filled for
 * SA_WIRE_HEADER and SA_WIRE_MESSAGE and stays valid until the next call. A message with an empty
 * body gives both events in turn; the second call may consume 0 bytes. After SA_WIRE_BROKEN every
 * call consumes nothing and says SA_WIRE_BROKEN again. data may be NULL when len is 0. */
SaWireEvent
sa_wire_feed(SaWire *wire, const guint8 *data, gsize len, gsize *used, SaWireMessage *msg);

/* TRUE when the byte that comes next starts a header. */
gboolean sa_wire_at_boundary(const SaWire *wire);

/* Bytes consumed since init. */
guint64 sa_wire_position(const SaWire *wire);

/* Static string: what was wrong, or NULL. */
const char *sa_wire_error(const SaWire *wire);

/* After SA_WIRE_MESSAGE of a message that carries a sub-message list, until the next feed: the
 * index-th entry. FALSE when there is none, the list was too large to keep, or the entry does not
 * fit the body; a later entry may still fit, up to SA_WIRE_SUB_MAX.
 * The list stands at the full header's sub_list when that is not 0, and in a SPICE_MSG_LIST (8)
 * without one, with either header, at the start of the body (read in spice-gtk 0.42
 * spice-channel.c and spice-server 0.15 dcc-send.cpp): SpiceSubMessageList {size u16,
 * offsets u32[size]}, each entry {type u16, size u32, body}, offsets from the body's start.
 * sub->start is where the entry's own {type, size} stands in the stream, sub->serial its
 * message's. Sub-messages do not count for the ACK window. */
gboolean sa_wire_sub_message(const SaWire *wire, guint index, SaWireMessage *sub);

/* Little-endian bytes from the wire. No alignment needed. */
guint16 sa_le16(const guint8 *p);
guint32 sa_le32(const guint8 *p);
guint64 sa_le64(const guint8 *p);
void sa_put_le16(guint8 *p, guint16 v);
void sa_put_le32(guint8 *p, guint32 v);
