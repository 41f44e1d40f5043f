/* SPDX-FileCopyrightText: The spice-accel authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */
/* Everything is reckoned in messages, the unit of the window: what is on the way over the message
 * rate is the time it takes, and sizes cancel out. Nothing is computed while no ACK waits for a
 * decision; then one walk over the last arrivals gives the rate and the idle share.
 */
#include "core/pacer.h"

#include <string.h>

#define MS G_TIME_SPAN_MILLISECOND

/* Margin of rule (a) before any stall. spice-server's worker may sleep 10 ms before it looks at
 * its ring again, and the viewer's main loop is a few ms late with the timer. */
#define MARGIN_MIN_US (15 * MS)
/* A margin above this releases at once on any link worth pacing; more would only take longer to
 * come back. */
#define MARGIN_MAX_US (1000 * MS)
/* Every such time without a stall a quarter of the extra margin goes: trouble that has passed is
 * forgotten in minutes, a wrong round trip is not tried out again every few seconds. */
#define MARGIN_AGE_US (60 * G_TIME_SPAN_SECOND)

/* Work waiting in the viewer that is worth a hold: three frames of a 60 Hz display. */
#define LOCAL_BUDGET_US (50 * MS)

/* Rule (c). */
#define SILENCE_US (250 * MS)

/* An idle wait for the first byte is none of the path's doing when it is shorter than this ... */
#define WAIT_MIN_US (5 * MS)
/* ... or than so many bytes take, three full packets (they come in pairs and triples) ... */
#define WAIT_BYTES (3 * 1500)
/* ... but below the 30 ms tick of a display that is simply idle. */
#define WAIT_MAX_US (25 * MS)
/* More idle time than this share of a window contradicts a busy path. Loss repair on a full link
 * takes 5-10 %; a source that offers less than four fifths of the rate has no backlog. */
#define IDLE_SHARE 0.2
/* Shorter than two ticks, a window of messages may be one picture's burst and nothing behind it. */
#define BUSY_MIN_US (66 * MS)
/* Least messages to know a rate from, for windows smaller than that. */
#define RATE_MIN 8u

/* A stall costs something when the wait takes more than this share of the time a window's worth of
 * messages takes (there is one such wait a window at most) ... */
#define STALL_SHARE 0.01
/* ... and is ours when it is well longer than the other waits of that time ... */
#define STALL_GAPS 1.5
/* ... and the message came no later than this after the time it was thought to come. The round trip
 * may be longer than thought (that is what stalls are there to find out), but a server that answers
 * later had nothing to send. */
#define STALL_LATE_US (300 * MS)
/* Two stalls within the first time stop holding for the second. */
#define STALL_PAIR_US (30 * G_TIME_SPAN_SECOND)
#define PAUSE_US      (30 * G_TIME_SPAN_SECOND)

/* What the last window of arrivals says. */
typedef struct Flow {
    double rate;    /* messages a us */
    double need;    /* messages that may come within one round trip plus margin */
    double path;    /* us: what the path would hold with one more ACK */
    gboolean busy;  /* the path was never idle for long */
    gint64 wait;    /* us: shorter waits for a first byte are the link's packets */
    gint64 longest; /* us: longest other wait; 0: none */
} Flow;

void
sa_pacer_init(SaPacer *p, SaAckwin *win, gint64 latency_us)
{
    memset(p, 0, sizeof *p);
    p->win = win;
    p->enabled = TRUE;
    p->latency_us = MAX(latency_us, 0);
    p->margin_us = MARGIN_MIN_US;
}

void
sa_pacer_set_enabled(SaPacer *p, gboolean enabled)
{
    p->enabled = enabled;
}

void
sa_pacer_round_trip(SaPacer *p, gint64 rtt_us)
{
    p->rtt_us = MAX(rtt_us, 0);
}

void
sa_pacer_local_backlog(SaPacer *p, gint64 unread_us, gint64 decoder_us)
{
    p->unread_us = MAX(unread_us, 0);
    p->decoder_us = MAX(decoder_us, 0);
}

/* Index into the ring of the age-th newest arrival, 0 the newest. */
static guint
at(const SaPacer *p, guint age)
{
    return (p->head + SA_PACER_ARRIVALS - 1 - age) % SA_PACER_ARRIVALS;
}

/* Messages granted and not here, as if all that was let go were written. */
static guint64
granted_left(const SaPacer *p)
{
    guint64 credit = sa_ackwin_credit(p->win) + (guint64)p->win->window * p->pending;

    return credit > p->win->received ? credit - p->win->received : 0;
}

/* FALSE while there is nothing to judge by. */
static gboolean
flow_read(const SaPacer *p, Flow *flow)
{
    guint window = p->win->window;
    guint n = CLAMP(window, RATE_MIN, SA_PACER_ARRIVALS);
    gint64 span, idle = 0, longest = 0;
    double bytes = 0;

    if (!p->win->known || !p->win->synced || window == 0 || p->rtt_us <= 0 || p->len < n)
        return FALSE;
    span = p->time[at(p, 0)] - p->time[at(p, n - 1)];
    for (guint age = 0; age < n - 1; age++)
        bytes += p->bytes[at(p, age)];
    flow->wait = bytes > 0 ? (gint64)MIN(WAIT_BYTES / bytes * span, WAIT_MAX_US) : WAIT_MAX_US;
    flow->wait = MAX(flow->wait, WAIT_MIN_US);
    for (guint age = 0; age < n - 1; age++) {
        gint64 waited = p->waited[at(p, age)];

        if (waited > flow->wait) {
            idle += waited;
            longest = MAX(longest, waited);
        }
    }
    if (idle >= span)
        return FALSE;
    flow->longest = longest;
    flow->busy = span - longest >= BUSY_MIN_US && idle - longest <= IDLE_SHARE * (span - longest);
    flow->rate = (n - 1) / (double)(span - idle);
    flow->path = (granted_left(p) + window) / flow->rate - p->rtt_us;
    flow->need = flow->rate * (p->rtt_us + p->margin_us) + 0.5;
    return TRUE;
}

/* When rule (a) comes true if nothing arrives: the rate goes on in thought. While the decoder alone
 * has enough to do the time is a guess, G_MAXINT64 for may_go: only the next report can tell. */
static gint64
just_in_time(const SaPacer *p, const Flow *flow, gint64 guess)
{
    double need = flow->need - p->decoder_us * flow->rate;
    double us = (granted_left(p) - need) / flow->rate;

    if (need < 0)
        return guess;
    return p->time[at(p, 0)] + (gint64)CLAMP(us, 0, 2 * SA_PACER_HOLD_MAX_US);
}

/* When rule (c) comes true if nothing arrives. */
static gint64
silence(const SaPacer *p, const Flow *flow)
{
    gint64 since = p->time[at(p, 0)];

    return since + SILENCE_US + p->rtt_us + (gint64)MIN(1 / flow->rate, SA_PACER_HOLD_MAX_US);
}

/* FALSE: the oldest ACK (held, or just emitted) is to be held. */
static gboolean
may_go(const SaPacer *p, gint64 now, SaPacerRule *rule)
{
    Flow flow;

    if (!p->enabled || now < p->off_until) {
        *rule = SA_PACER_OFF;
    } else if (p->held > 0 && p->win->total_set_acks != p->held_set_acks) {
        *rule = SA_PACER_FLUSH;
    } else if (!flow_read(p, &flow)) {
        *rule = SA_PACER_UNKNOWN;
    } else if (!(flow.busy && flow.path > p->latency_us) &&
               p->unread_us + p->decoder_us <= LOCAL_BUDGET_US) {
        *rule = SA_PACER_SMALL_BACKLOG;
    } else if (now >= just_in_time(p, &flow, G_MAXINT64)) {
        *rule = SA_PACER_JUST_IN_TIME;
    } else if (now >= silence(p, &flow)) {
        *rule = SA_PACER_SILENCE;
    } else if (p->held > 0 &&
               (now - p->held_since[0] >= SA_PACER_HOLD_MAX_US || p->held >= SA_PACER_HELD_MAX)) {
        *rule = SA_PACER_LIMIT;
    } else {
        return FALSE;
    }
    return TRUE;
}

/* Shorter waits cost nothing worth a wider margin, us. */
static gint64
stall_least(const SaPacer *p, const Flow *flow)
{
    return MAX(flow->wait, (gint64)(STALL_SHARE * p->win->window / flow->rate));
}

/* The first message that a held ACK made possible has come: if the viewer had to wait for it, what
 * follows is watched. */
static void
suspect_stall(SaPacer *p, gint64 waited_us, gint64 now)
{
    gint64 decoded = p->decoder_before_us - p->decoder_us;
    Flow flow;

    if (now - p->written > p->rtt_us + p->margin_us + STALL_LATE_US || !flow_read(p, &flow))
        return;
    /* The wait is not longer than the hold for our part: a window smaller than the round trip makes
     * any client wait. */
    if (MIN(waited_us, p->mark_hold_us) <= stall_least(p, &flow) ||
        waited_us <= STALL_GAPS * flow.longest)
        return;
    /* A decoder that worked off its queue in the meantime was what the wait was for. */
    if (decoded >= waited_us / 2)
        return;
    p->suspect_rate = flow.rate;
    p->suspect_since = p->time[at(p, 0)];
    p->suspect_waited = waited_us;
    p->suspect_hold_us = p->mark_hold_us;
    /* as many messages as the wait has cost; at most a window, then the next ACK's wait may come */
    p->suspect_n = 2 + (guint)MIN(flow.rate * waited_us, p->win->window);
    p->suspect_seen = 0;
}

/* So many messages after a suspicious wait: are they late by it? Loss repair holds messages back
 * and lets them go at once, and then nothing was lost. */
static void
judge_stall(SaPacer *p, gint64 now)
{
    gint64 late = now - p->suspect_since - (gint64)(p->suspect_n / p->suspect_rate);
    gint64 lost = MIN(late, p->suspect_waited);
    gboolean pair;

    p->suspect_n = 0;
    if (lost <= p->suspect_waited / 2)
        return;
    pair = p->last_stall != 0 && now - p->last_stall <= STALL_PAIR_US;
    p->stalls++;
    p->last_stall = pair ? 0 : now;
    p->margin_us += MAX(MIN(lost, p->suspect_hold_us), MARGIN_MIN_US);
    p->margin_us = MIN(p->margin_us, MARGIN_MAX_US);
    p->margin_time = now;
    if (pair) {
        p->pauses++;
        p->off_until = now + PAUSE_US;
    }
}

void
sa_pacer_message(SaPacer *p, guint32 bytes, gint64 waited_us, gint64 now)
{
    if (p->win->total_set_acks != p->mark_set_acks) {
        p->mark = 0;
        p->suspect_n = 0;
    }
    if (p->mark != 0 && p->win->received > p->mark) {
        if (p->suspect_n == 0)
            suspect_stall(p, waited_us, now);
        p->mark = 0;
    }
    if (p->suspect_n > 0 && ++p->suspect_seen == p->suspect_n)
        judge_stall(p, now);
    p->time[p->head] = now;
    p->waited[p->head] = (guint32)CLAMP(waited_us, 0, (gint64)G_MAXUINT32);
    p->bytes[p->head] = bytes;
    p->head = (p->head + 1) % SA_PACER_ARRIVALS;
    p->len = MIN(p->len + 1, SA_PACER_ARRIVALS);
    p->decoder_before_us = p->decoder_us;
    if (p->margin_us > MARGIN_MIN_US && now - p->margin_time >= MARGIN_AGE_US) {
        p->margin_us -= (p->margin_us - MARGIN_MIN_US + 3) / 4;
        p->margin_time = now;
    }
}

gboolean
sa_pacer_ack_emitted(SaPacer *p, gint64 now)
{
    SaPacerRule rule;

    /* What is older goes first, whatever the rules say of this one. */
    if (p->held == 0 && p->pending == 0 && may_go(p, now, &rule)) {
        p->passed[rule]++;
        return FALSE;
    }
    if (p->held == 0)
        p->held_set_acks = p->win->total_set_acks;
    /* the server overran its window so far that the oldest go at the next release */
    p->held_since[MIN(p->held, SA_PACER_HELD_MAX - 1)] = now;
    p->held++;
    p->holds++;
    return TRUE;
}

/* The oldest held ACK goes. */
static void
let_go(SaPacer *p, SaPacerRule rule, gint64 now)
{
    gint64 us = now - p->held_since[0];

    memmove(p->held_since, p->held_since + 1, sizeof p->held_since - sizeof p->held_since[0]);
    p->hold_us += us;
    p->last_hold_us = us;
    p->longest_us = MAX(p->longest_us, us);
    p->released[rule]++;
    p->held--;
    p->pending++;
}

guint
sa_pacer_release(SaPacer *p, gint64 now)
{
    SaPacerRule rule;
    guint n = 0;

    for (; p->held > 0 && may_go(p, now, &rule); n++)
        let_go(p, rule, now);
    return n;
}

guint
sa_pacer_flush(SaPacer *p, gint64 now)
{
    guint n = 0;

    for (; p->held > 0; n++)
        let_go(p, SA_PACER_FLUSH, now);
    return n;
}

void
sa_pacer_acks_written(SaPacer *p, guint n, gint64 now)
{
    guint64 lump = (guint64)p->win->window * n;
    guint64 credit = sa_ackwin_credit(p->win);

    p->pending -= MIN(n, p->pending);
    /* One at a time is followed; the next one is written when this one has been judged. */
    if (n > 0 && p->mark == 0 && p->win->synced && credit > lump) {
        p->mark = credit - lump;
        p->mark_set_acks = p->win->total_set_acks;
        p->mark_hold_us = p->last_hold_us;
        p->written = now;
    }
}

gint64
sa_pacer_next(const SaPacer *p, gint64 now)
{
    SaPacerRule rule;
    Flow flow;
    gint64 next;

    if (p->held == 0)
        return -1;
    if (may_go(p, now, &rule) || !flow_read(p, &flow))
        return now;
    next = MIN(just_in_time(p, &flow, now + MAX(p->decoder_us, MS)), silence(p, &flow));
    return MIN(next, p->held_since[0] + SA_PACER_HOLD_MAX_US);
}

gint64
sa_pacer_hold_us(const SaPacer *p, gint64 now)
{
    gint64 us = p->hold_us;

    for (guint i = 0; i < MIN(p->held, SA_PACER_HELD_MAX); i++)
        us += now - p->held_since[i];
    return us;
}

gint64
sa_pacer_backlog_us(const SaPacer *p)
{
    Flow flow;

    if (!flow_read(p, &flow) || !flow.busy)
        return -1;
    return (gint64)CLAMP(flow.path, 0, (double)G_MAXINT64 / 2);
}

const char *
sa_pacer_rule_name(SaPacerRule rule)
{
    static const char *const names[SA_PACER_N_RULES] = {
        "just-in-time", "small-backlog", "silence", "limit", "flush", "unknown", "off",
    };

    return (guint)rule < SA_PACER_N_RULES ? names[rule] : "?";
}
