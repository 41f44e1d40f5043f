/* SPDX-FileCopyrightText: The spice-accel authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */
/* One snapshot of one channel's figures, and percentiles over columns of figures.
 *
 * Every report (CSV, live statistics, overlay) prints this struct through the one table of
 * columns below, so that a figure has one name, one unit and one place. Absent values are NAN
 * (doubles) or an empty string, and print as nothing, never as 0.
 */
#pragma once

#include <glib.h>

typedef struct SaStats {
    double time_s;       /* UNIX time of the first row + time since, s */
    char channel[16];    /* "display:0", "cursor:0" */
    double window;       /* W, messages */
    double in_flight;    /* upper bound of messages sent and not yet read, at the interval's end */
    double at_limit_pct; /* share of the interval with all credit used, % */
    double stalls;       /* times all credit was used, in the interval */
    double holds;        /* ACKs held, in the interval; absent without a pacer */
    double hold_ms;      /* time ACKs were held, in the interval; absent without a pacer */
    double messages;     /* read whole, in the interval */
    double bytes;        /* of them, headers included */
    double mean_bytes;   /* bytes / messages */
    double rtt_ms;       /* least end-to-end round trip of the session */
    double rate_mbit;    /* bytes * 8 / interval / 1e6 */
    double backlog_ms;   /* unread bytes over the service rate */
    double decode_us;    /* decoding one message, mean over the interval */
    const char *verdict; /* one word, static; NULL: none */
    /* beside them */
    double pid;
    double session;      /* number of the session in this process, from 1 */
    double service_us;   /* handling one message, main-loop turns included, mean */
    double acks;         /* written, in the interval */
    double ignored_acks; /* written before ACK_SYNC, in the interval */
    double generation;
    double credit;         /* messages the server may have sent since SET_ACK */
    double peak_in_flight; /* highest in_flight since the connection's start */
    double delivery_mbit; /* rate at which the last window of messages came; absent unless they came
                           * without a gap, so that it is the path's rate and not the server's */
    double unread_bytes;  /* in the socket at the end of the interval */
    double streams;       /* open video streams at the end of the interval */
    double streams_created, streams_destroyed; /* in the interval */
    double stream_messages, stream_bytes;      /* STREAM_DATA, in the interval */
    double draws;                              /* draw and copy messages, in the interval */
    double tls;                                /* 1 or 0 */
} SaStats;

/* All numbers NAN, strings empty. */
void sa_stats_init(SaStats *stats);

guint sa_stats_n_columns(void);
/* Static name of the index-th column, as in the CSV header; NULL past the end. */
const char *sa_stats_column(guint index);
/* A column of these figures by its name: NAN / NULL when absent, of the other kind, or unknown. */
double sa_stats_number(const SaStats *stats, const char *column);
const char *sa_stats_text(const SaStats *stats, const char *column);
/* The CSV header line / one row, without a line end. Appends to out. */
void sa_stats_header(GString *out);
void sa_stats_row(const SaStats *stats, GString *out);

/* The p-th percentile (0..100) of n values by linear interpolation between the closest ranks;
 * sorts values in place. NAN when n is 0. NAN values must not be in there. */
double sa_percentile(double *values, gsize n, double p);
