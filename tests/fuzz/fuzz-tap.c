/* SPDX-FileCopyrightText: The spice-accel authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */
/* A whole connection: the input is a list of {direction, length, bytes}, played to two taps, to the
 * second one byte at a time. Both must come to the same figures, and close without a leftover. */
#include <stdlib.h>

#include "client/channel.h"
#include "client/tap.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

typedef struct {
    gboolean open;
    SaStats stats;
} Outcome;

static void
play(SaTap *tap, const uint8_t *data, size_t size, gboolean in_pieces)
{
    gint64 now = 1;

    while (size >= 2) {
        gboolean from_server = data[0] & 1;
        size_t n = MIN((size_t)data[1], size - 2);

        for (size_t at = 0; at < n; at += in_pieces ? 1 : n) {
            (from_server ? sa_tap_server_bytes : sa_tap_client_bytes)(tap, data + 2 + at,
                                                                      in_pieces ? 1 : n, now);
        }
        if (data[0] & 2) {
            sa_tap_dry(tap, now);
        }
        now += 1000;
        data += 2 + n;
        size -= 2 + n;
    }
}

static Outcome
outcome(const uint8_t *data, size_t size, gboolean tls, gboolean in_pieces)
{
    SaTap *tap = sa_tap_new(tls);
    Outcome result = {FALSE};

    play(tap, data, size, in_pieces);
    if (sa_channels()->len > 0) {
        SaChannelMark start;

        result.open = TRUE;
        sa_channel_mark_start(g_ptr_array_index(sa_channels(), 0), &start);
        sa_channel_stats(g_ptr_array_index(sa_channels(), 0), &start, start.time + 1000000,
                         &result.stats);
    }
    sa_tap_unref(tap);
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
    if (whole.open != pieces.open ||
        (whole.open &&
         (whole.stats.messages != pieces.stats.messages ||
          whole.stats.bytes != pieces.stats.bytes || whole.stats.streams != pieces.stats.streams ||
          whole.stats.acks != pieces.stats.acks))) {
        abort();
    }
    return 0;
}
