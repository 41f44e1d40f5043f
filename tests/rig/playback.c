/* SPDX-FileCopyrightText: The spice-accel authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#include "extras.h"

#include <math.h>

enum {
    PERIOD_MS = 10,
    TONE_HZ = 440,
    AMPLITUDE = 3276,
};

static struct {
    SpicePlaybackInstance instance;
    guint source;
    guint32 rate;
    gint64 started;
    guint64 sent;  /* samples since then, or given up because nobody listened */
    guint64 phase; /* samples of the tone */
} playback;

static const SpicePlaybackInterface interface = {
    .base = {.type = SPICE_INTERFACE_PLAYBACK,
             .description = "demo tone",
             .major_version = SPICE_INTERFACE_PLAYBACK_MAJOR,
             .minor_version = SPICE_INTERFACE_PLAYBACK_MINOR},
};

static void
fill(guint32 *samples, guint32 n)
{
    for (guint32 i = 0; i < n; i++) {
        gdouble angle = 2 * G_PI * TONE_HZ * (gdouble)(playback.phase++ % playback.rate) /
                        (gdouble)playback.rate;
        guint16 value = (guint16)(gint16)(AMPLITUDE * sin(angle));

        samples[i] = (guint32)value << 16 | value; /* left and right */
    }
}

static gboolean
play(gpointer data)
{
    guint64 due =
        (guint64)(g_get_monotonic_time() - playback.started) * playback.rate / G_USEC_PER_SEC;

    while (playback.sent < due) {
        guint32 *samples;
        guint32 n;

        spice_server_playback_get_buffer(&playback.instance, &samples, &n);
        if (!samples) {
            /* No client, or it has not taken what it got: that moment of sound is lost. */
            playback.sent = due;
            break;
        }
        fill(samples, n);
        spice_server_playback_put_samples(&playback.instance, samples);
        playback.sent += n;
    }
    return G_SOURCE_CONTINUE;
}

void
sa_playback_add(SpiceServer *server)
{
    playback.instance.base.sif = &interface.base;
    spice_server_add_interface(server, &playback.instance.base);
    playback.rate = spice_server_get_best_playback_rate(&playback.instance);
    spice_server_set_playback_rate(&playback.instance, playback.rate);
    spice_server_playback_start(&playback.instance);
    playback.started = g_get_monotonic_time();
    playback.source = g_timeout_add(PERIOD_MS, play, NULL);
}

void
sa_playback_stop(void)
{
    if (!playback.source)
        return;
    g_clear_handle_id(&playback.source, g_source_remove);
    spice_server_playback_stop(&playback.instance);
    spice_server_remove_interface(&playback.instance.base);
}
