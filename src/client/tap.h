/* SPDX-FileCopyrightText: The spice-accel authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */
/* One SPICE connection of this process, watched as its bytes pass.
 *
 * A tap is told what the viewer read and wrote, after the fact and in any split; it never changes
 * a byte. It follows the link phase, then frames both directions and hands each message to its
 * sink: the channel (display, cursor) or the watcher (main, inputs). What it does not understand
 * makes it stop watching that connection, for good; the bytes go on untouched in any case.
 *
 * The tap knows nothing of streams and TLS; intercept.c finds the tap of a stream.
 */
#pragma once

#include <gio/gio.h>

#include "client/session.h"
#include "core/link.h"
#include "core/wire.h"

typedef struct SaTap SaTap;

/* Who listens. All may be NULL but closed. Times in us. */
typedef struct SaTapSink {
    /* A message from the server was read whole. waited_us: how long the viewer had found nothing
     * to read before the message's first byte. */
    void (*server_message)(gpointer sink, const SaWireMessage *msg, guint32 bytes,
                           gint64 waited_us, gint64 now);
    /* A message of the viewer went to the kernel whole. */
    void (*client_message)(gpointer sink, const SaWireMessage *msg, guint32 bytes, gint64 now);
    /* No more messages come: the connection is gone, or is no longer watched. Frees the sink. */
    void (*closed)(gpointer sink, gint64 now);
} SaTapSink;

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

/* Bytes that wait in the kernel for the viewer to read; -1: unknown. With TLS: ciphertext. */
gssize sa_tap_unread_bytes(const SaTap *tap);

/* Connections that were given up because what passed was not understood, in this process. */
guint64 sa_tap_n_given_up(void);
