/* SPDX-FileCopyrightText: The spice-accel authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "link-hist.h"

/* One direction of the shaped link, as a calculation: no I/O, no clock. Times are nanoseconds on
 * any one monotonic clock.
 *
 *   random loss -> drop-tail queue (bytes) -> served at the rate in force -> constant delay
 *
 * When a packet arrives, the instant at which its last bit is served follows at once from the
 * instant at which the packet before it is done and from the schedule of rates, so lateness of the
 * caller never adds up. The rate counts IP bytes: headers of TCP and IP included, nothing below. */

#define SA_LINK_UNLIMITED G_MAXUINT64
#define SA_LINK_NEVER     G_MAXINT64

/* From @at_ns after the start on, @bits_per_s: SA_LINK_UNLIMITED, or 0 while the link serves
 * nothing. */
typedef struct {
    gint64 at_ns;
    guint64 bits_per_s;
} SaLinkRate;

typedef struct {
    gint64 delay_ns;   /* constant, after service: half the round trip */
    guint64 queue_max; /* bytes waiting or being served; a packet that would exceed it is dropped */
    double loss;       /* probability 0..1 that a packet is lost on arrival */
    guint32 seed;      /* of the loss */
    const GArray
        *rates; /* of SaLinkRate, sorted, the first at 0, the last not 0; borrowed, must outlive */
} SaLinkShaperConfig;

typedef struct SaLinkPacket {
    struct SaLinkPacket *next;
    gint64 served_ns; /* last bit has left the bottleneck */
    gint64 due_ns;    /* to be delivered */
    guint32 size;
    guint8 data[];
} SaLinkPacket;

typedef struct {
    guint64 packets_in;  /* arrivals, dropped ones included */
    guint64 packets;     /* delivered */
    guint64 bytes;       /* delivered */
    guint64 drop_queue;  /* the queue was full */
    guint64 drop_loss;   /* random loss */
    guint64 drop_memory; /* more than 64 MiB held */
    guint64 queue_peak;  /* bytes */
    SaLinkHist queueing; /* arrival to start of service */
    SaLinkHist lateness; /* due to delivered */
} SaLinkShaperStats;

typedef struct SaLinkShaper SaLinkShaper;

SaLinkShaper *sa_link_shaper_new(const SaLinkShaperConfig *config, gint64 start_ns);
void sa_link_shaper_free(SaLinkShaper *shaper);

/* A packet of @size bytes arrives; the bytes are copied. FALSE: it was dropped (and counted). @now
 * must not go back from call to call. */
gboolean sa_link_shaper_push(SaLinkShaper *shaper, gint64 now_ns, const void *data, gsize size);

/* When the next packet is due, SA_LINK_NEVER if none is held. */
gint64 sa_link_shaper_next(const SaLinkShaper *shaper);

/* The next packet if it is due, else NULL. The caller delivers it and frees it with g_free(). */
SaLinkPacket *sa_link_shaper_pop(SaLinkShaper *shaper, gint64 now_ns);

const SaLinkShaperStats *sa_link_shaper_stats(const SaLinkShaper *shaper);

G_DEFINE_AUTOPTR_CLEANUP_FUNC(SaLinkShaper, sa_link_shaper_free)
