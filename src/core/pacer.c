/* SPDX-FileCopyrightText: The spice-accel authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */
/* Time is reckoned in messages, the unit of the window: what is on the way over the message rate is
 * the time it takes. Where small and large messages mix that is true on average only; the margin
 * learns what is lost by it. Nothing is computed while no ACK waits for a decision; then one walk
 * over the last two windows of arrivals gives the rate and the idle share.
 */
#include "core/pacer.h"

#include <string.h>

#define MS G_TIME_SPAN_MILLISECOND

/* Margin of rule (a) while nothing is lost. spice-server's worker may sleep 10 ms before it looks
 * at its ring again. */
#define MARGIN_MIN_US (10 * MS)
/* A margin above this releases at once on any link worth pacing; more would only take longer to
 * come back. */
#define MARGIN_MAX_US (1000 * MS)
/* The margin takes half of each loss and gives back this share of a window's time with each window:
 * it comes to rest where a hundredth of the time is lost, in the time of a few windows. */
#define MARGIN_GAIN  0.5
#define MARGIN_DECAY 0.005

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

/* What a message costs beside its bytes: header, system calls, a turn of the viewer's main loop. */
#define MESSAGE_COST 300
/* A wait is ours when it is well longer than the other waits of that time ... */
#define STALL_GAPS 1.5
/* ... and the message came no later than this after the time it was thought to come. The round trip
 * may be longer than thought (that is what stalls are there to find out), but a server that answers
 * later had nothing to send. */
#define STALL_LATE_US (300 * MS)
/* More loss than this share of the time adds up, and so much of it is a stall. */
#define STALL_SHARE 0.05
#define STALL_US    (250 * MS)
/* Two stalls within the first time stop holding for the second. */
#define STALL_PAIR_US (30 * G_TIME_SPAN_SECOND)
#define PAUSE_US      (30 * G_TIME_SPAN_SECOND)

/* What the last two windows of arrivals say. */
typedef struct Flow {
    double rate;    /* messages a us, while they came */
    double speed;   /* their cost a us: bytes and MESSAGE_COST each */
    double path;    /* us: what the path would hold with one more ACK */
    gboolean busy;  /* the path was never idle for long */
    gint64 wait;    /* us: shorter waits for a first byte are the link's packets */
    gint64 longest; /* us: longest other wait of the last window; 0: none */
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

static double
cost(const SaPacer *p, guint age)
{
    return (double)p->bytes[at(p, age)] + MESSAGE_COST;
}

/* FALSE while there is nothing to judge by. */
static gboolean
flow_read(const SaPacer *p, Flow *flow)
{
    guint window = p->win->window;
    guint least = CLAMP(window, RATE_MIN, SA_PACER_ARRIVALS);
    guint n = MIN(p->len, MIN(2 * least, SA_PACER_ARRIVALS));
    gint64 span, idle = 0, longest = 0;
    double sum = 0;

    *flow = (Flow){0};
    if (!p->win->known || !p->win->synced || window == 0 || p->rtt_us <= 0 || p->len < least)
        return FALSE;
    span = p->time[at(p, 0)] - p->time[at(p, n - 1)];
    for (guint age = 0; age < n - 1; age++)
        sum += cost(p, age);
    flow->wait = (gint64)CLAMP(WAIT_BYTES / sum * span, WAIT_MIN_US, WAIT_MAX_US);
    for (guint age = 0; age < n - 1; age++) {
        gint64 waited = p->waited[at(p, age)];

        if (waited > flow->wait) {
            idle += waited;
            longest = MAX(longest, waited);
            if (age < least - 1)
                flow->longest = MAX(flow->longest, waited);
        }
    }
    if (idle >= span)
        return FALSE;
    flow->busy = span - longest >= BUSY_MIN_US && idle - longest <= IDLE_SHARE * (span - longest);
    flow->rate = (n - 1) / (double)(span - idle);
    flow->speed = sum / (double)(span - idle);
    flow->path = (granted_left(p) + window) / flow->rate - p->rtt_us;
    return TRUE;
}

/* When rule (a) comes true if nothing arrives: the rate goes on in thought. While the decoder alone
 * has enough to do the time is a guess, G_MAXINT64 for may_go: only the next report can tell. */
static gint64
just_in_time(const SaPacer *p, const Flow *flow, gint64 guess)
{
    double lead = p->rtt_us + p->margin_us - p->decoder_us;
    double us = granted_left(p) / flow->rate - lead;

    if (lead < 0)
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

/* A window's worth of messages was let go by a held ACK, and that cost the viewer so much time. */
static void
settle(SaPacer *p, const Flow *flow, gint64 lost, gint64 now)
{
    double window_us = MIN(p->win->window / flow->rate, SA_PACER_HOLD_MAX_US);
    double margin = p->margin_us + MARGIN_GAIN * lost - MARGIN_DECAY * window_us;
    gboolean pair;

    p->margin_us = (gint64)CLAMP(margin, MARGIN_MIN_US, MARGIN_MAX_US);
    p->lost_us += lost;
    p->stall_us = (gint64)MAX(p->stall_us + lost - STALL_SHARE * window_us, 0);
    if (p->stall_us < STALL_US)
        return;
    pair = p->last_stall != 0 && now - p->last_stall <= STALL_PAIR_US;
    p->stalls++;
    p->stall_us = 0;
    p->last_stall = pair ? 0 : now;
    if (pair) {
        p->pauses++;
        p->off_until = now + PAUSE_US;
    }
}

/* The first message that a held ACK made possible has come. If the viewer had to wait for it, what
 * follows is watched. */
static void
suspect(SaPacer *p, gint64 waited_us, gint64 now)
{
    gint64 decoded = p->decoder_before_us - p->decoder_us;
    Flow flow;

    if (!flow_read(p, &flow))
        return;
    /* The wait is not longer than the hold for our part: a window smaller than the round trip makes
     * any client wait. A decoder that worked off its queue meanwhile was what the wait was for. */
    if (MIN(waited_us, p->mark_hold_us) <= flow.wait || waited_us <= STALL_GAPS * flow.longest ||
        now - p->written > p->rtt_us + p->margin_us + STALL_LATE_US || decoded >= waited_us / 2) {
        settle(p, &flow, 0, now);
        return;
    }
    p->suspect_speed = flow.speed;
    p->suspect_since = p->time[at(p, 0)];
    p->suspect_waited = waited_us;
    p->suspect_hold_us = p->mark_hold_us;
    p->suspect_cost = 0;
    p->suspect_n = MIN(p->win->window, SA_PACER_ARRIVALS);
}

/* Another message after a suspicious wait. When as many have come as the wait has cost (at most a
 * window, then the next ACK's wait may come): are they late by it? Loss repair holds messages back
 * and lets them go at once, and then nothing was lost. */
static void
judge(SaPacer *p, guint32 bytes, gint64 now)
{
    gint64 lost;
    Flow flow;

    p->suspect_cost += (double)bytes + MESSAGE_COST;
    p->suspect_n--;
    if (p->suspect_cost < p->suspect_speed * p->suspect_waited && p->suspect_n > 0)
        return;
    p->suspect_n = 0;
    lost = now - p->suspect_since - (gint64)(p->suspect_cost / p->suspect_speed);
    lost =
        lost <= p->suspect_waited / 2 ? 0 : MIN(lost, MIN(p->suspect_waited, p->suspect_hold_us));
    if (flow_read(p, &flow))
        settle(p, &flow, lost, now);
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
            suspect(p, waited_us, now);
        p->mark = 0;
    }
    if (p->suspect_n > 0)
        judge(p, bytes, now);
    p->time[p->head] = now;
    p->waited[p->head] = (guint32)CLAMP(waited_us, 0, (gint64)G_MAXUINT32);
    p->bytes[p->head] = bytes;
    p->head = (p->head + 1) % SA_PACER_ARRIVALS;
    p->len = MIN(p->len + 1, SA_PACER_ARRIVALS);
    p->decoder_before_us = p->decoder_us;
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
