/* SPDX-FileCopyrightText: The spice-accel authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */
/* A whole connection: the input is a list of {flags, length, bytes}, played to two taps, to the
 * second one byte at a time and without a way to write. Both must come to the same figures, and
 * close without a leftover. The first may keep ACKs: what it wrote and what it still keeps must be
 * what the viewer was told that it wrote. */
#include <stdint.h>
#include <stdlib.h>

#include "client/channel.h"
#include "client/tap.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

typedef struct {
    gboolean open, choked;
    SaStats stats;
} Outcome;

typedef struct {
    SaTap *tap;
    gboolean in_pieces;
    gboolean choked; /* the connection takes one byte a call */
    guint64 told;    /* bytes the viewer was told that it wrote */
    guint64 out;     /* bytes that went to the connection */
} Player;

static gssize
take(gpointer transport, const guint8 *data, gsize len)
{
    Player *player = transport;
    gsize n = player->choked ? len / 2 : len;

    player->out += n;
    return n;
}

static void
viewer_write(Player *player, const uint8_t *data, size_t len, gint64 now)
{
    gssize n;

    switch (sa_tap_before_write(player->tap, data, len, now)) {
    case SA_TAP_KEPT:
        player->told += len;
        break;
    case SA_TAP_BLOCK:
        return;
    case SA_TAP_PASS:
        n = take(player, data, len);
        player->told += n;
        if (n > 0) {
            sa_tap_client_bytes(player->tap, data, n, now);
        } else {
            sa_tap_blocked(player->tap);
        }
        break;
    }
    sa_tap_turn(player->tap, now);
}

static void
pass(Player *player, gboolean from_server, const uint8_t *data, size_t len, gint64 now)
{
    if (!from_server && !player->in_pieces) {
        viewer_write(player, data, len, now);
        return;
    }
    (from_server ? sa_tap_server_bytes : sa_tap_client_bytes)(player->tap, data, len, now);
    sa_tap_turn(player->tap, now);
}

/* flags: 1 from the server, 2 then dry, 4 the connection is choked, 8 a second passes */
static gboolean
play(Player *player, const uint8_t *data, size_t size)
{
    gboolean choked = FALSE;
    gint64 now = 1;

    while (size >= 2) {
        size_t n = MIN((size_t)data[1], size - 2);

        player->choked = data[0] & 4;
        choked = choked || player->choked;
        for (size_t at = 0; at < n; at += player->in_pieces ? 1 : n) {
            pass(player, data[0] & 1, data + 2 + at, player->in_pieces ? 1 : n, now);
        }
        if (data[0] & 2) {
            sa_tap_dry(player->tap, now);
        }
        now += data[0] & 8 ? 1000000 : 1000;
        data += 2 + n;
        size -= 2 + n;
    }
    return choked;
}

static Outcome
outcome(const uint8_t *data, size_t size, gboolean tls, gboolean in_pieces)
{
    Player player = {.tap = sa_tap_new(tls), .in_pieces = in_pieces};
    Outcome result = {FALSE};

    if (!in_pieces) {
        sa_tap_set_transport(player.tap, take, &player);
    }
    result.choked = play(&player, data, size);
    if (player.out > player.told + 64 || (!result.choked && (player.told - player.out) % 6 != 0)) {
        abort();
    }
    if (sa_channels()->len > 0) {
        SaChannelMark start;

        result.open = TRUE;
        sa_channel_mark_start(g_ptr_array_index(sa_channels(), 0), &start);
        sa_channel_stats(g_ptr_array_index(sa_channels(), 0), &start, start.time + 1000000,
                         &result.stats);
    }
    sa_tap_unref(player.tap);
    if (sa_channels()->len != 0) {
        abort();
    }
    return result;
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    Outcome whole, pieces;
    gboolean tls;

    if (size < 1) {
        return 0;
    }
    tls = data[0] & 1;
    whole = outcome(data + 1, size - 1, tls, FALSE);
    pieces = outcome(data + 1, size - 1, tls, TRUE);
    if (whole.choked) {
        return 0; /* the viewer's bytes that did not go are not in the other's figures */
    }
    if (whole.open != pieces.open ||
        (whole.open &&
         (whole.stats.messages != pieces.stats.messages ||
          whole.stats.bytes != pieces.stats.bytes || whole.stats.streams != pieces.stats.streams ||
          (whole.stats.holds == 0 && whole.stats.acks != pieces.stats.acks)))) {
        abort();
    }
    return 0;
}
