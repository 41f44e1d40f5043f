/* SPDX-FileCopyrightText: The spice-accel authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */
/* One watched display or cursor connection: its window, its rates, its streams, and how long the
 * viewer takes for a message.
 *
 * Two figures for that: service time is the wall time in SpiceChannelClass.handle_msg, which yields
 * to the main loop at every draw (spice-gtk emits display-invalidate from an idle source and waits
 * for it); decode time is the part up to the first such yield.
 */
#pragma once

#include "client/tap.h"
#include "core/ackwin.h"
#include "core/estimate.h"
#include "core/stats.h"

typedef struct SaChannel SaChannel;

extern const SaTapSink sa_channel_sink;

gpointer sa_channel_new(SaTap *tap, gint64 now);

/* The viewer starts handling the message it read last. TRUE: this one's decode time is wanted (one
 * in a few is enough), so report the first yield to the main loop. now in us. */
gboolean sa_channel_handle_begin(SaChannel *channel, gint64 now);
/* It has yielded to the main loop for the first time / is done. */
void sa_channel_handle_yield(SaChannel *channel, gint64 now);
void sa_channel_handle_end(SaChannel *channel, gint64 now);

/* All open channels, in the order they were opened; owned by this module. */
const GPtrArray *sa_channels(void);
/* Number of the channel in this process, never used again. */
guint sa_channel_serial(const SaChannel *channel);

/* Where an interval of figures starts: the counters as they were then. */
typedef struct SaChannelMark {
    guint serial;
    gint64 time;
    gint64 at_limit_us;
    guint64 messages, bytes, acks, ignored_acks, stalls;
    guint64 draws, streams_created, streams_destroyed, stream_messages, stream_bytes;
    guint64 decoded, handled;
    gint64 decode_us, service_us;
    guint64 holds;
    gint64 hold_us;
} SaChannelMark;

/* The counters as they are now / as they were when the channel was opened. */
void sa_channel_mark(SaChannel *channel, gint64 now, SaChannelMark *mark);
void sa_channel_mark_start(const SaChannel *channel, SaChannelMark *mark);
/* Figures from since until now. */
void sa_channel_stats(SaChannel *channel, const SaChannelMark *since, gint64 now, SaStats *stats);

/* Display channels opened from now on pace their ACKs (the default), or do not. */
void sa_channels_set_pacing(gboolean on, gint64 latency_us);

/* Told of each channel that is opened, and before it is freed. One listener. */
typedef struct SaChannelListener {
    void (*opened)(SaChannel *channel, gint64 now);
    void (*closing)(SaChannel *channel, gint64 now);
} SaChannelListener;
void sa_channels_listen(const SaChannelListener *listener);
