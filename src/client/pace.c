/* SPDX-FileCopyrightText: The spice-accel authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#include "client/pace.h"

#include <spice/enums.h>

static const guint8 ack_message[SA_WIRE_HEADER_MINI] = {SPICE_MSGC_ACK, 0, 0, 0, 0, 0};

struct SaPace {
    SaTap *tap;
    SaPacer pacer;
    SaPaceBacklog unread_us;
    gpointer data;
    guint ready;   /* let go by the pacer, not yet handed to the tap */
    guint sending; /* handed to the tap, not yet in the kernel */
    GSource *timer;
};

SaPace *
sa_pace_new(SaTap *tap, SaAckwin *window, gint64 latency_us, SaPaceBacklog unread_us, gpointer data)
{
    SaPace *pace = g_new0(SaPace, 1);

    pace->tap = tap;
    pace->unread_us = unread_us;
    pace->data = data;
    sa_pacer_init(&pace->pacer, window, latency_us);
    return pace;
}

static void
timer_stop(SaPace *pace)
{
    if (pace->timer != NULL) {
        g_source_destroy(pace->timer);
        g_clear_pointer(&pace->timer, g_source_unref);
    }
}

static void
send_ready(SaPace *pace, gint64 now)
{
    while (pace->ready > 0) {
        /* counted before: the tap may report it written before it returns */
        pace->ready--;
        pace->sending++;
        if (!sa_tap_send(pace->tap, ack_message, sizeof(ack_message), now)) {
            pace->ready++;
            pace->sending--;
            sa_tap_need_turn(pace->tap);
            return;
        }
    }
}

void
sa_pace_free(SaPace *pace, gint64 now)
{
    timer_stop(pace);
    pace->ready += sa_pacer_flush(&pace->pacer, now);
    send_ready(pace, now);
    g_free(pace);
}

const SaPacer *
sa_pace_pacer(const SaPace *pace)
{
    return &pace->pacer;
}

/* What the pacer cannot know by itself, as it is now. */
static void
tell_pacer(SaPace *pace)
{
    sa_pacer_round_trip(&pace->pacer, pace->tap->session->round_trip.min_us);
    sa_pacer_local_backlog(&pace->pacer, pace->unread_us(pace->data), -1);
}

void
sa_pace_message(SaPace *pace, guint32 bytes, gint64 waited_us, gint64 now)
{
    sa_pacer_message(&pace->pacer, bytes, waited_us, now);
}

gboolean
sa_pace_ack_emitted(SaPace *pace, gint64 now)
{
    tell_pacer(pace);
    return sa_pacer_ack_emitted(&pace->pacer, now);
}

void
sa_pace_ack_written(SaPace *pace, gint64 now)
{
    if (pace->sending > 0) {
        pace->sending--;
        sa_pacer_acks_written(&pace->pacer, 1, now);
    }
}

void
sa_pace_let_go(SaPace *pace, gint64 now)
{
    pace->ready += sa_pacer_flush(&pace->pacer, now);
    send_ready(pace, now);
    timer_stop(pace);
}

static gboolean
due(gpointer data)
{
    SaPace *pace = data;

    g_source_set_ready_time(pace->timer, -1); /* the turn sets the next */
    sa_tap_need_turn(pace->tap);
    sa_tap_turn(pace->tap, g_get_monotonic_time());
    return G_SOURCE_CONTINUE;
}

static gboolean
timer_dispatch(GSource *source, GSourceFunc callback, gpointer data)
{
    return callback(data);
}

static void
timer_set(SaPace *pace, gint64 when)
{
    static GSourceFuncs funcs = {.dispatch = timer_dispatch};

    if (pace->timer == NULL) {
        pace->timer = g_source_new(&funcs, sizeof(GSource));
        g_source_set_static_name(pace->timer, "spice-accel pacer");
        g_source_set_callback(pace->timer, due, pace, NULL);
        /* before the sockets: a viewer that is busy reading must not make an ACK late */
        g_source_set_priority(pace->timer, G_PRIORITY_HIGH);
        g_source_attach(pace->timer, NULL);
    }
    g_source_set_ready_time(pace->timer, when);
}

void
sa_pace_turn(SaPace *pace, gint64 now)
{
    gint64 next;

    if (pace->pacer.held > 0) {
        tell_pacer(pace);
        pace->ready += sa_pacer_release(&pace->pacer, now);
    }
    send_ready(pace, now);
    next = sa_pacer_next(&pace->pacer, now);
    if (next < 0) {
        timer_stop(pace);
    } else {
        timer_set(pace, next);
    }
}
