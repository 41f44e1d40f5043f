/* SPDX-FileCopyrightText: The spice-accel authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */
/* When an ACK that the viewer has just emitted may be written: credit, granted just in time.
 *
 * The server bounds what it has on the way in messages: after A ACKs it may have sent 2W+1+A*W.
 * A stock client acknowledges at once, so between W+1 and 2W+1 messages are granted and not yet
 * here, whatever their size; behind a relay, which takes all of them, that is seconds of stale
 * pictures in front of each new one. Credit comes in lumps of W, so the least that keeps the path
 * full is: the next ACK reaches the server when what it granted before is about to have passed.
 * Then between one round trip's worth and W plus that are on the way, about W fewer than stock's.
 *
 * The pacer therefore holds the ACK the viewer emits (by then W messages are still granted and
 * not here) until the first of these is true:
 *   (a) just in time: what is still to come lasts no longer than one end-to-end round trip plus a
 *       margin, at the rate at which messages came lately while they came (idle waits taken out:
 *       that is what a burst of draws after a pause runs at). Frames that wait in an asynchronous
 *       decoder count as still to come. While nothing arrives the rate goes on in thought.
 *   (b) nothing is worth holding for: the viewer has no work waiting over its budget, and after
 *       this ACK the path would hold less than the latency target. The path figure assumes that
 *       the server uses its credit, so it is believed only while the last two windows of
 *       messages came as one busy period: longer than two display ticks, and idle for at most a
 *       fifth of it. One wait is no contradiction, however long: TCP repairs a loss by a pause
 *       and a burst.
 *   (c) silence: nothing has come for 250 ms more than a round trip and a message take. Our hold
 *       may be why.
 *   (d) ten seconds; or sa_pacer_flush(): close, migration, ACK_SYNC.
 *
 * An ACK that finds one of them true at once passes untouched. While the round trip or the rate
 * is unknown nothing is held. A key press releases nothing: what it would let go is W stale
 * pictures in front of its own draw.
 *
 * What a hold costs shows like this: the first message that was not covered by the credit before a
 * held ACK comes soon after that ACK was written, but after an idle wait, and the messages behind
 * it are late by that wait, too (after a loss repair they would have caught up). That needs no
 * round trip, so it also finds out that the round trip is longer than thought, and it tells when
 * the messages are smaller than their mean just where the credit ends. The margin takes half of
 * each such loss and gives a little back with each window: it rests where a hundredth of the time
 * is lost. What is lost beyond a twentieth of the time adds up; 250 ms of it are a stall, and two
 * stalls within 30 s stop holding for 30 s.
 *
 * One pacer per connection; pure: no I/O, no clock. Times are us of one monotonic clock and never
 * go back. The caller (the tap) keeps the held ACKs themselves: all ACKs are the same bytes and
 * keep their order, so a count is enough here. Events are told in this order:
 *   a message was read:      sa_ackwin_message / sa_ackwin_set_ack, then sa_pacer_message
 *   the viewer emits an ACK: sa_pacer_ack_emitted; FALSE: it is written now, as usual, and
 *                            sa_ackwin_ack told; TRUE: it joins the tail of the held ones
 *   after each event, and at the time sa_pacer_next names: sa_pacer_release; so many of the
 *                            oldest held ACKs are written
 *   held ACKs were written:  sa_ackwin_ack for each, then sa_pacer_acks_written
 *   before ACK_SYNC, MIGRATE_FLUSH_MARK, MIGRATE_DATA and a close: sa_pacer_flush; all held ACKs
 *                            are written before it, and sa_pacer_acks_written told
 * When a connection is gone its pacer goes with it, and what was held is forgotten.
 */
#pragma once

#include <glib.h>

#include "core/ackwin.h"

/* Default of the latency= option: backlog on the path that is not worth a hold, us. */
#define SA_PACER_LATENCY_US (100 * G_TIME_SPAN_MILLISECOND)
/* No ACK is held longer, us. Waits in the server's worker end in a disconnect at 15-30 s. */
#define SA_PACER_HOLD_MAX_US (10 * G_TIME_SPAN_SECOND)
/* Held at once at most. A server that keeps to its window cannot make it more than two. */
#define SA_PACER_HELD_MAX 4u
/* Arrivals remembered; a larger window is judged by its last so many messages. */
#define SA_PACER_ARRIVALS 256u

/* Why an ACK may go. */
typedef enum SaPacerRule {
    SA_PACER_JUST_IN_TIME,  /* (a) */
    SA_PACER_SMALL_BACKLOG, /* (b) */
    SA_PACER_SILENCE,       /* (c) */
    SA_PACER_LIMIT,         /* (d) ten seconds, or too many held */
    SA_PACER_FLUSH,         /* (d) asked for by sa_pacer_flush, or a new SET_ACK makes it void */
    SA_PACER_UNKNOWN,       /* round trip, rate or window not known (yet) */
    SA_PACER_OFF,           /* switched off, or two stalls within 30 s */
    SA_PACER_N_RULES
} SaPacerRule;

typedef struct SaPacer {
    /*< public, read only; since init >*/
    guint held;                         /* held now, told neither to go nor flushed */
    guint64 holds;                      /* ACKs that were held */
    gint64 longest_us;                  /* longest hold that has ended */
    guint64 passed[SA_PACER_N_RULES];   /* ACKs that were not held, by the reason */
    guint64 released[SA_PACER_N_RULES]; /* held ACKs that were let go, by the reason */
    guint64 stalls;   /* times holds left the viewer without messages for 250 ms */
    gint64 lost_us;   /* all the time they did */
    guint64 pauses;   /* times that stopped holding for 30 s */
    gint64 margin_us; /* present margin of rule (a) */
    /*< private >*/
    SaAckwin *win;
    gboolean enabled;
    gint64 latency_us, rtt_us, unread_us, decoder_us;
    gint64 time[SA_PACER_ARRIVALS];    /* us, arrival of each message */
    guint32 waited[SA_PACER_ARRIVALS]; /* us, idle wait before it */
    guint32 bytes[SA_PACER_ARRIVALS];
    guint head, len;
    gint64 held_since[SA_PACER_HELD_MAX]; /* oldest first */
    guint64 held_set_acks;                /* win->total_set_acks when the oldest was held */
    guint pending;                        /* let go, not yet written */
    gint64 hold_us, last_hold_us;         /* ended holds, all and the last one */
    guint64 mark;          /* received when all credit before the last release is used; 0: none */
    guint64 mark_set_acks; /* win->total_set_acks when it was set */
    gint64 mark_hold_us;   /* how long what was released then had been held */
    gint64 written;        /* us, when that release was written */
    gint64 decoder_before_us;     /* decoder_us at the last message */
    guint lag;                    /* messages ago that were like the last ones; 0: none */
    double suspect_speed;         /* a wait that may be a stall: cost of messages a us before it, */
    double suspect_cost;          /* of those since, */
    gint64 suspect_since;         /* arrival of the last one before it, */
    gint64 suspect_waited;        /* its length, */
    gint64 suspect_hold_us;       /* the hold that may be why, */
    guint suspect_n;              /* it is judged after so many more messages at most; 0: none */
    gint64 stall_us;              /* loss beyond what is tolerated, added up */
    gint64 last_stall, off_until; /* us; 0: none */
} SaPacer;

/* Caller's memory; nothing to free. win is the connection's window, not owned, and outlives the
 * pacer. latency_us: target of rule (b), 0 or more. */
void sa_pacer_init(SaPacer *pacer, SaAckwin *win, gint64 latency_us);

/* Switches holding off or on (on after init); what is held then goes at the next release. */
void sa_pacer_set_enabled(SaPacer *pacer, gboolean enabled);

/* The end-to-end round trip as known now, the least over the session's channels; <= 0: unknown.
 * The same value goes to sa_ackwin_set_rtt. */
void sa_pacer_round_trip(SaPacer *pacer, gint64 rtt_us);

/* Work that waits in the viewer, us. unread: bytes in the socket over the service rate.
 * decoder: frames that wait inside an asynchronous decoder, times its time a frame; the constant
 * depth of a pipeline that keeps up is no backlog. Negative: unknown, counts as none. */
void sa_pacer_local_backlog(SaPacer *pacer, gint64 unread_us, gint64 decoder_us);

/* A message (SET_ACK too) was read whole. waited_us: how long the viewer had found nothing to read
 * just before its first byte. */
void sa_pacer_message(SaPacer *pacer, guint32 bytes, gint64 waited_us, gint64 now);

/* The viewer wants to write an ACK. TRUE: hold it. FALSE: it passes, and nothing is remembered of
 * it but the count in passed: the viewer may try the same ACK again after "would block". */
gboolean sa_pacer_ack_emitted(SaPacer *pacer, gint64 now);

/* How many of the oldest held ACKs are to be written now; they are no longer held then. */
guint sa_pacer_release(SaPacer *pacer, gint64 now);

/* All that is held goes, whatever the rules say: how many, beside those that a release let go
 * before and that are still to be written. */
guint sa_pacer_flush(SaPacer *pacer, gint64 now);

/* So many ACKs that release or flush let go were handed to the kernel. */
void sa_pacer_acks_written(SaPacer *pacer, guint n, gint64 now);

/* When to ask sa_pacer_release again if nothing else happens; -1: never (nothing is held). It moves
 * with every event, mostly to later; asking too early costs nothing. */
gint64 sa_pacer_next(const SaPacer *pacer, gint64 now);

/* Time ACKs were held until now, ended and running, us, since init. */
gint64 sa_pacer_hold_us(const SaPacer *pacer, gint64 now);

/* What the path would hold if the viewer's next ACK were not held, us; -1: not known or not
 * believed. For reports. */
gint64 sa_pacer_backlog_us(const SaPacer *pacer);

/* Short static name of a rule, for logs. */
const char *sa_pacer_rule_name(SaPacerRule rule);
