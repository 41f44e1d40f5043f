/* SPDX-FileCopyrightText: The spice-accel authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */
/* One SPICE connection of this process, watched as its bytes pass.
 *
 * A tap is told what the viewer read and wrote, after the fact and in any split; it never changes
 * a byte. Before the viewer writes it may keep an ACK for later (pace.h): that is the one thing it
 * does to the stream, and never in the middle of a message of the viewer's. It follows the link
 * phase, then frames both directions and hands each message to its sink: the channel (display,
 * cursor) or the watcher (main, inputs). What it does not understand makes it stop watching that
 * connection, for good; the bytes go on untouched in any case.
 *
 * The tap knows nothing of streams and TLS; intercept.c finds the tap of a stream.
 */
#pragma once

#include <gio/gio.h>

#include "client/session.h"
#include "core/link.h"
#include "core/wire.h"

typedef struct SaTap SaTap;

/* Who listens. Times in us. */
typedef struct SaTapSink {
    /* A message from the server was read whole. waited_us: how long the viewer had found nothing
     * to read before the message's first byte. */
    void (*server_message)(gpointer sink, const SaWireMessage *msg, guint32 bytes, gint64 waited_us,
                           gint64 now);
    /* A message of the viewer went to the kernel whole. */
    void (*client_message)(gpointer sink, const SaWireMessage *msg, guint32 bytes, gint64 now);
    /* The viewer wants to write this message; TRUE: it is kept, and the viewer told that it went.
     * May be NULL: nothing is kept. */
    gboolean (*keep)(gpointer sink, guint16 type, gint64 now);
    /* All that was kept must be on its way before the viewer's next message. May be NULL. */
    void (*let_go)(gpointer sink, gint64 now);
    /* After bytes were read or written: a chance to send what was kept. May be NULL. */
    void (*turn)(gpointer sink, gint64 now);
    /* No more messages come: the connection is gone, or is no longer watched. Frees the sink; what
     * it kept is sent first (sa_tap_send) if the connection is still there. */
    void (*closed)(gpointer sink, gint64 now);
} SaTapSink;

/* Writes to the connection as the viewer would: bytes taken, -1: failed, 0: would block, then *wait
 * says what the socket is to become (G_IO_OUT, and under TLS also G_IO_IN). */
typedef gssize (*SaTapWrite)(gpointer transport, const guint8 *data, gsize len, GIOCondition *wait);

/* Own bytes on their way at once: a few ACKs. */
#define SA_TAP_OWN_MAX 64u

struct SaTap {
    /*< public, read only >*/
    gboolean tls;
    SaLink link;
    SaSession *session; /* NULL before the link message is known */
    gpointer sink;      /* of the type's own kind; NULL: none */
    /*< private >*/
    const SaTapSink *sink_class;
    guint refs;
    gboolean watching; /* link phase or framed, understood so far */
    gboolean framed;
    gboolean closed;
    GSocket *socket; /* weak pointer */
    GThread *owner;
    SaWire server_wire, client_wire;
    SaTapWrite write;
    gpointer transport;      /* of write; NULL: gone */
    gboolean viewer_blocked; /* the viewer's last write has to be repeated */
    guint8 own[SA_TAP_OWN_MAX];
    guint own_len;     /* own bytes that wait */
    guint own_started; /* so many of them are in a write that was begun: it is repeated with just
                        * these, and nothing else is written before its end; 0: none is */
    gboolean turn_due; /* something happened since the sink's last turn */
    guint own_watch;   /* main-loop source that tries own bytes again; 0: none */
    gint64 dry_since;  /* us: the viewer found nothing to read; 0: it did not */
    gint64 msg_waited; /* us: of the message at hand */
};

SaTap *sa_tap_new(gboolean tls);
SaTap *sa_tap_ref(SaTap *tap);
void sa_tap_unref(SaTap *tap);

/* The connection is gone; the tap may live on in somebody's hands. */
void sa_tap_close(SaTap *tap, gint64 now);

/* The socket below the connection, for questions to the kernel. Not owned. */
void sa_tap_set_socket(SaTap *tap, GSocket *socket);

/* The viewer read / wrote these bytes, in stream order. */
void sa_tap_server_bytes(SaTap *tap, const guint8 *data, gsize len, gint64 now);
void sa_tap_client_bytes(SaTap *tap, const guint8 *data, gsize len, gint64 now);
/* The viewer found nothing to read. */
void sa_tap_dry(SaTap *tap, gint64 now);

/* ------------------------------------------------------------------------ writing, too --- */

/* How own bytes reach the connection, until it closes. */
void sa_tap_set_transport(SaTap *tap, SaTapWrite write, gpointer transport);

typedef enum SaTapDecision {
    SA_TAP_PASS,  /* write it */
    SA_TAP_KEPT,  /* say that it was written, whole */
    SA_TAP_BLOCK, /* say that it would block: own bytes have to go first */
} SaTapDecision;

/* Before each write of the viewer. After SA_TAP_PASS: sa_tap_client_bytes, or sa_tap_blocked when
 * nothing was taken. */
SaTapDecision sa_tap_before_write(SaTap *tap, const guint8 *data, gsize len, gint64 now);
void sa_tap_blocked(SaTap *tap);
/* After a call of the viewer, when it is safe to write: kept messages that may go are sent. */
void sa_tap_turn(SaTap *tap, gint64 now);

/* Sends one whole own message at the viewer's present message boundary. FALSE: there is no room, or
 * no connection; nothing was taken. TRUE: it is out, or will be before the viewer's next message.
 */
gboolean sa_tap_send(SaTap *tap, const guint8 *data, gsize len, gint64 now);
/* After a read that gave nothing but may have moved TLS on: own bytes that wait for just that are
 * tried again from the main loop. */
void sa_tap_retry_soon(SaTap *tap);
/* The sink wants its turn at the next chance whatever happens. */
void sa_tap_need_turn(SaTap *tap);

/* Bytes that wait in the kernel for the viewer to read; -1: unknown. With TLS: ciphertext. */
gssize sa_tap_unread_bytes(const SaTap *tap);

/* Connections that were given up because what passed was not understood, in this process. */
guint64 sa_tap_n_given_up(void);
