/* SPDX-FileCopyrightText: The spice-accel authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#include <stdio.h>

#include "link-selftest.h"
#include "link-shaper.h"

#define MS G_GINT64_CONSTANT(1000000)

static guint failures;

static void
expect(gboolean ok, const char *name, gint64 got, gint64 want)
{
    if (ok)
        return;
    failures++;
    fprintf(stderr,
            "link: self-test: %s: got %" G_GINT64_FORMAT ", expected %" G_GINT64_FORMAT "\n", name,
            got, want);
}

static SaLinkShaper *
shaper(SaLinkConfig *config, const char *rate, double rtt, guint64 queue, double loss, guint32 seed,
       const char *step, const char *outage)
{
    char *steps[] = {(char *)step, NULL};
    char *outages[] = {(char *)outage, NULL};
    SaLinkShaperConfig sc = {0};

    if (!sa_link_config_init(config, rtt, rate, queue, loss, seed, steps, outages, NULL)) {
        expect(FALSE, "a good configuration is refused", 0, 1);
        sa_link_config_init(config, 0, "0", 0, 0, 0, NULL, NULL, NULL);
    }
    sc.delay_ns = (gint64)(config->rtt_ms * 1e6 / 2);
    sc.queue_max = config->queue[SA_LINK_DOWN];
    sc.loss = config->loss;
    sc.seed = seed;
    sc.rates = config->rates[SA_LINK_DOWN];
    return sa_link_shaper_new(&sc, 0);
}

/* When the last of @n packets of 1250 bytes, all arriving at @at, is delivered. */
static gint64
last_of(SaLinkShaper *s, gint64 at, guint n)
{
    static const guint8 bytes[1250];
    gint64 due = -1;
    guint i;

    for (i = 0; i < n; i++)
        sa_link_shaper_push(s, at, bytes, sizeof(bytes));
    while (sa_link_shaper_next(s) != SA_LINK_NEVER) {
        due = sa_link_shaper_next(s);
        if (sa_link_shaper_pop(s, due - 1))
            expect(FALSE, "a packet leaves before it is due", due - 1, due);
        g_free(sa_link_shaper_pop(s, due));
    }
    return due;
}

/* 1250 bytes are 10000 bits: 1 ms at 10 Mbit/s. */
static const struct {
    const char *name;
    const char *rate;
    double rtt;
    const char *step;
    const char *outage;
    gint64 at_ms;
    guint packets;
    double due_ms;
} timing[] = {
    {"one packet: service, then half the round trip", "10", 80, NULL, NULL, 0, 1, 41},
    {"ten packets are served one after the other", "10", 80, NULL, NULL, 5, 10, 55},
    {"unlimited: the delay alone", "0", 20, NULL, NULL, 3, 50, 13},
    {"nothing set: at once", "0", 0, NULL, NULL, 3, 50, 3},
    {"a step within a packet: 2.5 at 10 Mbit/s, the rest at 5", "10", 0, "0.0025:5", NULL, 0, 4,
     5.5},
    {"a step upwards", "5", 0, "0.003:20", NULL, 0, 4, 4.25},
    {"an outage stops service and loses no packet", "10", 0, NULL, "0.0015:0.1", 0, 3, 103},
    {"a packet that arrives during an outage", "10", 20, NULL, "0.010:0.040", 20, 1, 61},
    {"after an outage all is as before", "10", 20, NULL, "0.010:0.040", 100, 2, 112},
    {"a step that comes during an outage holds after it", "10", 0, "0.020:5", "0.010:0.040", 15, 2,
     54},
};

static void
check_queue(void)
{
    SaLinkConfig config;
    g_autoptr(SaLinkShaper) s = shaper(&config, "10", 0, 12500, 0, 1, NULL, NULL);
    static const guint8 bytes[1250];
    guint i, taken = 0;

    for (i = 0; i < 20; i++)
        taken += sa_link_shaper_push(s, 0, bytes, sizeof(bytes));
    expect(taken == 10, "a queue of ten packets takes ten", taken, 10);
    expect(sa_link_shaper_stats(s)->drop_queue == 10, "and drops the tail",
           (gint64)sa_link_shaper_stats(s)->drop_queue, 10);
    taken = 0;
    for (i = 0; i < 5; i++)
        taken += sa_link_shaper_push(s, 3 * MS, bytes, sizeof(bytes));
    expect(taken == 3, "after three are served there is room for three", taken, 3);
    expect(last_of(s, 3 * MS, 0) == 13 * MS, "they keep the link busy", 0, 13 * MS);
    sa_link_config_clear(&config);
}

static gint64
losses(guint32 seed, guint8 *pattern, guint n)
{
    SaLinkConfig config;
    g_autoptr(SaLinkShaper) s = shaper(&config, "0", 0, 0, 2, seed, NULL, NULL);
    static const guint8 bytes[100];
    gint64 lost;
    guint i;

    for (i = 0; i < n; i++) {
        pattern[i] = !sa_link_shaper_push(s, i, bytes, sizeof(bytes));
        g_free(sa_link_shaper_pop(s, i));
    }
    lost = (gint64)sa_link_shaper_stats(s)->drop_loss;
    sa_link_config_clear(&config);
    return lost;
}

static void
check_loss(void)
{
    static guint8 a[20000], b[20000], c[20000];
    gint64 lost = losses(7, a, sizeof(a));

    losses(7, b, sizeof(b));
    losses(8, c, sizeof(c));
    expect(lost > 300 && lost < 500, "2 per cent of 20000 packets", lost, 400);
    expect(memcmp(a, b, sizeof(a)) == 0, "one seed, one pattern", 0, 1);
    expect(memcmp(a, c, sizeof(a)) != 0, "another seed, another pattern", 0, 1);
}

static void
check_refusals(void)
{
    static const struct {
        double rtt;
        const char *rate;
        guint64 queue;
        double loss;
        const char *step, *outage;
    } table[] = {
        {-1, "10", 0, 0, NULL, NULL},    {0, "", 0, 0, NULL, NULL},
        {0, "ten", 0, 0, NULL, NULL},    {0, "10:", 0, 0, NULL, NULL},
        {0, "10:2:3", 0, 0, NULL, NULL}, {0, "-1", 0, 0, NULL, NULL},
        {0, "10", 100, 0, NULL, NULL},   {0, "10", 0, 100, NULL, NULL},
        {0, "10", 0, 0, "5", NULL},      {0, "10", 0, 0, NULL, "5"},
        {0, "10", 0, 0, NULL, "5:0"},    {0, "10", 0, 0, "x:1", NULL},
        {0, "nan", 0, 0, NULL, NULL},    {0, "1e99", 0, 0, NULL, NULL},
    };
    guint i;

    for (i = 0; i < G_N_ELEMENTS(table); i++) {
        char *steps[] = {(char *)table[i].step, NULL};
        char *outages[] = {(char *)table[i].outage, NULL};
        g_autoptr(GError) error = NULL;
        SaLinkConfig config;

        if (sa_link_config_init(&config, table[i].rtt, table[i].rate, table[i].queue, table[i].loss,
                                1, steps, outages, &error)) {
            expect(FALSE, "a bad configuration is taken", i, -1);
            sa_link_config_clear(&config);
        }
    }
}

guint
sa_link_selftest_model(void)
{
    guint i;

    failures = 0;
    for (i = 0; i < G_N_ELEMENTS(timing); i++) {
        SaLinkConfig config;
        g_autoptr(SaLinkShaper) s = shaper(&config, timing[i].rate, timing[i].rtt, 1 << 20, 0, 1,
                                           timing[i].step, timing[i].outage);
        gint64 want = (gint64)(timing[i].due_ms * MS + 0.5);
        gint64 got = last_of(s, timing[i].at_ms * MS, timing[i].packets);

        /* A nanosecond a packet of rounding. */
        expect(ABS(got - want) <= (gint64)timing[i].packets + 1, timing[i].name, got, want);
        sa_link_config_clear(&config);
    }
    check_queue();
    check_loss();
    check_refusals();
    return failures;
}
