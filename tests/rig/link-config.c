/* SPDX-FileCopyrightText: The spice-accel authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#include "link-config.h"

#include <gio/gio.h>

#include "link-shaper.h"

#define RTT_MAX_MS   60000.0
#define MBIT_MAX     100000.0
#define AT_MAX_S     86400.0
#define QUEUE_MIN    (10 * (guint64)SA_LINK_MTU)
#define QUEUE_NORATE (G_GUINT64_CONSTANT(1) << 20)

typedef struct {
    gint64 at_ns;
    gint64 until_ns;                 /* of an outage; 0: a step */
    double mbit[SA_LINK_DIRECTIONS]; /* of a step */
} Change;

/* "A:B[:C]" of numbers from 0 to @max each. Returns how many there are, 0 if it is anything else.
 */
static guint
numbers(const char *text, double *values, guint max_values, double max)
{
    guint n = 0;

    for (;;) {
        char *end;

        if (n == max_values || !(g_ascii_isdigit(*text) || *text == '.'))
            return 0;
        values[n] = g_ascii_strtod(text, &end);
        if (end == text || !(values[n] >= 0 && values[n] <= max))
            return 0;
        n++;
        if (!*end)
            return n;
        if (*end != ':')
            return 0;
        text = end + 1;
    }
}

static guint64
bits_per_s(double mbit)
{
    return mbit > 0 ? MAX((guint64)(mbit * 1e6 + 0.5), 1) : SA_LINK_UNLIMITED;
}

static gint
by_time(gconstpointer a, gconstpointer b)
{
    gint64 x = *(const gint64 *)a;
    gint64 y = *(const gint64 *)b;

    return x < y ? -1 : x > y;
}

/* The rate at @at: of the last step before, 0 during an outage. */
static guint64
rate_at(const GArray *changes, gint64 at, double mbit, SaLinkDirection dir)
{
    gint64 latest = -1;
    guint i;

    for (i = 0; i < changes->len; i++) {
        const Change *change = &g_array_index(changes, Change, i);

        if (change->until_ns && change->at_ns <= at && at < change->until_ns)
            return 0;
        if (!change->until_ns && change->at_ns <= at && change->at_ns >= latest) {
            latest = change->at_ns;
            mbit = change->mbit[dir];
        }
    }
    return bits_per_s(mbit);
}

static GArray *
schedule(const GArray *changes, double mbit, SaLinkDirection dir)
{
    g_autoptr(GArray) times = g_array_new(FALSE, FALSE, sizeof(gint64));
    GArray *rates = g_array_new(FALSE, FALSE, sizeof(SaLinkRate));
    gint64 zero = 0;
    guint i;

    g_array_append_val(times, zero);
    for (i = 0; i < changes->len; i++) {
        const Change *change = &g_array_index(changes, Change, i);

        g_array_append_val(times, change->at_ns);
        if (change->until_ns)
            g_array_append_val(times, change->until_ns);
    }
    g_array_sort(times, by_time);
    for (i = 0; i < times->len; i++) {
        SaLinkRate rate = {g_array_index(times, gint64, i), 0};

        rate.bits_per_s = rate_at(changes, rate.at_ns, mbit, dir);
        if (!rates->len ||
            g_array_index(rates, SaLinkRate, rates->len - 1).bits_per_s != rate.bits_per_s)
            g_array_append_val(rates, rate);
    }
    return rates;
}

static gboolean
parse_changes(GArray *changes, char **texts, gboolean outages, GError **error)
{
    for (; texts && *texts; texts++) {
        double v[3] = {0, 0, 0};
        guint n = numbers(*texts, v, outages ? 2 : 3, MAX(AT_MAX_S, MBIT_MAX));
        Change change = {0};

        if (n < 2 || v[0] > AT_MAX_S || (outages && !(v[1] > 0 && v[1] <= AT_MAX_S))) {
            g_set_error(error, G_IO_ERROR, G_IO_ERROR_INVALID_ARGUMENT, "--%s %s: expected %s",
                        outages ? "outage" : "step", *texts,
                        outages ? "AT_S:FOR_S, both in seconds" : "AT_S:MBIT[:UP]");
            return FALSE;
        }
        change.at_ns = (gint64)(v[0] * 1e9);
        if (outages)
            change.until_ns = change.at_ns + MAX((gint64)(v[1] * 1e9), 1);
        change.mbit[SA_LINK_DOWN] = v[1];
        change.mbit[SA_LINK_UP] = n == 3 ? v[2] : v[1];
        g_array_append_val(changes, change);
    }
    return TRUE;
}

gboolean
sa_link_config_init(SaLinkConfig *config, double rtt_ms, const char *rate, guint64 queue,
                    double loss_pct, guint32 seed, char **steps, char **outages, GError **error)
{
    g_autoptr(GArray) changes = g_array_new(FALSE, FALSE, sizeof(Change));
    double v[2];
    guint n = numbers(rate, v, 2, MBIT_MAX);
    guint dir;

    memset(config, 0, sizeof(*config));
    if (!n) {
        g_set_error(error, G_IO_ERROR, G_IO_ERROR_INVALID_ARGUMENT,
                    "--rate %s: expected MBIT[:UP], 0 for unlimited", rate);
        return FALSE;
    }
    if (!(rtt_ms >= 0 && rtt_ms <= RTT_MAX_MS)) {
        g_set_error(error, G_IO_ERROR, G_IO_ERROR_INVALID_ARGUMENT, "--rtt %g: expected 0 to %g ms",
                    rtt_ms, RTT_MAX_MS);
        return FALSE;
    }
    if (!(loss_pct >= 0 && loss_pct < 100)) {
        g_set_error(error, G_IO_ERROR, G_IO_ERROR_INVALID_ARGUMENT,
                    "--loss %g: expected per cent, 0 to below 100", loss_pct);
        return FALSE;
    }
    if (queue && queue < SA_LINK_MTU) {
        g_set_error(error, G_IO_ERROR, G_IO_ERROR_INVALID_ARGUMENT,
                    "--queue %" G_GUINT64_FORMAT ": no packet of %u bytes would fit", queue,
                    SA_LINK_MTU);
        return FALSE;
    }
    if (!parse_changes(changes, steps, FALSE, error) ||
        !parse_changes(changes, outages, TRUE, error))
        return FALSE;

    config->rtt_ms = rtt_ms;
    config->loss = loss_pct / 100;
    config->seed = seed;
    config->changes = changes->len > 0;
    for (dir = 0; dir < SA_LINK_DIRECTIONS; dir++) {
        double mbit = dir == SA_LINK_UP && n == 2 ? v[1] : v[0];

        config->mbit[dir] = mbit;
        if (queue)
            config->queue[dir] = queue;
        else if (mbit > 0)
            config->queue[dir] = MAX((guint64)(mbit * 1e3 / 8 * rtt_ms), QUEUE_MIN);
        else
            config->queue[dir] = QUEUE_NORATE;
        config->rates[dir] = schedule(changes, mbit, dir);
    }
    return TRUE;
}

void
sa_link_config_clear(SaLinkConfig *config)
{
    guint dir;

    for (dir = 0; dir < SA_LINK_DIRECTIONS; dir++)
        g_clear_pointer(&config->rates[dir], g_array_unref);
}
