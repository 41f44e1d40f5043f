/* SPDX-FileCopyrightText: The spice-accel authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */
/* A SPICE display connection under a fake clock, to compare a stock client with a paced one.
 *
 * Server: spice-server's unsigned count of unacknowledged messages (sends while it is <= 2W), a
 *   pipe in which a newer draw of the same place replaces the older one, a socket that takes
 *   messages until the path's buffer is full, a little time to encode each.
 * Source: every frame all columns of an area, on the server's tick; the sizes are a function of
 *   seed, frame and column, so both clients meet the same pictures.
 * Path: a FIFO of bytes with a rate and a buffer (a relay's, or what Linux gives one socket), then
 *   half the round trip; pauses of loss repair hold back what has arrived and let it go at once.
 * Client: reads one message after the other, emits the ACK when the W-th is read, then is busy
 *   decoding it; timers fire between messages only.
 * Keys: pressed at random times, drawn at the next tick at the pipe's tail; what counts is the
 *   time until a draw that shows the press has been decoded.
 */
#pragma once

#include <glib.h>

#include "core/pacer.h"

typedef struct SimCell {
    const char *name;
    double rtt_ms, mbit;
    guint window;
    guint columns, column_bytes;     /* per frame; 0 columns: nothing moves */
    guint small_group;               /* every other so many columns are small, 200 bytes; 0: none */
    double frame_ms;                 /* 0: 33.3 */
    double path_bytes;               /* what the path takes before the server's socket blocks */
    double decode_us;                /* the client's time a message */
    double encode_us;                /* the server's time a message; 0: 300 */
    double jitter_ms;                /* messages arrive up to so much later, in order */
    double rtt_error_ms;             /* the pacer is told so much less than the true round trip */
    double repair_every_ms;          /* mean time between pauses of loss repair; 0: none */
    double repair_ms;                /* their length */
    double change_at_s, change_mbit; /* the link has another rate from then on; 0: none */
    double outage_at_s, outage_s;    /* the link carries nothing for a while */
    double stop_at_s;                /* the area stands still from then on; 0: never */
    double seconds;                  /* simulated; the first tenth is not measured */
    guint64 seed;
} SimCell;

typedef struct SimResult {
    double p50, p95;  /* key-to-draw, ms */
    double mbit;      /* read by the client */
    guint keys;       /* measured */
    guint lost;       /* pressed and not seen within a minute, or the end of the run */
    gboolean wrapped; /* the server's count went below zero */
    SaPacer pacer;    /* its figures at the end; win is not valid */
    gint64 hold_us;
} SimResult;

/* A pacer is there when paced, else every ACK is written when it is emitted. */
void sim_run(const SimCell *cell, gboolean paced, SimResult *result);
