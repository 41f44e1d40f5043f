/* SPDX-FileCopyrightText: The spice-accel authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#include "client/tap.h"

#include <spice/enums.h>
#include <string.h>
#include <sys/ioctl.h>

#include "client/channel.h"
#include "client/warn.h"
#include "client/watcher.h"

static guint64 given_up;

SaTap *
sa_tap_new(gboolean tls)
{
    SaTap *tap = g_new0(SaTap, 1);

    tap->tls = tls;
    tap->refs = 1;
    tap->watching = TRUE;
    tap->owner = g_thread_self();
    sa_link_init(&tap->link);
    sa_link_set_tls(&tap->link, tls);
    return tap;
}

SaTap *
sa_tap_ref(SaTap *tap)
{
    tap->refs++;
    return tap;
}

/* The client wire goes on as long as own bytes may have to wait for the viewer's next boundary. */
static void
tap_stop(SaTap *tap, gint64 now)
{
    gpointer sink = g_steal_pointer(&tap->sink);

    tap->watching = FALSE;
    if (sink != NULL) {
        tap->sink_class->closed(sink, now);
    }
}

static void
own_clear(SaTap *tap)
{
    tap->own_len = tap->own_started = 0;
}

void
sa_tap_close(SaTap *tap, gint64 now)
{
    if (!tap->closed) {
        tap->closed = TRUE;
        tap->transport = NULL;
        own_clear(tap);
        g_clear_handle_id(&tap->own_watch, g_source_remove);
        tap_stop(tap, now);
        sa_tap_set_socket(tap, NULL);
    }
}

void
sa_tap_unref(SaTap *tap)
{
    if (tap == NULL || --tap->refs > 0) {
        return;
    }
    sa_tap_close(tap, g_get_monotonic_time());
    sa_link_finish(&tap->link);
    if (tap->framed) {
        sa_wire_finish(&tap->server_wire);
        sa_wire_finish(&tap->client_wire);
    }
    sa_session_unref(tap->session);
    g_free(tap);
}

void
sa_tap_set_socket(SaTap *tap, GSocket *socket)
{
    g_set_weak_pointer(&tap->socket, socket);
}

gssize
sa_tap_unread_bytes(const SaTap *tap)
{
    int unread = 0;

    if (tap->socket == NULL || ioctl(g_socket_get_fd(tap->socket), FIONREAD, &unread) < 0) {
        return -1;
    }
    return unread;
}

guint64
sa_tap_n_given_up(void)
{
    return given_up;
}

/* What passed was not understood: this connection is not watched any more. */
static void
tap_give_up(SaTap *tap, const char *direction, const char *why, gint64 now)
{
    given_up++;
    sa_warn("connection of channel type %u id %u is no longer watched: %s: %s",
            tap->link.message.channel_type, tap->link.message.channel_id, direction, why);
    tap_stop(tap, now);
}

static void
tap_start_sink(SaTap *tap, gint64 now)
{
    switch (tap->link.message.channel_type) {
    case SPICE_CHANNEL_DISPLAY:
    case SPICE_CHANNEL_CURSOR:
        tap->sink_class = &sa_channel_sink;
        tap->sink = sa_channel_new(tap, now);
        break;
    case SPICE_CHANNEL_MAIN:
    case SPICE_CHANNEL_INPUTS:
        tap->sink_class = &sa_watcher_sink;
        tap->sink = sa_watcher_new(tap);
        break;
    default:
        /* sound, USB and the like: nothing to learn from their messages */
        tap_stop(tap, now);
        return;
    }
    tap->framed = TRUE;
    sa_wire_init(&tap->server_wire, sa_link_header_size(&tap->link));
    sa_wire_init(&tap->client_wire, sa_link_header_size(&tap->link));
}

/* After bytes of the link phase: what it has come to. */
static void
tap_link_step(SaTap *tap, gint64 now)
{
    SaLink *link = &tap->link;

    if (tap->session == NULL && link->have_message) {
        guint32 id = link->message.connection_id;

        tap->session = id == 0 ? sa_session_new() : sa_session_find(id);
    }
    switch (link->state) {
    case SA_LINK_RUNNING:
        return;
    case SA_LINK_FRAMED:
        break;
    case SA_LINK_OPAQUE:
        sa_warn_once("the server authenticates with SASL without TLS, which enciphers the "
                     "connections: they are not watched");
        tap_stop(tap, now);
        return;
    case SA_LINK_FAILED:
        if (link->error != NULL) {
            tap_give_up(tap, "link", link->error, now);
        } else {
            tap_stop(tap, now); /* refused: the viewer says so itself */
        }
        return;
    }
    if (link->ticket_time != 0) {
        sa_round_trip_sample(&tap->session->round_trip, link->result_time - link->ticket_time);
    }
    tap_start_sink(tap, now);
}

static void
tap_framed_bytes(SaTap *tap, gboolean from_server, const guint8 *data, gsize len, gint64 waited_us,
                 gint64 now)
{
    SaWire *wire = from_server ? &tap->server_wire : &tap->client_wire;

    while (tap->watching) {
        SaWireMessage msg;
        gsize used = 0;
        SaWireEvent event;

        if (from_server && len > 0 && sa_wire_at_boundary(wire)) {
            tap->msg_waited = waited_us;
        }
        event = sa_wire_feed(wire, data, len, &used, &msg);
        data += used;
        len -= used;
        waited_us = 0; /* what follows in this read was there already */
        if (event == SA_WIRE_MORE) {
            return;
        }
        if (event == SA_WIRE_BROKEN) {
            tap_give_up(tap, from_server ? "from the server" : "from the viewer",
                        sa_wire_error(wire), now);
            return;
        }
        if (event == SA_WIRE_MESSAGE) {
            guint32 bytes = msg.size + sa_link_header_size(&tap->link);

            tap->turn_due = TRUE;
            if (from_server) {
                tap->sink_class->server_message(tap->sink, &msg, bytes, tap->msg_waited, now);
            } else {
                tap->sink_class->client_message(tap->sink, &msg, bytes, now);
            }
        }
    }
}

/* Nobody listens any more, but own bytes wait for the end of a message of the viewer's. */
static void
tap_follow_boundary(SaTap *tap, const guint8 *data, gsize len)
{
    SaWireMessage msg;
    SaWireEvent event;
    gsize used;

    do {
        event = sa_wire_feed(&tap->client_wire, data, len, &used, &msg);
        data += used;
        len -= used;
    } while (event == SA_WIRE_HEADER || event == SA_WIRE_MESSAGE);
}

void
sa_tap_server_bytes(SaTap *tap, const guint8 *data, gsize len, gint64 now)
{
    gint64 waited_us = tap->dry_since != 0 ? now - tap->dry_since : 0;

    if (!tap->watching || tap->owner != g_thread_self()) {
        return;
    }
    tap->dry_since = 0;
    if (!tap->framed) {
        gsize used = sa_link_server_bytes(&tap->link, data, len, now);

        tap_link_step(tap, now);
        data += used;
        len -= used;
    }
    if (tap->framed && len > 0) {
        tap_framed_bytes(tap, TRUE, data, len, waited_us, now);
    }
}

void
sa_tap_client_bytes(SaTap *tap, const guint8 *data, gsize len, gint64 now)
{
    if (tap->owner != g_thread_self()) {
        return;
    }
    tap->viewer_blocked = FALSE;
    if (!tap->watching) {
        if (tap->own_len > 0) {
            tap_follow_boundary(tap, data, len);
        }
    } else if (!tap->framed) {
        sa_link_client_bytes(&tap->link, data, len, now);
        tap_link_step(tap, now);
    } else {
        tap_framed_bytes(tap, FALSE, data, len, 0, now);
    }
}

/* ------------------------------------------------------------------------- own messages --- */

void
sa_tap_set_transport(SaTap *tap, SaTapWrite write, gpointer transport)
{
    tap->write = write;
    tap->transport = transport;
}

/* The full header numbers messages: one that is sent later than made would break the order. And
 * what is kept is sent from the main loop, so that has to be this thread's. */
static gboolean
can_keep(const SaTap *tap)
{
    return tap->transport != NULL && sa_link_header_size(&tap->link) == SA_WIRE_HEADER_MINI &&
           g_main_context_is_owner(g_main_context_default());
}

void
sa_tap_need_turn(SaTap *tap)
{
    tap->turn_due = TRUE;
}

static gboolean
at_viewer_boundary(const SaTap *tap)
{
    return !tap->viewer_blocked && sa_wire_at_boundary(&tap->client_wire);
}

static gboolean
retry(gpointer data)
{
    SaTap *tap = data;

    tap->own_watch = 0;
    sa_tap_turn(tap, g_get_monotonic_time());
    return G_SOURCE_REMOVE;
}

static gboolean
socket_ready(GSocket *socket, GIOCondition condition, gpointer data)
{
    return retry(data);
}

static void
watch_socket(SaTap *tap, GIOCondition wait)
{
    g_autoptr(GSource) source = NULL;

    if (tap->own_watch != 0 || tap->socket == NULL) {
        return;
    }
    source = g_socket_create_source(tap->socket, wait, NULL);
    g_source_set_callback(source, G_SOURCE_FUNC(socket_ready), tap, NULL);
    tap->own_watch = g_source_attach(source, NULL);
}

void
sa_tap_retry_soon(SaTap *tap)
{
    if (tap->own_started > 0 && tap->owner == g_thread_self()) {
        g_clear_handle_id(&tap->own_watch, g_source_remove);
        tap->own_watch = g_idle_add_full(G_PRIORITY_HIGH, retry, tap, NULL);
    }
}

/* One write of all that waits, repeated with the identical bytes until they are out, as TLS
 * demands. FALSE: it has to be repeated, or failed. */
static gboolean
own_write(SaTap *tap, gint64 now)
{
    guint8 done[SA_TAP_OWN_MAX];
    GIOCondition wait = G_IO_OUT;
    gssize n;

    if (tap->own_started == 0) {
        tap->own_started = tap->own_len;
    }
    n = tap->write(tap->transport, tap->own, tap->own_started, &wait);
    if (n == 0) {
        watch_socket(tap, wait);
        return FALSE;
    }
    if (n < 0) {
        own_clear(tap); /* the viewer's next call meets the error itself */
        return FALSE;
    }
    memcpy(done, tap->own, n);
    tap->own_len -= n;
    tap->own_started -= n;
    memmove(tap->own, tap->own + n, tap->own_len);
    if (tap->watching) {
        tap_framed_bytes(tap, FALSE, done, n, 0, now);
    } else {
        tap_follow_boundary(tap, done, n);
    }
    return TRUE;
}

static void
tap_flush_own(SaTap *tap, gint64 now)
{
    /* the viewer's next write, or its end, brings us back to what cannot start now */
    while (tap->own_len > 0 && (tap->own_started > 0 || at_viewer_boundary(tap)) &&
           own_write(tap, now)) {
    }
}

gboolean
sa_tap_send(SaTap *tap, const guint8 *data, gsize len, gint64 now)
{
    if (tap->closed || tap->transport == NULL || tap->own_len + len > SA_TAP_OWN_MAX) {
        return FALSE;
    }
    memcpy(tap->own + tap->own_len, data, len);
    tap->own_len += len;
    tap_flush_own(tap, now);
    return TRUE;
}

SaTapDecision
sa_tap_before_write(SaTap *tap, const guint8 *data, gsize len, gint64 now)
{
    guint16 type;

    if (tap->owner != g_thread_self() || !tap->framed) {
        return SA_TAP_PASS;
    }
    tap_flush_own(tap, now);
    if (tap->own_started > 0) {
        return SA_TAP_BLOCK;
    }
    if (!tap->watching || len < SA_WIRE_HEADER_MINI || !at_viewer_boundary(tap)) {
        return SA_TAP_PASS;
    }
    type = sa_le16(data);
    /* an old ACK behind a new ACK_SYNC would count for the new generation, and wrap the server's
     * counter; what migrates must have been acknowledged */
    if (type == SPICE_MSGC_ACK_SYNC || type == SPICE_MSGC_MIGRATE_FLUSH_MARK ||
        type == SPICE_MSGC_MIGRATE_DATA) {
        if (tap->sink_class->let_go != NULL) {
            tap->sink_class->let_go(tap->sink, now);
        }
        return tap->own_len > 0 ? SA_TAP_BLOCK : SA_TAP_PASS;
    }
    if (len == SA_WIRE_HEADER_MINI && sa_le32(data + 2) == 0 && tap->sink_class->keep != NULL &&
        can_keep(tap) && tap->sink_class->keep(tap->sink, type, now)) {
        tap->turn_due = TRUE;
        return SA_TAP_KEPT;
    }
    return tap->own_len > 0 ? SA_TAP_BLOCK : SA_TAP_PASS;
}

void
sa_tap_blocked(SaTap *tap)
{
    tap->viewer_blocked = TRUE;
}

void
sa_tap_turn(SaTap *tap, gint64 now)
{
    if (tap->owner != g_thread_self()) {
        return;
    }
    tap_flush_own(tap, now);
    if (tap->turn_due && tap->sink != NULL && tap->sink_class->turn != NULL) {
        tap->turn_due = FALSE;
        tap->sink_class->turn(tap->sink, now);
    }
}

void
sa_tap_dry(SaTap *tap, gint64 now)
{
    if (tap->dry_since == 0) {
        tap->dry_since = now;
    }
}
