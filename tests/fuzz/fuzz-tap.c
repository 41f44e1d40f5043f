/* SPDX-FileCopyrightText: The spice-accel authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */
/* A whole connection: the input is a list of {flags, length, bytes}, played to two taps, to the
 * second one byte at a time and without a way to write. Both must come to the same figures, and
 * close without a leftover.
 *
 * The first may keep ACKs. Its viewer writes as spice-gtk does: message by message, each repeated
 * with the same bytes until the connection has taken it. What reaches the connection is recorded:
 * a write that was begun is the next one, too, whoever began it; and but for ACKs that go later, it
 * is what the viewer was told that it wrote, byte for byte, with no ACK lost, doubled, early, or on
 * the wrong side of a barrier. */
#include <math.h>
#include <spice/enums.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "client/channel.h"
#include "client/tap.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* A message that the input leaves unfinished is finished when no more than this is missing. */
#define FINISH_MAX 65536u

typedef struct {
    gboolean open, choked;
    SaStats stats;
} Outcome;

typedef struct {
    SaTap *tap;
    gboolean in_pieces;
    gint64 room;          /* bytes that the connection takes in this record; -1: all */
    GByteArray *queue;    /* what the viewer has to write; */
    guint64 left;         /* bytes of its message at hand that are missing; */
    gsize attempt;        /* of a write it has to repeat, 0: none */
    GByteArray *told;     /* what it was told that it wrote */
    GByteArray *out;      /* what went to the connection */
    gint64 framed_at;     /* length of both when messages began; -1: not yet */
    GByteArray *started;  /* rest of a write that the connection did not take whole */
    gboolean started_own; /* it is the tap's */
} Player;

static void
require(gboolean condition)
{
    if (!condition) {
        abort();
    }
}

/* ----------------------------------------------------------------------- the connection --- */

/* Part of a write is taken without TLS, with it all or nothing. */
static gsize
take(Player *player, gboolean own, const guint8 *data, gsize len)
{
    gsize n = len;

    if (player->started->len > 0) {
        require(player->started_own == own && player->started->len == len &&
                memcmp(player->started->data, data, len) == 0);
    }
    if (player->room >= 0 && (gint64)len > player->room) {
        n = player->tap->tls ? 0 : player->room;
    }
    if (player->room >= 0) {
        player->room -= n;
    }
    g_byte_array_append(player->out, data, n);
    g_byte_array_set_size(player->started, 0);
    g_byte_array_append(player->started, data + n, len - n);
    player->started_own = own;
    return n;
}

static gssize
take_own(gpointer transport, const guint8 *data, gsize len, GIOCondition *wait)
{
    return take(transport, TRUE, data, len);
}

/* --------------------------------------------------------------------------- the viewer --- */

static void
note_framed(Player *player)
{
    if (player->tap->framed && player->framed_at < 0) {
        require(player->out->len == player->told->len);
        player->framed_at = player->told->len;
    }
}

/* Bytes that it was told went, 0: would block. */
static gsize
viewer_write(Player *player, const guint8 *data, gsize len, gint64 now)
{
    gsize n;

    switch (sa_tap_before_write(player->tap, data, len, now)) {
    case SA_TAP_KEPT:
        require(player->started->len == 0 || player->started_own);
        g_byte_array_append(player->told, data, len);
        sa_tap_turn(player->tap, now);
        return len;
    case SA_TAP_BLOCK:
        require(player->started->len == 0 || player->started_own);
        return 0;
    case SA_TAP_PASS:
        break;
    }
    n = take(player, FALSE, data, len);
    g_byte_array_append(player->told, data, n);
    if (n > 0) {
        sa_tap_client_bytes(player->tap, data, n, now);
        sa_tap_turn(player->tap, now);
    } else {
        sa_tap_blocked(player->tap);
    }
    return n;
}

/* Writes what can be written: in the link phase anything, then messages, from their header on. */
static void
viewer_pump(Player *player, gint64 now)
{
    GByteArray *queue = player->queue;

    while (queue->len > 0) {
        gboolean framed = player->tap->framed;
        gsize len = queue->len, n;

        if (framed) {
            guint header = sa_link_header_size(&player->tap->link);

            if (player->left == 0 && len < header) {
                return;
            }
            if (player->left == 0) {
                player->left = (guint64)header +
                               sa_le32(queue->data + (header == SA_WIRE_HEADER_MINI ? 2 : 10));
            }
            len = MIN(len, player->left);
        }
        if (player->attempt > 0) {
            len = MIN(len, player->attempt);
        }
        n = viewer_write(player, queue->data, len, now);
        note_framed(player);
        player->attempt = n > 0 ? len - n : len;
        if (n == 0) {
            return;
        }
        if (framed) {
            player->left -= n;
        }
        g_byte_array_remove_range(queue, 0, n);
    }
}

static void
pass(Player *player, gboolean from_server, const uint8_t *data, size_t len, gint64 now)
{
    if (!from_server && !player->in_pieces) {
        g_byte_array_append(player->queue, data, len);
        viewer_pump(player, now);
        return;
    }
    (from_server ? sa_tap_server_bytes : sa_tap_client_bytes)(player->tap, data, len, now);
    sa_tap_turn(player->tap, now);
    note_framed(player);
}

/* flags: 1 from the server, 2 then dry, 4 the connection takes only so many bytes as the upper four
 * bits say, 8 then a second passes. Returns when it ended. */
static gint64
play(Player *player, const uint8_t *data, size_t size, gboolean *choked)
{
    gint64 now = 1;

    while (size >= 2) {
        size_t n = MIN((size_t)data[1], size - 2);

        player->room = data[0] & 4 ? data[0] >> 4 : -1;
        *choked = *choked || player->room >= 0;
        viewer_pump(player, now);
        for (size_t at = 0; at < n; at += player->in_pieces ? 1 : n) {
            pass(player, data[0] & 1, data + 2 + at, player->in_pieces ? 1 : n, now);
        }
        if (data[0] & 2) {
            sa_tap_dry(player->tap, now);
            sa_tap_retry_soon(player->tap);
        }
        now += data[0] & 8 ? 1000000 : 1000;
        data += 2 + n;
        size -= 2 + n;
    }
    return now;
}

/* The connection takes everything again, the viewer comes to the end of its message and writes a
 * barrier. TRUE: nothing may be kept any more. */
static gboolean
finish(Player *player, gint64 now)
{
    guint header = sa_link_header_size(&player->tap->link);
    guint8 sync[SA_WIRE_HEADER_FULL + 4] = {0};

    player->room = -1;
    sa_tap_turn(player->tap, now);
    viewer_pump(player, now);
    if (player->framed_at < 0) {
        return FALSE;
    }
    require(player->left == 0 || player->queue->len == 0);
    if (player->left > FINISH_MAX || sa_wire_error(&player->tap->client_wire) != NULL) {
        return FALSE;
    }
    g_byte_array_set_size(player->queue, player->left); /* without the start of a header */
    memset(player->queue->data, 0, player->left);
    viewer_pump(player, now);
    sa_put_le16(sync + (header == SA_WIRE_HEADER_MINI ? 0 : 8), SPICE_MSGC_ACK_SYNC);
    sa_put_le32(sync + (header == SA_WIRE_HEADER_MINI ? 2 : 10), 4);
    g_byte_array_append(player->queue, sync, header + 4);
    viewer_pump(player, now);
    require(player->queue->len == 0);
    return TRUE;
}

/* -------------------------------------------------------------------------- what came out --- */

typedef struct {
    const guint8 *at, *end;
    guint acks; /* passed so far */
    guint type; /* of the message found */
    gsize len;  /* of it; 0: there is none */
} Walk;

/* On to the next message that is no ACK, or to what there is of it. */
static void
walk_on(Walk *walk)
{
    walk->at += walk->len;
    for (;;) {
        gsize rest = walk->end - walk->at;

        walk->len = rest;
        walk->type = G_MAXUINT;
        if (rest < SA_WIRE_HEADER_MINI) {
            return;
        }
        walk->len = MIN(rest, (guint64)SA_WIRE_HEADER_MINI + sa_le32(walk->at + 2));
        walk->type = sa_le16(walk->at);
        if (walk->type != SPICE_MSGC_ACK || sa_le32(walk->at + 2) != 0) {
            return;
        }
        walk->acks++;
        walk->at += walk->len;
    }
}

/* No ACK passes it, neither way. */
static gboolean
is_barrier(guint type)
{
    return type == SPICE_MSGC_ACK_SYNC || type == SPICE_MSGC_MIGRATE_FLUSH_MARK ||
           type == SPICE_MSGC_MIGRATE_DATA;
}

static void
compare(const Player *player, gboolean finished)
{
    const GByteArray *told = player->told, *out = player->out;
    gsize start = player->framed_at >= 0 ? player->framed_at : told->len;
    Walk a = {0}, b = {0};

    require(player->started->len == 0);
    if (player->framed_at < 0 || sa_link_header_size(&player->tap->link) != SA_WIRE_HEADER_MINI) {
        require(told->len == out->len);
        require(told->len == 0 || memcmp(told->data, out->data, told->len) == 0);
        return;
    }
    require(start <= out->len && (start == 0 || memcmp(told->data, out->data, start) == 0));
    a.at = told->data + start;
    a.end = told->data + told->len;
    b.at = out->data + start;
    b.end = out->data + out->len;
    do {
        walk_on(&a);
        walk_on(&b);
        require(a.len == b.len && (a.len == 0 || memcmp(a.at, b.at, a.len) == 0));
        require(b.acks <= a.acks && (b.acks == a.acks || !is_barrier(a.type)));
    } while (a.len > 0);
    require(!finished || a.acks == b.acks);
}

/* ------------------------------------------------------------------------------------------ */

static Outcome
outcome(const uint8_t *data, size_t size, gboolean tls, gboolean in_pieces)
{
    Player player = {
        .tap = sa_tap_new(tls),
        .in_pieces = in_pieces,
        .queue = g_byte_array_new(),
        .told = g_byte_array_new(),
        .out = g_byte_array_new(),
        .framed_at = -1,
        .started = g_byte_array_new(),
    };
    Outcome result = {FALSE};
    gint64 now;

    if (!in_pieces) {
        sa_tap_set_transport(player.tap, take_own, &player);
    }
    now = play(&player, data, size, &result.choked);
    if (sa_channels()->len > 0) {
        SaChannelMark start;

        result.open = TRUE;
        sa_channel_mark_start(g_ptr_array_index(sa_channels(), 0), &start);
        sa_channel_stats(g_ptr_array_index(sa_channels(), 0), &start, start.time + 1000000,
                         &result.stats);
    }
    if (!in_pieces) {
        compare(&player, finish(&player, now));
    }
    sa_tap_unref(player.tap);
    require(sa_channels()->len == 0);
    g_byte_array_unref(player.queue);
    g_byte_array_unref(player.told);
    g_byte_array_unref(player.out);
    g_byte_array_unref(player.started);
    return result;
}

/* Absent on both sides is the same, too. */
static gboolean
same(double a, double b)
{
    return a == b || (isnan(a) && isnan(b));
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static gboolean acquired;
    Outcome whole, pieces;
    gboolean tls;

    if (!acquired) { /* nothing is kept elsewhere than in the main loop's thread */
        acquired = g_main_context_acquire(NULL);
        require(acquired);
    }
    if (size < 1) {
        return 0;
    }
    tls = data[0] & 1;
    whole = outcome(data + 1, size - 1, tls, FALSE);
    pieces = outcome(data + 1, size - 1, tls, TRUE);
    if (whole.choked) {
        return 0; /* the viewer's bytes that did not go are not in the other's figures */
    }
    require(whole.open == pieces.open);
    if (whole.open) {
        require(same(whole.stats.messages, pieces.stats.messages));
        require(same(whole.stats.bytes, pieces.stats.bytes));
        require(same(whole.stats.streams, pieces.stats.streams));
        require(whole.stats.holds > 0 || same(whole.stats.acks, pieces.stats.acks));
    }
    return 0;
}
