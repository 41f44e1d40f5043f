/* SPDX-FileCopyrightText: The spice-accel authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#include "client/handle.h"

#include <spice-client.h>

#include "client/channel.h"
#include "client/intercept.h"

typedef void (*HandleMsg)(SpiceChannel *, SpiceMsgIn *);

static HandleMsg real_display, real_cursor;

typedef struct {
    SaTap *tap; /* whose sink the channel is, while the connection is open */
    guint source;
} Yield;

/* Runs when the handler has given the main loop its first turn. */
static gboolean
yielded(gpointer data)
{
    Yield *yield = data;

    yield->source = 0;
    if (yield->tap->sink != NULL) {
        sa_channel_handle_yield(yield->tap->sink, g_get_monotonic_time());
    }
    return G_SOURCE_REMOVE;
}

static SaTap *
channel_tap(SpiceChannel *channel)
{
    g_autoptr(GSocket) socket = NULL;
    SaTap *tap;

    /* asked each time: migration swaps sockets between channel objects */
    g_object_get(channel, "socket", &socket, NULL);
    tap = socket != NULL ? sa_intercept_tap(socket) : NULL;
    return tap != NULL && tap->sink != NULL ? tap : NULL;
}

static void
handle(SpiceChannel *channel, SpiceMsgIn *msg, HandleMsg real)
{
    SaTap *tap = channel_tap(channel);
    Yield yield;

    if (tap == NULL) {
        real(channel, msg);
        return;
    }
    /* the connection may end while the handler waits in the main loop */
    yield = (Yield){.tap = sa_tap_ref(tap)};
    if (sa_channel_handle_begin(tap->sink, g_get_monotonic_time())) {
        yield.source = g_idle_add_full(G_PRIORITY_HIGH, yielded, &yield, NULL);
    }
    real(channel, msg);
    if (yield.source != 0) {
        g_source_remove(yield.source);
    }
    if (tap->sink != NULL) {
        sa_channel_handle_end(tap->sink, g_get_monotonic_time());
    }
    sa_tap_unref(tap);
}

static void
handle_display(SpiceChannel *channel, SpiceMsgIn *msg)
{
    handle(channel, msg, real_display);
}

static void
handle_cursor(SpiceChannel *channel, SpiceMsgIn *msg)
{
    handle(channel, msg, real_cursor);
}

static void
wrap(GType type, HandleMsg wrapper, HandleMsg *real)
{
    /* kept for good: the class is static, and the wrapper stays in it */
    SpiceChannelClass *klass = g_type_class_ref(type);

    *real = klass->handle_msg;
    klass->handle_msg = wrapper;
}

void
sa_handle_install(void)
{
    if (real_display == NULL) {
        wrap(SPICE_TYPE_DISPLAY_CHANNEL, handle_display, &real_display);
        wrap(SPICE_TYPE_CURSOR_CHANNEL, handle_cursor, &real_cursor);
    }
}
