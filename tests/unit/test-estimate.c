/* SPDX-FileCopyrightText: The spice-accel authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#include "core/estimate.h"

#define SECOND  ((gint64)G_USEC_PER_SEC)
#define FOREVER (1000 * SECOND)
#define NEAR    1e-6

/* Arrivals {time ms, bytes, waited ms}, and what the last n of them must give. */
typedef struct Arrival {
    gint64 at_ms;
    guint32 bytes;
    gint64 waited_ms;
} Arrival;

typedef struct RateCase {
    const char *name;
    Arrival arrivals[6];
    guint n_arrivals;
    guint n;
    gint64 horizon_ms, now_ms;
    double messages, bytes, mean; /* expected */
} RateCase;

static const RateCase rate_cases[] = {
    {"none", {{0}}, 0, 10, 1000, 0, 0, 0, 0},
    {"one is no rate", {{5, 100, 0}}, 1, 10, 1000, 5, 0, 0, 100},
    {"two", {{0, 999, 0}, {100, 500, 0}}, 2, 10, 1000, 100, 10, 5000, 749.5},
    {"the first only opens the span",
     {{0, 9000, 0}, {100, 10, 0}, {200, 10, 0}},
     3,
     3,
     1000,
     200,
     10,
     100,
     9020.0 / 3},
    {"only the last n",
     {{0, 1, 0}, {900, 50, 0}, {950, 60, 0}, {1000, 40, 0}},
     4,
     3,
     10000,
     1000,
     20,
     1000,
     50},
    {"n larger than there are", {{0, 1, 0}, {10, 1, 0}}, 2, 1000, 1000, 10, 100, 100, 1},
    {"older than the horizon",
     {{0, 1, 0}, {2000, 7, 0}, {2100, 7, 0}},
     3,
     3,
     1000,
     2100,
     10,
     70,
     5},
    {"exactly at the horizon", {{0, 1, 0}, {1000, 7, 0}}, 2, 2, 1000, 1000, 1, 7, 4},
    {"one left within the horizon", {{0, 1, 0}, {500, 7, 0}}, 2, 2, 400, 500, 0, 0, 4},
    {"all at once", {{7, 1, 0}, {7, 1, 0}, {7, 1, 0}}, 3, 3, 1000, 7, 0, 0, 1},
    {"a pause since does not count", {{0, 1, 0}, {100, 5, 0}}, 2, 2, 1000, 900, 10, 50, 3},
};

static void
test_rate(gconstpointer data)
{
    const RateCase *c = data;
    SaRate rate;

    sa_rate_init(&rate);
    for (guint i = 0; i < c->n_arrivals; i++)
        sa_rate_message(&rate, c->arrivals[i].bytes, 0, c->arrivals[i].at_ms * 1000);
    g_assert_cmpfloat_with_epsilon(
        sa_rate_messages(&rate, c->n, c->horizon_ms * 1000, c->now_ms * 1000), c->messages, NEAR);
    g_assert_cmpfloat_with_epsilon(
        sa_rate_bytes(&rate, c->n, c->horizon_ms * 1000, c->now_ms * 1000), c->bytes, NEAR);
    g_assert_cmpfloat_with_epsilon(sa_rate_mean_bytes(&rate, c->n), c->mean, NEAR);
}

/* The ring forgets the oldest: slow and large first, then SA_RATE_SAMPLES quick and small. */
static void
test_rate_ring(void)
{
    gint64 now = 0;
    SaRate rate;

    sa_rate_init(&rate);
    for (guint i = 0; i < 3 * SA_RATE_SAMPLES / 2; i++) {
        now += SECOND;
        sa_rate_message(&rate, 1000000, SECOND, now);
    }
    for (guint i = 0; i < SA_RATE_SAMPLES; i++) {
        now += 1000;
        sa_rate_message(&rate, 10, 0, now);
    }
    g_assert_cmpfloat_with_epsilon(sa_rate_messages(&rate, G_MAXUINT, FOREVER, now), 1000, NEAR);
    g_assert_cmpfloat_with_epsilon(sa_rate_bytes(&rate, G_MAXUINT, FOREVER, now), 10000, NEAR);
    g_assert_cmpfloat_with_epsilon(sa_rate_mean_bytes(&rate, G_MAXUINT), 10, NEAR);
    g_assert_true(sa_rate_busy(&rate, SA_RATE_SAMPLES, 0));
    g_assert_false(sa_rate_busy(&rate, SA_RATE_SAMPLES + 1, FOREVER));
}

typedef struct BusyCase {
    const char *name;
    gint64 waited_us[4];
    guint n;
    gint64 gap_us;
    gboolean busy;
} BusyCase;

static const BusyCase busy_cases[] = {
    {"no gaps", {0, 0, 0, 0}, 4, 0, TRUE},
    {"gap before the first does not lie between", {5000, 0, 0, 0}, 4, 1000, TRUE},
    {"gap within", {0, 0, 1001, 0}, 4, 1000, FALSE},
    {"gap allowed", {0, 0, 1000, 0}, 4, 1000, TRUE},
    {"gap before the last", {0, 0, 0, 1001}, 2, 1000, FALSE},
    {"gap before what is asked", {0, 1001, 0, 0}, 3, 1000, TRUE},
    {"longer than 32 bits", {0, 0, 0, (gint64)1 << 32}, 2, G_MAXUINT32 - 1, FALSE},
    {"negative is none", {0, 0, 0, -5}, 2, 0, TRUE},
    {"more than there are", {0, 0, 0, 0}, 5, 1000, FALSE},
    {"one says nothing", {0, 0, 0, 0}, 1, 1000, FALSE},
    {"none says nothing", {0, 0, 0, 0}, 0, 1000, FALSE},
};

static void
test_busy(gconstpointer data)
{
    const BusyCase *c = data;
    SaRate rate;

    sa_rate_init(&rate);
    for (guint i = 0; i < G_N_ELEMENTS(c->waited_us); i++)
        sa_rate_message(&rate, 1, c->waited_us[i], i);
    g_assert_cmpint(sa_rate_busy(&rate, c->n, c->gap_us), ==, c->busy);
}

static void
test_service(void)
{
    SaService service;

    sa_service_init(&service);
    g_assert_cmpfloat(sa_service_bytes_per_s(&service), ==, 0);
    g_assert_cmpfloat(sa_service_us_per_message(&service), ==, 0);
    g_assert_cmpint(sa_service_backlog_us(&service, 0), ==, 0);
    g_assert_cmpint(sa_service_backlog_us(&service, 1), ==, -1);

    /* 3000 bytes in 3 ms by two messages of 1 and 2 ms */
    sa_service_message(&service, 1000, 1000);
    sa_service_message(&service, 2000, 2000);
    g_assert_cmpfloat_with_epsilon(sa_service_bytes_per_s(&service), 1e6, NEAR);
    g_assert_cmpfloat_with_epsilon(sa_service_us_per_message(&service), 1500, 10);
    g_assert_cmpint(sa_service_backlog_us(&service, 500000), ==, 500000);
    g_assert_cmpint(sa_service_backlog_us(&service, 0), ==, 0);
    g_assert_cmpint(sa_service_backlog_us(&service, G_MAXUINT64), ==, G_MAXINT64);

    /* not a time */
    sa_service_message(&service, 1000000, -1);
    g_assert_cmpfloat_with_epsilon(sa_service_bytes_per_s(&service), 1e6, NEAR);
}

/* The sums are what is averaged: one large slow message weighs by its cost. */
static void
test_service_weights(void)
{
    SaService service;

    sa_service_init(&service);
    for (guint i = 0; i < 10; i++)
        sa_service_message(&service, 10, 10);
    sa_service_message(&service, 1000000, 10000);
    /* the mean of ratios would be 10 MB/s, ten slow ones and a fast one */
    g_assert_cmpfloat(sa_service_bytes_per_s(&service), >, 98e6);
}

/* A change of speed is followed within a few windows, not by the next message. */
static void
test_service_ages(void)
{
    SaService service;

    sa_service_init(&service);
    for (guint i = 0; i < 1000; i++)
        sa_service_message(&service, 1000, 1000);
    sa_service_message(&service, 1000, 3000);
    g_assert_cmpfloat(sa_service_us_per_message(&service), <, 1100);
    for (guint i = 0; i < 160; i++)
        sa_service_message(&service, 1000, 3000);
    g_assert_cmpfloat(sa_service_us_per_message(&service), >, 2750);
    g_assert_cmpfloat(sa_service_bytes_per_s(&service), <, 1e6 / 2.75);
}

static void
test_service_free(void)
{
    SaService service;

    sa_service_init(&service);
    sa_service_message(&service, 1000, 0);
    /* handled in no time: no rate to divide by */
    g_assert_cmpfloat(sa_service_bytes_per_s(&service), ==, 0);
    g_assert_cmpint(sa_service_backlog_us(&service, 10), ==, -1);
}

static void
test_round_trip(void)
{
    SaRoundTrip rt;

    sa_round_trip_init(&rt);
    g_assert_cmpint(rt.min_us, ==, 0);
    sa_round_trip_sample(&rt, 0);
    sa_round_trip_sample(&rt, -7);
    g_assert_cmpint(rt.min_us, ==, 0);
    g_assert_cmpuint(rt.samples, ==, 0);
    sa_round_trip_sample(&rt, 90);
    sa_round_trip_sample(&rt, 80);
    sa_round_trip_sample(&rt, 100);
    g_assert_cmpint(rt.min_us, ==, 80);
    g_assert_cmpint(rt.last_us, ==, 100);
    g_assert_cmpuint(rt.samples, ==, 3);
}

static void
add_case(const char *group, const char *name, gconstpointer data, GTestDataFunc func)
{
    g_autofree char *path = g_strdup_printf("/estimate/%s/%s", group, name);

    g_test_add_data_func(g_strdelimit(path, " ", '-'), data, func);
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    for (guint i = 0; i < G_N_ELEMENTS(rate_cases); i++)
        add_case("rate", rate_cases[i].name, &rate_cases[i], test_rate);
    for (guint i = 0; i < G_N_ELEMENTS(busy_cases); i++)
        add_case("busy", busy_cases[i].name, &busy_cases[i], test_busy);
    g_test_add_func("/estimate/rate/ring", test_rate_ring);
    g_test_add_func("/estimate/service", test_service);
    g_test_add_func("/estimate/service/weights", test_service_weights);
    g_test_add_func("/estimate/service/ages", test_service_ages);
    g_test_add_func("/estimate/service/free", test_service_free);
    g_test_add_func("/estimate/round-trip", test_round_trip);
    return g_test_run();
}
