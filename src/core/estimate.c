/* SPDX-FileCopyrightText: The spice-accel authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */
/* SaRate is a ring of the last arrivals and is asked over any number of them; between n arrivals
 * lie n - 1 intervals, so the first one opens the span and its bytes do not count. SaService is a
 * ratio of aged sums, not a mean of ratios: a hundred small messages and one large one then weigh
 * by what they cost.
 */
#include "core/estimate.h"

#include <string.h>

/* A message's weight after each later one. 1/64: the last three windows of W = 20 dominate. */
#define SERVICE_AGE (1.0 - 1.0 / 64)

void
sa_rate_init(SaRate *rate)
{
    memset(rate, 0, sizeof *rate);
}

/* Index into the ring of the age-th newest message, 0 the newest. */
static guint
at(const SaRate *rate, guint age)
{
    return (rate->head + SA_RATE_SAMPLES - 1 - age) % SA_RATE_SAMPLES;
}

void
sa_rate_message(SaRate *rate, guint32 bytes, gint64 waited_us, gint64 now)
{
    rate->time[rate->head] = now;
    rate->bytes[rate->head] = bytes;
    rate->gap[rate->head] = (guint32)CLAMP(waited_us, 0, (gint64)G_MAXUINT32);
    rate->head = (rate->head + 1) % SA_RATE_SAMPLES;
    rate->len = MIN(rate->len + 1, SA_RATE_SAMPLES);
}

/* How many of the last n messages are not older than the horizon. */
static guint
recent(const SaRate *rate, guint n, gint64 horizon_us, gint64 now)
{
    guint k = 0;

    n = MIN(n, rate->len);
    while (k < n && now - rate->time[at(rate, k)] <= horizon_us)
        k++;
    return k;
}

static double
per_second(const SaRate *rate, guint n, double amount)
{
    gint64 span = rate->time[at(rate, 0)] - rate->time[at(rate, n - 1)];

    return span > 0 ? amount * G_USEC_PER_SEC / (double)span : 0;
}

double
sa_rate_messages(const SaRate *rate, guint n, gint64 horizon_us, gint64 now)
{
    n = recent(rate, n, horizon_us, now);
    return n < 2 ? 0 : per_second(rate, n, n - 1);
}

double
sa_rate_bytes(const SaRate *rate, guint n, gint64 horizon_us, gint64 now)
{
    double bytes = 0;

    n = recent(rate, n, horizon_us, now);
    if (n < 2)
        return 0;
    for (guint age = 0; age < n - 1; age++)
        bytes += rate->bytes[at(rate, age)];
    return per_second(rate, n, bytes);
}

double
sa_rate_mean_bytes(const SaRate *rate, guint n)
{
    double bytes = 0;

    n = MIN(n, rate->len);
    for (guint age = 0; age < n; age++)
        bytes += rate->bytes[at(rate, age)];
    return n > 0 ? bytes / n : 0;
}

gboolean
sa_rate_busy(const SaRate *rate, guint n, gint64 gap_us)
{
    if (n < 2 || n > rate->len)
        return FALSE;
    for (guint age = 0; age < n - 1; age++) {
        if (rate->gap[at(rate, age)] > gap_us)
            return FALSE;
    }
    return TRUE;
}

void
sa_service_init(SaService *service)
{
    memset(service, 0, sizeof *service);
}

void
sa_service_message(SaService *service, guint32 bytes, gint64 busy_us)
{
    if (busy_us < 0)
        return;
    service->bytes = service->bytes * SERVICE_AGE + bytes;
    service->messages = service->messages * SERVICE_AGE + 1;
    service->busy_us = service->busy_us * SERVICE_AGE + (double)busy_us;
}

double
sa_service_bytes_per_s(const SaService *service)
{
    return service->busy_us > 0 ? service->bytes * G_USEC_PER_SEC / service->busy_us : 0;
}

double
sa_service_us_per_message(const SaService *service)
{
    return service->messages > 0 ? service->busy_us / service->messages : 0;
}

gint64
sa_service_backlog_us(const SaService *service, guint64 bytes)
{
    double rate = sa_service_bytes_per_s(service);
    double us;

    if (bytes == 0)
        return 0;
    if (rate <= 0)
        return -1;
    us = (double)bytes * G_USEC_PER_SEC / rate;
    return us < (double)G_MAXINT64 ? (gint64)us : G_MAXINT64;
}

void
sa_round_trip_init(SaRoundTrip *rt)
{
    memset(rt, 0, sizeof *rt);
}

void
sa_round_trip_sample(SaRoundTrip *rt, gint64 sample_us)
{
    if (sample_us <= 0)
        return;
    rt->last_us = sample_us;
    rt->min_us = rt->samples == 0 ? sample_us : MIN(rt->min_us, sample_us);
    rt->samples++;
}
