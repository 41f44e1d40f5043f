/* SPDX-FileCopyrightText: The spice-accel authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */
/* A viewer for the pacer's tests: reads messages at chosen times, emits an ACK every W, asks the
 * pacer when it says so.
 */
#pragma once

#include "core/pacer.h"

#define MS  G_TIME_SPAN_MILLISECOND
#define SEC G_TIME_SPAN_SECOND
#define BIG 42000u /* bytes: a column of noise */

/* A viewer: reads messages, emits an ACK every W, asks at the times it is told to. */
typedef struct Viewer {
    SaAckwin win;
    SaPacer p;
    gint64 now;
    guint to_ack;
    gboolean deaf;     /* does not write what is let go: the socket would block */
    gint64 emitted;    /* us, last ACK the viewer wanted to write */
    gint64 written;    /* us, last ACK that went out, held before or not */
    guint64 n_written; /* ACKs that went out */
} Viewer;

static inline void
viewer_set_ack(Viewer *v, guint32 window)
{
    sa_ackwin_set_ack(&v->win, v->win.generation + 1, window, 14, v->now);
    sa_pacer_message(&v->p, 14, 0, v->now);
    v->to_ack = window;
}

static inline void
viewer_init(Viewer *v, guint32 window, gint64 rtt)
{
    *v = (Viewer){.now = 1000 * SEC};
    sa_ackwin_init(&v->win);
    sa_ackwin_set_rtt(&v->win, rtt);
    sa_pacer_init(&v->p, &v->win, SA_PACER_LATENCY_US);
    sa_pacer_round_trip(&v->p, rtt);
    viewer_set_ack(v, window);
    sa_ackwin_ack_sync(&v->win, v->win.generation, v->now);
}

static inline void
viewer_write(Viewer *v, guint n)
{
    for (guint i = 0; i < n; i++)
        sa_ackwin_ack(&v->win, v->now);
    v->n_written += n;
    v->written = v->now;
}

static inline guint
viewer_release(Viewer *v)
{
    guint n = sa_pacer_release(&v->p, v->now);

    if (n > 0 && !v->deaf) {
        viewer_write(v, n);
        sa_pacer_acks_written(&v->p, n, v->now);
    }
    return n;
}

/* Time passes, nothing arrives. */
static inline void
viewer_wait(Viewer *v, gint64 us)
{
    gint64 until = v->now + us;

    for (;;) {
        gint64 next = sa_pacer_next(&v->p, v->now);

        if (next < 0 || next > until)
            break;
        g_assert_cmpint(next, >=, v->now);
        v->now = next;
        /* a timer that fires for nothing names a later time, else it would spin */
        if (viewer_release(v) == 0) {
            g_assert_cmpint(v->p.held, >, 0);
            g_assert_cmpint(sa_pacer_next(&v->p, v->now), >, v->now);
        }
    }
    v->now = until;
}

static inline void
viewer_ack(Viewer *v)
{
    v->emitted = v->now;
    if (!sa_pacer_ack_emitted(&v->p, v->now))
        viewer_write(v, 1);
}

/* One message, so long after the one before; the viewer had waited for its first byte. */
static inline void
viewer_message(Viewer *v, guint32 bytes, gint64 after, gint64 waited)
{
    viewer_wait(v, after);
    sa_ackwin_message(&v->win, bytes, v->now);
    sa_pacer_message(&v->p, bytes, waited, v->now);
    if (--v->to_ack == 0) {
        v->to_ack = v->win.window;
        viewer_ack(v);
    }
    viewer_release(v);
}

static inline void
viewer_messages(Viewer *v, guint n, guint32 bytes, gint64 after, gint64 waited)
{
    for (guint i = 0; i < n; i++)
        viewer_message(v, bytes, after, waited);
}

/* Up to and with the message on which the viewer emits an ACK. */
static inline void
viewer_until_ack(Viewer *v, gint64 after)
{
    do
        viewer_message(v, BIG, after, 0);
    while (v->emitted != v->now);
}

static inline guint64
total(const guint64 *by_rule)
{
    guint64 sum = 0;

    for (guint i = 0; i < SA_PACER_N_RULES; i++)
        sum += by_rule[i];
    return sum;
}

/* A path full of large messages: 80 ms / 10 Mbit behind a relay. */
static inline void
viewer_heavy(Viewer *v)
{
    viewer_init(v, 40, 80 * MS);
    viewer_messages(v, 39, BIG, 36 * MS, 0);
    g_assert_cmpuint(v->p.held, ==, 0);
    viewer_message(v, BIG, 36 * MS, 0); /* the first ACK */
    g_assert_cmpuint(v->p.held, ==, 1);
}
