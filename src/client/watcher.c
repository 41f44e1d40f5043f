/* SPDX-FileCopyrightText: The spice-accel authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#include "client/watcher.h"

#include <spice/enums.h>
#include <spice/protocol.h>

/* Motion bunches on their way at once; a viewer waits for the ACK of the bunch before the last
 * (spice-gtk sends at most 2 bunches ahead), so more are not needed. */
#define BUNCHES 4u

typedef struct {
    SaTap *tap; /* owns this */
    guint8 type;
    gint64 attach_time;    /* main: ATTACH_CHANNELS written, 0: answered */
    gboolean uncounted;    /* inputs: the server has motions of before on its count */
    guint motions;         /* inputs: motion messages of the bunch at hand */
    gint64 bunch[BUNCHES]; /* inputs: when bunches were completed, oldest first */
    guint bunch_len;
} Watcher;

gpointer
sa_watcher_new(SaTap *tap)
{
    Watcher *watcher = g_new0(Watcher, 1);

    watcher->tap = tap;
    watcher->type = tap->link.message.channel_type;
    return watcher;
}

static void
answered(Watcher *watcher, gint64 *asked, gint64 now)
{
    if (*asked != 0) {
        sa_round_trip_sample(&watcher->tap->session->round_trip, now - *asked);
        *asked = 0;
    }
}

static void
motion_acked(Watcher *watcher, gint64 now)
{
    gint64 asked;

    if (watcher->bunch_len == 0) {
        return; /* an ACK nobody asked for */
    }
    asked = watcher->bunch[0];
    watcher->bunch_len--;
    for (guint i = 0; i < watcher->bunch_len; i++) {
        watcher->bunch[i] = watcher->bunch[i + 1];
    }
    answered(watcher, &asked, now);
}

static void
motion_written(Watcher *watcher, gint64 now)
{
    if (watcher->uncounted || ++watcher->motions < SPICE_INPUT_MOTION_ACK_BUNCH) {
        return;
    }
    watcher->motions = 0;
    if (watcher->bunch_len < BUNCHES) {
        watcher->bunch[watcher->bunch_len++] = now;
    }
}

static void
server_message(gpointer sink, const SaWireMessage *msg, guint32 bytes, gint64 waited_us, gint64 now)
{
    Watcher *watcher = sink;

    if (watcher->type == SPICE_CHANNEL_INPUTS) {
        if (msg->type == SPICE_MSG_INPUTS_MOUSE_MOTION_ACK) {
            motion_acked(watcher, now);
        }
        return;
    }
    switch (msg->type) {
    case SPICE_MSG_MAIN_CHANNELS_LIST:
        answered(watcher, &watcher->attach_time, now);
        break;
    case SPICE_MSG_MAIN_INIT:
        if (msg->head_len >= 4) {
            sa_session_identify(watcher->tap->session, sa_le32(msg->head));
        }
        break;
    default:
        break;
    }
}

static void
client_message(gpointer sink, const SaWireMessage *msg, guint32 bytes, gint64 now)
{
    Watcher *watcher = sink;

    if (watcher->type == SPICE_CHANNEL_INPUTS) {
        switch (msg->type) {
        case SPICE_MSGC_INPUTS_KEY_DOWN:
            watcher->tap->session->key_time = now;
            watcher->tap->session->keys++;
            break;
        case SPICE_MSGC_MIGRATE_DATA:
            /* it carries the count of the server before; from here on bunches are not told apart */
            watcher->uncounted = TRUE;
            watcher->bunch_len = 0;
            break;
        case SPICE_MSGC_INPUTS_MOUSE_MOTION:
        case SPICE_MSGC_INPUTS_MOUSE_POSITION:
            motion_written(watcher, now);
            break;
        default:
            break;
        }
        return;
    }
    if (msg->type == SPICE_MSGC_MAIN_ATTACH_CHANNELS) {
        watcher->attach_time = now;
    }
}

static void
closed(gpointer sink, gint64 now)
{
    g_free(sink);
}

const SaTapSink sa_watcher_sink = {
    .server_message = server_message,
    .client_message = client_message,
    .closed = closed,
};
