/* SPDX-FileCopyrightText: The spice-accel authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */
/* The CSV log read back: the figures of every channel, column by column.
 *
 * Several viewers may append to one log, and each numbers its sessions from 1: rows are of one
 * channel when channel, pid and session are the same, as far as the log has these columns.
 *
 * Columns are known by the header's names alone, so logs of other versions can be read. A column
 * counts as numeric when at least half of its values are numbers; in it anything else is a fault.
 * Empty values are absent. A last line without a line end is still being written and is left out;
 * a header repeated further down (a log that was appended to) is passed over.
 */
#pragma once

#include <glib.h>
#include <stdio.h>

typedef struct SaLogFault {
    guint64 line; /* from 1 */
    char *text;
} SaLogFault;

typedef struct SaLogChannel {
    char *name;
    char *pid, *session; /* as in the log; NULL: no such column, or no value */
    guint rows;
    GArray **values; /* of double, one array a column of the table */
} SaLogChannel;

typedef struct SaLogTable {
    GStrv columns;
    guint n_columns;
    gboolean *numeric;   /* one a column */
    GPtrArray *channels; /* of SaLogChannel, in the order they appear */
    gboolean several_pids, several_sessions;
    GArray *faults; /* of SaLogFault, by line */
} SaLogTable;

/* Reads to the end. NULL and error only when no line could be used as a header or reading failed;
 * lines that are wrong become faults. Free with sa_log_table_free(). */
SaLogTable *sa_log_table_read(FILE *file, GError **error);
void sa_log_table_free(SaLogTable *table);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(SaLogTable, sa_log_table_free)
