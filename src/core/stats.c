/* SPDX-FileCopyrightText: The spice-accel authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */
/* The table of columns; everything else here walks it. Its first rows are in the order that logs
 * promise, the rest follow the struct.
 */
#include "core/stats.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef enum ColumnKind {
    NUMBER,  /* double */
    TEXT,    /* char[], not longer than the channel's */
    POINTER, /* const char * */
} ColumnKind;

typedef struct Column {
    const char *name;
    gsize offset;
    ColumnKind kind;
    const char *format; /* of a NUMBER: one double */
} Column;

#define FIELD(name) #name, offsetof(SaStats, name)
#define COUNT       "%.0f"
#define SHARE       "%.1f"
#define FINE        "%.3f"

static const Column columns[] = {
    {FIELD(time_s), NUMBER, FINE},
    {FIELD(channel), TEXT, NULL},
    {FIELD(window), NUMBER, COUNT},
    {FIELD(in_flight), NUMBER, COUNT},
    {FIELD(at_limit_pct), NUMBER, SHARE},
    {FIELD(stalls), NUMBER, COUNT},
    {FIELD(holds), NUMBER, COUNT},
    {FIELD(hold_ms), NUMBER, FINE},
    {FIELD(messages), NUMBER, COUNT},
    {FIELD(bytes), NUMBER, COUNT},
    {FIELD(mean_bytes), NUMBER, SHARE},
    {FIELD(rtt_ms), NUMBER, FINE},
    {FIELD(rate_mbit), NUMBER, FINE},
    {FIELD(backlog_ms), NUMBER, FINE},
    {FIELD(decode_us), NUMBER, SHARE},
    {FIELD(verdict), POINTER, NULL},
    {FIELD(pid), NUMBER, COUNT},
    {FIELD(session), NUMBER, COUNT},
    {FIELD(service_us), NUMBER, SHARE},
    {FIELD(acks), NUMBER, COUNT},
    {FIELD(ignored_acks), NUMBER, COUNT},
    {FIELD(generation), NUMBER, COUNT},
    {FIELD(credit), NUMBER, COUNT},
    {FIELD(peak_in_flight), NUMBER, COUNT},
    {FIELD(delivery_mbit), NUMBER, FINE},
    {FIELD(unread_bytes), NUMBER, COUNT},
    {FIELD(streams), NUMBER, COUNT},
    {FIELD(streams_created), NUMBER, COUNT},
    {FIELD(streams_destroyed), NUMBER, COUNT},
    {FIELD(stream_messages), NUMBER, COUNT},
    {FIELD(stream_bytes), NUMBER, COUNT},
    {FIELD(draws), NUMBER, COUNT},
    {FIELD(tls), NUMBER, COUNT},
};

/* Digits of the largest double in "%.3f", sign and end. */
#define NUMBER_SIZE 320

void
sa_stats_init(SaStats *stats)
{
    memset(stats, 0, sizeof *stats);
    for (guint i = 0; i < G_N_ELEMENTS(columns); i++) {
        if (columns[i].kind == NUMBER)
            *(double *)((char *)stats + columns[i].offset) = NAN;
    }
}

guint
sa_stats_n_columns(void)
{
    return G_N_ELEMENTS(columns);
}

const char *
sa_stats_column(guint index)
{
    return index < G_N_ELEMENTS(columns) ? columns[index].name : NULL;
}

static const Column *
find_column(const char *name)
{
    for (guint i = 0; i < G_N_ELEMENTS(columns); i++) {
        if (strcmp(columns[i].name, name) == 0)
            return &columns[i];
    }
    return NULL;
}

double
sa_stats_number(const SaStats *stats, const char *column)
{
    const Column *c = find_column(column);

    return c && c->kind == NUMBER ? *(const double *)((const char *)stats + c->offset) : NAN;
}

const char *
sa_stats_text(const SaStats *stats, const char *column)
{
    const Column *c = find_column(column);
    const char *field;

    if (!c || c->kind == NUMBER)
        return NULL;
    field = (const char *)stats + c->offset;
    if (c->kind == POINTER)
        return *(const char *const *)field;
    return field[0] ? field : NULL;
}

void
sa_stats_header(GString *out)
{
    for (guint i = 0; i < G_N_ELEMENTS(columns); i++) {
        if (i > 0)
            g_string_append_c(out, ',');
        g_string_append(out, columns[i].name);
    }
}

static void
append_text(GString *out, const char *text, gsize len)
{
    gboolean quote = FALSE;

    for (gsize i = 0; i < len; i++)
        quote = quote || strchr(",\"\r\n", text[i]);
    if (!quote) {
        g_string_append_len(out, text, (gssize)len);
        return;
    }
    g_string_append_c(out, '"');
    for (gsize i = 0; i < len; i++) {
        if (text[i] == '"')
            g_string_append_c(out, '"');
        g_string_append_c(out, text[i]);
    }
    g_string_append_c(out, '"');
}

static void
append_number(GString *out, const char *format, double value)
{
    char text[NUMBER_SIZE];

    if (isfinite(value))
        g_string_append(out, g_ascii_formatd(text, sizeof text, format, value));
}

void
sa_stats_row(const SaStats *stats, GString *out)
{
    for (guint i = 0; i < G_N_ELEMENTS(columns); i++) {
        const char *field = (const char *)stats + columns[i].offset;
        const char *text;

        if (i > 0)
            g_string_append_c(out, ',');
        switch (columns[i].kind) {
        case NUMBER:
            append_number(out, columns[i].format, *(const double *)field);
            break;
        case TEXT:
            append_text(out, field, strnlen(field, sizeof stats->channel));
            break;
        case POINTER:
            text = *(const char *const *)field;
            if (text)
                append_text(out, text, strlen(text));
            break;
        }
    }
}

static int
compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

double
sa_percentile(double *values, gsize n, double p)
{
    double rank;
    gsize below;

    if (n == 0 || isnan(p))
        return NAN;
    qsort(values, n, sizeof *values, compare);
    rank = CLAMP(p, 0, 100) / 100 * (double)(n - 1);
    below = (gsize)rank;
    if (below + 1 >= n)
        return values[n - 1];
    return values[below] + (rank - (double)below) * (values[below + 1] - values[below]);
}
