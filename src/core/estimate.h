/* SPDX-FileCopyrightText: The spice-accel authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */
/* Rates and round trips of one connection: a few sums, no clock, no I/O.
 *
 * SaRate: messages and bytes a second over the last messages, and whether they arrived as one busy
 * period (the path was never idle between them: only then is the byte rate a delivery rate).
 * SaService: how fast the viewer handles what it has read: bytes and messages over the time it was
 * busy with them.
 * SaRoundTrip: the end-to-end round trip. TCP's own is not it (a relay or an SSH tunnel answers
 * for the kernel), so it is the least time seen between something written that the server answers
 * at once and that answer: ticket and link result first, then whatever the watchers recognise.
 */
#pragma once

#include <glib.h>

#define SA_RATE_SAMPLES 256u

typedef struct SaRate {
    /*< private >*/
    gint64 time[SA_RATE_SAMPLES]; /* us, arrival of the message's last byte */
    guint32 bytes[SA_RATE_SAMPLES];
    guint32 gap[SA_RATE_SAMPLES]; /* us the connection had been idle before it, 0: busy */
    guint head, len;
} SaRate;

void sa_rate_init(SaRate *rate);
/* A message arrived whole at now. waited_us: how long the reader had found nothing to read just
 * before its first byte (0: bytes were waiting). */
void sa_rate_message(SaRate *rate, guint32 bytes, gint64 waited_us, gint64 now);
/* Over the last n messages (n <= SA_RATE_SAMPLES, at least 2 must be there) but none older than
 * horizon_us: per second; 0 when unknown. */
double sa_rate_messages(const SaRate *rate, guint n, gint64 horizon_us, gint64 now);
double sa_rate_bytes(const SaRate *rate, guint n, gint64 horizon_us, gint64 now);
/* Mean size of the last n messages, bytes; 0 when there are none. */
double sa_rate_mean_bytes(const SaRate *rate, guint n);
/* TRUE when the last n messages came without a gap over gap_us between them. */
gboolean sa_rate_busy(const SaRate *rate, guint n, gint64 gap_us);

typedef struct SaService {
    /*< private >*/
    double bytes, messages, busy_us; /* exponentially aged */
} SaService;

void sa_service_init(SaService *service);
/* Handling one message of this size took busy_us. */
void sa_service_message(SaService *service, guint32 bytes, gint64 busy_us);
double sa_service_bytes_per_s(const SaService *service);    /* 0: unknown */
double sa_service_us_per_message(const SaService *service); /* 0: unknown */
/* Time to handle so many waiting bytes, us; -1 while the rate is unknown and bytes > 0. */
gint64 sa_service_backlog_us(const SaService *service, guint64 bytes);

typedef struct SaRoundTrip {
    /*< public, read only >*/
    gint64 min_us;  /* least seen; 0: none yet */
    gint64 last_us; /* newest */
    guint64 samples;
} SaRoundTrip;

void sa_round_trip_init(SaRoundTrip *rt);
/* sample_us <= 0 is ignored. */
void sa_round_trip_sample(SaRoundTrip *rt, gint64 sample_us);
