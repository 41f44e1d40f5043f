/* SPDX-FileCopyrightText: The spice-accel authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#include "client/tap.h"

#include <spice/enums.h>
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

static void
tap_stop(SaTap *tap, gint64 now)
{
    gpointer sink = g_steal_pointer(&tap->sink);

    tap->watching = FALSE;
    if (sink != NULL) {
        tap->sink_class->closed(sink, now);
    }
}

void
sa_tap_close(SaTap *tap, gint64 now)
{
    if (!tap->closed) {
        tap->closed = TRUE;
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
tap_framed_bytes(SaTap *tap, gboolean from_server, const guint8 *data, gsize len, gint64 now)
{
    SaWire *wire = from_server ? &tap->server_wire : &tap->client_wire;

    while (tap->watching) {
        SaWireMessage msg;
        gsize used = 0;
        SaWireEvent event;

        if (from_server && len > 0 && sa_wire_at_boundary(wire)) {
            tap->msg_waited = tap->dry_since != 0 ? now - tap->dry_since : 0;
            tap->dry_since = 0;
        }
        event = sa_wire_feed(wire, data, len, &used, &msg);
        data += used;
        len -= used;
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

            if (from_server) {
                tap->sink_class->server_message(tap->sink, &msg, bytes, tap->msg_waited, now);
            } else {
                tap->sink_class->client_message(tap->sink, &msg, bytes, now);
            }
        }
    }
}

void
sa_tap_server_bytes(SaTap *tap, const guint8 *data, gsize len, gint64 now)
{
    if (!tap->watching || tap->owner != g_thread_self()) {
        return;
    }
    if (!tap->framed) {
        gsize used = sa_link_server_bytes(&tap->link, data, len, now);

        tap_link_step(tap, now);
        data += used;
        len -= used;
    }
    if (tap->framed && len > 0) {
        tap_framed_bytes(tap, TRUE, data, len, now);
    }
}

void
sa_tap_client_bytes(SaTap *tap, const guint8 *data, gsize len, gint64 now)
{
    if (!tap->watching || tap->owner != g_thread_self()) {
        return;
    }
    if (!tap->framed) {
        sa_link_client_bytes(&tap->link, data, len, now);
        tap_link_step(tap, now);
    } else {
        tap_framed_bytes(tap, FALSE, data, len, now);
    }
}

void
sa_tap_dry(SaTap *tap, gint64 now)
{
    if (tap->dry_since == 0) {
        tap->dry_since = now;
    }
}
