/* SPDX-FileCopyrightText: The spice-accel authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */
/* The ACKs of the last round trip are remembered by time (recent, a ring, oldest at the head); all
 * older ones have taken effect. More than SA_ACKWIN_RECENT within one round trip: the oldest then
 * count as effective early, so that the limit is seen less, never more, than it was met.
 *
 * The limit is entered by a message and left by itself, at the moment the next ACK takes effect.
 * Nothing happens at that moment, so the time is settled at the next event or question instead:
 * settle() first adds what was spent at the limit until then, and no more.
 */
#include "core/ackwin.h"

#include <string.h>

void
sa_ackwin_init(SaAckwin *win)
{
    memset(win, 0, sizeof *win);
}

static gboolean
counting(const SaAckwin *win)
{
    return win->known && win->window > 0;
}

/* 2W + 1 + W * acks, at most G_MAXUINT64. */
static guint64
allowed(const SaAckwin *win, guint64 acks)
{
    guint64 granted, sum;

    if (!g_uint64_checked_mul(&granted, win->window, acks) ||
        !g_uint64_checked_add(&sum, granted, 2 * (guint64)win->window + 1))
        return G_MAXUINT64;
    return sum;
}

/* ACKs that have been on their way for one round trip or longer. */
static guint64
effective(const SaAckwin *win, gint64 now)
{
    guint pending = 0;

    while (pending < win->recent_len) {
        guint newest = win->recent_head + win->recent_len - 1 - pending;

        if (now - win->recent[newest % SA_ACKWIN_RECENT] >= win->rtt_us)
            break;
        pending++;
    }
    return win->acks - pending;
}

/* When the server's leave to send more than was received takes effect: G_MAXINT64 while no such
 * ACK was written, G_MININT64 when it is older than what is remembered. */
static gint64
limit_end(const SaAckwin *win)
{
    guint64 have = win->acks - win->recent_len; /* effective for sure */

    if (allowed(win, have) > win->received)
        return G_MININT64;
    for (guint i = 0; i < win->recent_len; i++) {
        if (allowed(win, have + i + 1) > win->received)
            return win->recent[(win->recent_head + i) % SA_ACKWIN_RECENT] + win->rtt_us;
    }
    return G_MAXINT64;
}

static void
settle(SaAckwin *win, gint64 now)
{
    gint64 end;

    if (!win->at_limit)
        return;
    end = limit_end(win);
    if (MIN(end, now) > win->limit_since) {
        win->at_limit_us += MIN(end, now) - win->limit_since;
        win->limit_since = MIN(end, now);
    }
    win->at_limit = end > now;
}

static void
note_peak(SaAckwin *win)
{
    win->peak_in_flight = MAX(win->peak_in_flight, sa_ackwin_in_flight(win));
}

void
sa_ackwin_set_rtt(SaAckwin *win, gint64 rtt_us)
{
    win->rtt_us = MAX(rtt_us, 0);
    if (win->rtt_us == 0)
        win->at_limit = FALSE;
}

void
sa_ackwin_message(SaAckwin *win, guint32 bytes, gint64 now)
{
    gboolean was_at_limit;

    win->total_messages++;
    win->total_bytes += bytes;
    if (!win->known)
        return;
    settle(win, now);
    was_at_limit = win->at_limit;
    win->received++;
    win->at_limit = sa_ackwin_credit_left(win, now) == 0;
    if (win->at_limit && !was_at_limit) {
        win->stalls++;
        win->limit_since = now;
    }
}

void
sa_ackwin_set_ack(SaAckwin *win, guint32 generation, guint32 window, guint32 bytes, gint64 now)
{
    settle(win, now);
    win->at_limit = FALSE;
    win->total_messages++;
    win->total_bytes += bytes;
    win->total_set_acks++;
    win->known = TRUE;
    win->synced = FALSE;
    win->generation = generation;
    win->window = window;
    win->received = 1;
    win->acks = 0;
    win->recent_head = win->recent_len = 0;
    note_peak(win);
}

void
sa_ackwin_ack_sync(SaAckwin *win, guint32 generation, gint64 now)
{
    settle(win, now);
    win->synced = win->known && generation == win->generation;
}

void
sa_ackwin_ack(SaAckwin *win, gint64 now)
{
    win->total_acks++;
    if (!win->synced) {
        win->ignored_acks++;
        return;
    }
    settle(win, now);
    win->acks++;
    if (win->recent_len == SA_ACKWIN_RECENT) {
        win->recent_head = (win->recent_head + 1) % SA_ACKWIN_RECENT;
        win->recent_len--;
    }
    win->recent[(win->recent_head + win->recent_len) % SA_ACKWIN_RECENT] = now;
    win->recent_len++;
    note_peak(win);
}

guint64
sa_ackwin_credit(const SaAckwin *win)
{
    return counting(win) ? allowed(win, win->acks) : 0;
}

guint64
sa_ackwin_in_flight(const SaAckwin *win)
{
    guint64 credit = sa_ackwin_credit(win);

    return credit > win->received ? credit - win->received : 0;
}

guint64
sa_ackwin_limit(const SaAckwin *win)
{
    return counting(win) ? allowed(win, 0) : 0;
}

guint64
sa_ackwin_credit_left(SaAckwin *win, gint64 now)
{
    guint64 sum;

    if (!counting(win) || win->rtt_us == 0)
        return G_MAXUINT64;
    sum = allowed(win, effective(win, now));
    return sum > win->received ? sum - win->received : 0;
}

gint64
sa_ackwin_at_limit_us(SaAckwin *win, gint64 now)
{
    settle(win, now);
    return win->at_limit_us;
}
