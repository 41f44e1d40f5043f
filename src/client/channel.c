/* SPDX-FileCopyrightText: The spice-accel authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#include "client/channel.h"

#include <spice/enums.h>
#include <unistd.h>

#include "client/clock.h"
#include "client/pace.h"

/* Stream ids followed by name; spice-server has 64 a client. More are counted, not followed. */
#define STREAM_IDS_MAX 4096u
/* A delivery rate is of at least so many messages, none older than this, none of which the viewer
 * waited for longer than packets of a slow link come apart. */
#define DELIVERY_MIN        8u
#define DELIVERY_HORIZON_US (5 * G_USEC_PER_SEC)
#define DELIVERY_GAP_US     15000
/* Decode time is taken of one message in so many, since it costs a main-loop source each; a prime,
 * since pictures come as columns of even numbers. */
#define DECODE_SAMPLING 7u

struct SaChannel {
    SaTap *tap; /* owns this through its sink */
    guint serial;
    char name[16];
    gint64 opened;
    SaAckwin window;
    SaRate rate;
    SaService service;
    SaPace *pace;       /* NULL: cursor, or switched off */
    guint32 last_bytes; /* size of the message read last */
    guint16 last_type;
    gint64 handle_since; /* 0: not handling */
    gboolean timing;     /* its decode time is being taken */
    guint64 draws, streams_created, streams_destroyed, stream_messages, stream_bytes;
    guint64 decoded, handled; /* messages that decode_us, service_us are of */
    gint64 decode_us, service_us;
    GHashTable *streams; /* ids of open video streams */
};

static GPtrArray *channels;
static const SaChannelListener *listener;
static guint last_serial;
static gboolean pacing = TRUE;
static gint64 pacing_latency_us = SA_PACER_LATENCY_US;

const GPtrArray *
sa_channels(void)
{
    if (channels == NULL) {
        channels = g_ptr_array_new();
    }
    return channels;
}

void
sa_channels_listen(const SaChannelListener *who)
{
    listener = who;
}

guint
sa_channel_serial(const SaChannel *channel)
{
    return channel->serial;
}

void
sa_channels_set_pacing(gboolean on, gint64 latency_us)
{
    pacing = on;
    pacing_latency_us = latency_us;
}

static gint64
unread_us(gpointer data)
{
    SaChannel *channel = data;
    gssize unread = sa_tap_unread_bytes(channel->tap);

    return unread < 0 ? -1 : sa_service_backlog_us(&channel->service, unread);
}

gpointer
sa_channel_new(SaTap *tap, gint64 now)
{
    SaChannel *channel = g_new0(SaChannel, 1);
    const SaLinkMessage *link = &tap->link.message;

    channel->tap = tap;
    channel->serial = ++last_serial;
    channel->opened = now;
    channel->streams = g_hash_table_new(NULL, NULL);
    g_snprintf(channel->name, sizeof(channel->name), "%s:%u",
               link->channel_type == SPICE_CHANNEL_DISPLAY ? "display" : "cursor",
               link->channel_id);
    sa_ackwin_init(&channel->window);
    sa_rate_init(&channel->rate);
    sa_service_init(&channel->service);
    if (pacing && link->channel_type == SPICE_CHANNEL_DISPLAY) {
        channel->pace = sa_pace_new(tap, &channel->window, pacing_latency_us, unread_us, channel);
    }
    g_ptr_array_add((GPtrArray *)sa_channels(), channel);
    if (listener != NULL) {
        listener->opened(channel, now);
    }
    return channel;
}

static void
closed(gpointer sink, gint64 now)
{
    SaChannel *channel = sink;

    if (listener != NULL) {
        listener->closing(channel, now);
    }
    if (channel->pace != NULL) {
        sa_pace_free(channel->pace, now);
    }
    g_ptr_array_remove(channels, channel);
    g_hash_table_unref(channel->streams);
    g_free(channel);
}

/* ------------------------------------------------------------------ messages that pass --- */

static void
stream_created(SaChannel *channel, const SaWireMessage *msg)
{
    /* SpiceMsgDisplayStreamCreate {surface_id u32, id u32, ...} */
    channel->streams_created++;
    if (msg->head_len >= 8 && g_hash_table_size(channel->streams) < STREAM_IDS_MAX) {
        g_hash_table_add(channel->streams, GUINT_TO_POINTER(sa_le32(msg->head + 4)));
    }
}

static void
stream_destroyed(SaChannel *channel, const SaWireMessage *msg)
{
    if (msg->head_len >= 4 &&
        g_hash_table_remove(channel->streams, GUINT_TO_POINTER(sa_le32(msg->head)))) {
        channel->streams_destroyed++;
    }
}

static void
display_message(SaChannel *channel, const SaWireMessage *msg, guint32 bytes)
{
    switch (msg->type) {
    case SPICE_MSG_DISPLAY_STREAM_CREATE:
        stream_created(channel, msg);
        break;
    case SPICE_MSG_DISPLAY_STREAM_DESTROY:
        stream_destroyed(channel, msg);
        break;
    case SPICE_MSG_DISPLAY_RESET:
    case SPICE_MSG_DISPLAY_STREAM_DESTROY_ALL:
        channel->streams_destroyed += g_hash_table_size(channel->streams);
        g_hash_table_remove_all(channel->streams);
        break;
    case SPICE_MSG_DISPLAY_STREAM_DATA:
    case SPICE_MSG_DISPLAY_STREAM_DATA_SIZED:
        channel->stream_messages++;
        channel->stream_bytes += bytes;
        break;
    case SPICE_MSG_DISPLAY_COPY_BITS:
    case SPICE_MSG_DISPLAY_DRAW_COMPOSITE:
        channel->draws++;
        break;
    default:
        if (msg->type >= SPICE_MSG_DISPLAY_DRAW_FILL &&
            msg->type <= SPICE_MSG_DISPLAY_DRAW_ALPHA_BLEND) {
            channel->draws++;
        }
        break;
    }
}

static void
server_message(gpointer sink, const SaWireMessage *msg, guint32 bytes, gint64 waited_us, gint64 now)
{
    SaChannel *channel = sink;

    channel->last_bytes = bytes;
    channel->last_type = msg->type;
    sa_ackwin_set_rtt(&channel->window, channel->tap->session->round_trip.min_us);
    if (msg->type == SPICE_MSG_SET_ACK && msg->head_len >= 8) {
        sa_ackwin_set_ack(&channel->window, sa_le32(msg->head), sa_le32(msg->head + 4), bytes, now);
    } else {
        sa_ackwin_message(&channel->window, bytes, now);
    }
    sa_rate_message(&channel->rate, bytes, waited_us, now);
    if (channel->pace != NULL) {
        sa_pace_message(channel->pace, bytes, waited_us, now);
    }
    if (channel->tap->link.message.channel_type == SPICE_CHANNEL_DISPLAY) {
        display_message(channel, msg, bytes);
    }
}

static void
client_message(gpointer sink, const SaWireMessage *msg, guint32 bytes, gint64 now)
{
    SaChannel *channel = sink;

    if (msg->type == SPICE_MSGC_ACK) {
        sa_ackwin_ack(&channel->window, now);
        if (channel->pace != NULL) {
            sa_pace_ack_written(channel->pace, now);
        }
    } else if (msg->type == SPICE_MSGC_ACK_SYNC && msg->head_len >= 4) {
        sa_ackwin_ack_sync(&channel->window, sa_le32(msg->head), now);
    }
}

static gboolean
keep(gpointer sink, guint16 type, gint64 now)
{
    SaChannel *channel = sink;

    return channel->pace != NULL && type == SPICE_MSGC_ACK &&
           sa_pace_ack_emitted(channel->pace, now);
}

static void
let_go(gpointer sink, gint64 now)
{
    SaChannel *channel = sink;

    if (channel->pace != NULL) {
        sa_pace_let_go(channel->pace, now);
    }
}

static void
turn(gpointer sink, gint64 now)
{
    SaChannel *channel = sink;

    if (channel->pace != NULL) {
        sa_pace_turn(channel->pace, now);
    }
}

const SaTapSink sa_channel_sink = {
    .server_message = server_message,
    .client_message = client_message,
    .keep = keep,
    .let_go = let_go,
    .turn = turn,
    .closed = closed,
};

/* ------------------------------------------------------------- messages that are handled --- */

gboolean
sa_channel_handle_begin(SaChannel *channel, gint64 now)
{
    /* MIGRATE and WAIT_FOR_CHANNELS wait for other connections inside their handler; under SASL the
     * viewer reads ahead, and this is not the message that was read last */
    channel->handle_since =
        channel->last_type > SPICE_MSG_BASE_LAST && !channel->tap->link.sasl ? now : 0;
    channel->timing = channel->handle_since != 0 && channel->handled % DECODE_SAMPLING == 0;
    return channel->timing;
}

void
sa_channel_handle_yield(SaChannel *channel, gint64 now)
{
    if (channel->timing) {
        channel->timing = FALSE;
        channel->decode_us += now - channel->handle_since;
        channel->decoded++;
    }
}

void
sa_channel_handle_end(SaChannel *channel, gint64 now)
{
    gint64 busy = now - channel->handle_since;

    if (channel->handle_since == 0) {
        return;
    }
    sa_channel_handle_yield(channel, now); /* if it has not */
    channel->service_us += busy;
    channel->handled++;
    sa_service_message(&channel->service, channel->last_bytes, busy);
    channel->last_bytes = 0; /* sub-messages are handled one by one, but came once */
    channel->handle_since = 0;
}

/* ------------------------------------------------------------------------------ figures --- */

void
sa_channel_mark(SaChannel *channel, gint64 now, SaChannelMark *mark)
{
    const SaAckwin *window = &channel->window;

    *mark = (SaChannelMark){
        .serial = channel->serial,
        .time = now,
        .at_limit_us = sa_ackwin_at_limit_us(&channel->window, now),
        .messages = window->total_messages,
        .bytes = window->total_bytes,
        .acks = window->total_acks,
        .ignored_acks = window->ignored_acks,
        .stalls = window->stalls,
        .draws = channel->draws,
        .streams_created = channel->streams_created,
        .streams_destroyed = channel->streams_destroyed,
        .stream_messages = channel->stream_messages,
        .stream_bytes = channel->stream_bytes,
        .decoded = channel->decoded,
        .handled = channel->handled,
        .decode_us = channel->decode_us,
        .service_us = channel->service_us,
    };
    if (channel->pace != NULL) {
        mark->holds = sa_pace_pacer(channel->pace)->holds;
        mark->hold_us = sa_pacer_hold_us(sa_pace_pacer(channel->pace), now);
    }
}

void
sa_channel_mark_start(const SaChannel *channel, SaChannelMark *mark)
{
    *mark = (SaChannelMark){.serial = channel->serial, .time = channel->opened};
}

static void
window_figures(const SaAckwin *window, const SaChannelMark *a, const SaChannelMark *b,
               double seconds, SaStats *stats)
{
    if (!window->known || window->window == 0) {
        return;
    }
    stats->window = window->window;
    stats->generation = window->generation;
    stats->in_flight = sa_ackwin_in_flight(window);
    stats->peak_in_flight = window->peak_in_flight;
    stats->credit = sa_ackwin_credit(window);
    if (window->rtt_us > 0 && seconds > 0) {
        stats->at_limit_pct = 100.0 * (b->at_limit_us - a->at_limit_us) / 1e6 / seconds;
        stats->stalls = b->stalls - a->stalls;
    }
}

/* What the path delivers, told by the last window of messages while it was busy with them. */
static void
delivery_figures(const SaChannel *channel, gint64 now, SaStats *stats)
{
    guint n = CLAMP(channel->window.window, DELIVERY_MIN, SA_RATE_SAMPLES);
    double rate = sa_rate_bytes(&channel->rate, n, DELIVERY_HORIZON_US, now);

    if (rate > 0 && sa_rate_busy(&channel->rate, n, DELIVERY_GAP_US)) {
        stats->delivery_mbit = rate * 8 / 1e6;
    }
}

static void
display_figures(const SaChannel *channel, const SaChannelMark *a, const SaChannelMark *b,
                SaStats *stats)
{
    stats->streams = g_hash_table_size(channel->streams);
    stats->streams_created = b->streams_created - a->streams_created;
    stats->streams_destroyed = b->streams_destroyed - a->streams_destroyed;
    stats->stream_messages = b->stream_messages - a->stream_messages;
    stats->stream_bytes = b->stream_bytes - a->stream_bytes;
    stats->draws = b->draws - a->draws;
}

void
sa_channel_stats(SaChannel *channel, const SaChannelMark *a, gint64 now, SaStats *stats)
{
    SaChannelMark mark;
    const SaChannelMark *b = &mark;
    const SaSession *session = channel->tap->session;
    double seconds = (now - a->time) / 1e6;
    gssize unread = sa_tap_unread_bytes(channel->tap);

    sa_channel_mark(channel, now, &mark);
    sa_stats_init(stats);
    stats->time_s = sa_clock_unix_s(now);
    g_strlcpy(stats->channel, channel->name, sizeof(stats->channel));
    window_figures(&channel->window, a, b, seconds, stats);
    stats->messages = b->messages - a->messages;
    stats->bytes = b->bytes - a->bytes;
    if (b->messages > a->messages) {
        stats->mean_bytes = stats->bytes / stats->messages;
    }
    if (session->round_trip.min_us > 0) {
        stats->rtt_ms = session->round_trip.min_us / 1e3;
    }
    if (seconds > 0) {
        stats->rate_mbit = stats->bytes * 8 / seconds / 1e6;
    }
    delivery_figures(channel, now, stats);
    if (unread >= 0) {
        gint64 backlog = sa_service_backlog_us(&channel->service, unread);

        stats->unread_bytes = unread;
        if (backlog >= 0) {
            stats->backlog_ms = backlog / 1e3;
        }
    }
    if (b->decoded > a->decoded) {
        stats->decode_us = (double)(b->decode_us - a->decode_us) / (b->decoded - a->decoded);
    }
    if (b->handled > a->handled) {
        stats->service_us = (double)(b->service_us - a->service_us) / (b->handled - a->handled);
    }
    if (channel->pace != NULL) {
        stats->holds = b->holds - a->holds;
        stats->hold_ms = (b->hold_us - a->hold_us) / 1e3;
    }
    stats->pid = getpid();
    stats->session = session->number;
    stats->acks = b->acks - a->acks;
    stats->ignored_acks = b->ignored_acks - a->ignored_acks;
    if (channel->tap->link.message.channel_type == SPICE_CHANNEL_DISPLAY) {
        display_figures(channel, a, b, stats);
    }
    stats->tls = channel->tap->tls ? 1 : 0;
}
