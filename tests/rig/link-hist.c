/* SPDX-FileCopyrightText: The spice-accel authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#include "link-hist.h"

/* Values below SUB fall in linear buckets of one nanosecond; above, the octave is the position of
 * the highest bit and the next five bits select the bucket within it. */
static guint
bucket_of(guint64 value)
{
    guint shift;
    guint index;

    if (value < SA_LINK_HIST_SUB)
        return (guint)value;
    shift = 63 - (guint)__builtin_clzll(value) - 5;
    index = (shift + 1) * SA_LINK_HIST_SUB + (guint)((value >> shift) & (SA_LINK_HIST_SUB - 1));
    return MIN(index, SA_LINK_HIST_SUB * SA_LINK_HIST_OCTAVES - 1);
}

static guint64
middle_of(guint bucket)
{
    guint shift;
    guint64 low;

    if (bucket < SA_LINK_HIST_SUB)
        return bucket;
    shift = bucket / SA_LINK_HIST_SUB - 1;
    low = ((guint64)SA_LINK_HIST_SUB + bucket % SA_LINK_HIST_SUB) << shift;
    return low + (G_GUINT64_CONSTANT(1) << shift) / 2;
}

void
sa_link_hist_add(SaLinkHist *hist, gint64 ns)
{
    ns = MAX(ns, 0);
    hist->count++;
    hist->max_ns = MAX(hist->max_ns, ns);
    hist->buckets[bucket_of((guint64)ns)]++;
}

gint64
sa_link_hist_quantile(const SaLinkHist *hist, double fraction)
{
    guint64 rank = (guint64)(fraction * (double)hist->count);
    guint64 seen = 0;
    guint i;

    for (i = 0; i < G_N_ELEMENTS(hist->buckets); i++) {
        seen += hist->buckets[i];
        if (seen > rank)
            return MIN((gint64)middle_of(i), hist->max_ns);
    }
    return hist->max_ns;
}

void
sa_link_hist_json(const SaLinkHist *hist, GString *out)
{
    if (!hist->count) {
        g_string_append(out, "null");
        return;
    }
    g_string_append_printf(out, "{\"p50\":%.3f,\"p95\":%.3f,\"max\":%.3f}",
                           (double)sa_link_hist_quantile(hist, 0.5) / 1e6,
                           (double)sa_link_hist_quantile(hist, 0.95) / 1e6,
                           (double)hist->max_ns / 1e6);
}
