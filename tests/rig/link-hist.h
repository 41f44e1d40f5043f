/* SPDX-FileCopyrightText: The spice-accel authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <glib.h>

/* A histogram of durations in nanoseconds: logarithmic, 32 buckets to a factor of two, so that a
 * percentile is right within 3 %. The maximum is exact. Fixed size, no allocation, any number of
 * samples. */

#define SA_LINK_HIST_SUB     32
#define SA_LINK_HIST_OCTAVES 40

typedef struct {
    guint64 count;
    gint64 max_ns;
    guint64 buckets[SA_LINK_HIST_SUB * SA_LINK_HIST_OCTAVES];
} SaLinkHist;

/* Negative values count as 0. */
void sa_link_hist_add(SaLinkHist *hist, gint64 ns);

/* The value below which @fraction (0..1) of the samples lie, in nanoseconds; 0 without samples. */
gint64 sa_link_hist_quantile(const SaLinkHist *hist, double fraction);

/* Appends {"p50":..,"p95":..,"max":..} in milliseconds, or null without samples. */
void sa_link_hist_json(const SaLinkHist *hist, GString *out);
