/* SPDX-FileCopyrightText: The spice-accel authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */
/* The server's ACK window, as the client can know it.
 *
 * spice-server (red-channel-client.cpp, 0.15) counts the messages it sends on display and cursor
 * channels: SET_ACK{generation, W} zeroes the count and is itself the first message counted; each
 * ACK takes W off it, but only once ACK_SYNC has echoed the generation; while the count is above
 * 2W nothing is sent. So since SET_ACK the server may have sent at most 2W + 1 + W * ACKs
 * messages: that is its credit. What it was granted and the client has not read is the upper bound
 * of what is in flight. A client that reads on is never seen at the limit of all ACKs it wrote,
 * since it wrote the last ones only just now; an ACK can show an effect one end-to-end round trip
 * later at the earliest. At the limit therefore means: every message is here that the ACKs older
 * than one round trip allow. A message that comes enters it; it is left when an ACK becomes one
 * round trip old that allows more, and by SET_ACK. Time at the limit is a lower bound: where more
 * than SA_ACKWIN_RECENT ACKs were written within one round trip, the oldest count as effective
 * early. Times in us, message counts since the last SET_ACK.
 *
 * Events, in the order they pass the wire; no clock, no I/O.
 */
#pragma once

#include <glib.h>

/* ACKs written within one round trip that are remembered one by one. */
#define SA_ACKWIN_RECENT 64u

typedef struct SaAckwin {
    /*< public, read only >*/
    gboolean known;  /* a SET_ACK was read */
    gboolean synced; /* ACK_SYNC of this generation was written */
    guint32 generation;
    guint32 window;   /* W, messages; 0: the server does not count */
    guint64 received; /* messages read since SET_ACK, it included */
    guint64 acks;     /* ACKs written since SET_ACK that count (after ACK_SYNC) */
    /* since init */
    guint64 total_messages, total_bytes, total_acks, total_set_acks;
    guint64 ignored_acks;   /* written before ACK_SYNC of the current generation */
    guint64 stalls;         /* times the limit was reached */
    gint64 at_limit_us;     /* time spent at the limit until the last event or question */
    guint64 peak_in_flight; /* largest sa_ackwin_in_flight() after any event */
    /*< private >*/
    gint64 rtt_us; /* 0: unknown */
    gboolean at_limit;
    gint64 limit_since; /* at_limit_us is complete until then */
    gint64 recent[SA_ACKWIN_RECENT];
    guint recent_head, recent_len;
} SaAckwin;

void sa_ackwin_init(SaAckwin *win);

/* The end-to-end round trip to judge by, or 0: unknown. Judges the time at the limit since the last
 * event, too; with 0 that is not counted. */
void sa_ackwin_set_rtt(SaAckwin *win, gint64 rtt_us);

/* A message was read whole, header counted in bytes. SET_ACK itself comes as sa_ackwin_set_ack
 * instead (it is counted there). */
void sa_ackwin_message(SaAckwin *win, guint32 bytes, gint64 now);
void
sa_ackwin_set_ack(SaAckwin *win, guint32 generation, guint32 window, guint32 bytes, gint64 now);

/* The client wrote ACK_SYNC / ACK (handed to the kernel). */
void sa_ackwin_ack_sync(SaAckwin *win, guint32 generation, gint64 now);
void sa_ackwin_ack(SaAckwin *win, gint64 now);

/* Messages the server may have sent since SET_ACK, all ACKs counted. 0 while unknown, and when
 * the server does not count (W = 0). */
guint64 sa_ackwin_credit(const SaAckwin *win);
/* Upper bound of messages sent and not yet read: credit - received, never below 0. */
guint64 sa_ackwin_in_flight(const SaAckwin *win);
/* 2W + 1, the largest in-flight count (2W once SET_ACK itself is read); 0 while unknown, and when
 * the server does not count. */
guint64 sa_ackwin_limit(const SaAckwin *win);
/* Messages the server may still send as far as the ACKs older than one round trip go;
 * 0 = at the limit. G_MAXUINT64 while window or round trip is unknown, and when the server does
 * not count. */
guint64 sa_ackwin_credit_left(SaAckwin *win, gint64 now);
/* Time at the limit until now, us, since init. */
gint64 sa_ackwin_at_limit_us(SaAckwin *win, gint64 now);
