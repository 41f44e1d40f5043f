/* SPDX-FileCopyrightText: The spice-accel authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#include <math.h>

#include "client/channel.h"
#include "client/export.h"
#include "client/spice-accel.h"

typedef struct {
    SaChannelMark mark;
    SaStats stats;
} Entry;

struct SpiceAccelSnapshot {
    GArray *entries; /* of Entry */
};

static const SaChannelMark *
find_mark(const SpiceAccelSnapshot *snapshot, guint serial)
{
    for (guint i = 0; snapshot != NULL && i < snapshot->entries->len; i++) {
        const Entry *entry = &g_array_index(snapshot->entries, Entry, i);

        if (entry->mark.serial == serial) {
            return &entry->mark;
        }
    }
    return NULL;
}

SA_EXPORT SpiceAccelSnapshot *
spice_accel_snapshot_new(const SpiceAccelSnapshot *since)
{
    SpiceAccelSnapshot *snapshot = g_new0(SpiceAccelSnapshot, 1);
    const GPtrArray *channels = sa_channels();
    gint64 now = g_get_monotonic_time();

    snapshot->entries = g_array_sized_new(FALSE, TRUE, sizeof(Entry), channels->len);
    for (guint i = 0; i < channels->len; i++) {
        SaChannel *channel = g_ptr_array_index(channels, i);
        const SaChannelMark *from = find_mark(since, sa_channel_serial(channel));
        SaChannelMark start;
        Entry entry;

        if (from == NULL) {
            sa_channel_mark_start(channel, &start);
            from = &start;
        }
        sa_channel_stats(channel, from, now, &entry.stats);
        sa_channel_mark(channel, now, &entry.mark);
        g_array_append_val(snapshot->entries, entry);
    }
    return snapshot;
}

SA_EXPORT void
spice_accel_snapshot_free(SpiceAccelSnapshot *snapshot)
{
    if (snapshot != NULL) {
        g_array_unref(snapshot->entries);
        g_free(snapshot);
    }
}

SA_EXPORT guint
spice_accel_snapshot_n_channels(const SpiceAccelSnapshot *snapshot)
{
    return snapshot->entries->len;
}

static const SaStats *
entry_stats(const SpiceAccelSnapshot *snapshot, guint channel)
{
    return channel < snapshot->entries->len
               ? &g_array_index(snapshot->entries, Entry, channel).stats
               : NULL;
}

SA_EXPORT double
spice_accel_snapshot_number(const SpiceAccelSnapshot *snapshot, guint channel, const char *column)
{
    const SaStats *stats = entry_stats(snapshot, channel);

    return stats != NULL ? sa_stats_number(stats, column) : NAN;
}

SA_EXPORT const char *
spice_accel_snapshot_text(const SpiceAccelSnapshot *snapshot, guint channel, const char *column)
{
    const SaStats *stats = entry_stats(snapshot, channel);

    return stats != NULL ? sa_stats_text(stats, column) : NULL;
}

SA_EXPORT const char *const *
spice_accel_columns(void)
{
    static const char **names;

    if (names == NULL) {
        names = g_new0(const char *, sa_stats_n_columns() + 1);
        for (guint i = 0; i < sa_stats_n_columns(); i++) {
            names[i] = sa_stats_column(i);
        }
    }
    return names;
}
