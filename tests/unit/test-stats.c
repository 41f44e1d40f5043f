/* SPDX-FileCopyrightText: The spice-accel authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#include "core/stats.h"

#include <locale.h>
#include <math.h>
#include <string.h>

#define PROMISED                                                                                   \
    "time_s,channel,window,in_flight,at_limit_pct,stalls,holds,hold_ms,messages,bytes,mean_bytes," \
    "rtt_ms,rate_mbit,backlog_ms,decode_us,verdict"
#define BESIDE                                                                                     \
    "pid,session,service_us,acks,ignored_acks,generation,credit,peak_in_flight,delivery_mbit,"     \
    "unread_bytes,"                                                                                \
    "streams,streams_created,streams_destroyed,stream_messages,stream_bytes,draws,tls"
#define N_COLUMNS 33

static void
test_header(void)
{
    g_autoptr(GString) out = g_string_new("x");
    g_autoptr(GString) names = g_string_new("x");

    sa_stats_header(out);
    g_assert_cmpstr(out->str, ==, "x" PROMISED "," BESIDE);
    g_assert_cmpuint(sa_stats_n_columns(), ==, N_COLUMNS);
    for (guint i = 0; i < sa_stats_n_columns(); i++)
        g_string_append_printf(names, "%s%s", i > 0 ? "," : "", sa_stats_column(i));
    g_assert_cmpstr(names->str, ==, out->str);
    g_assert_null(sa_stats_column(N_COLUMNS));
    g_assert_null(sa_stats_column(G_MAXUINT));
}

static char *
row(const SaStats *stats)
{
    GString *out = g_string_new(NULL);

    sa_stats_row(stats, out);
    return g_string_free(out, FALSE);
}

/* Absent is nothing, never 0. */
static void
test_absent(void)
{
    g_autofree char *text = NULL;
    SaStats stats;

    memset(&stats, 0x5a, sizeof stats);
    sa_stats_init(&stats);
    text = row(&stats);
    g_assert_cmpuint(strlen(text), ==, N_COLUMNS - 1);
    g_assert_cmpuint(strspn(text, ","), ==, N_COLUMNS - 1);
}

static void
fill(SaStats *stats)
{
    sa_stats_init(stats);
    stats->time_s = 1700000000.1234;
    g_strlcpy(stats->channel, "display:0", sizeof stats->channel);
    stats->window = 40;
    stats->in_flight = 81;
    stats->at_limit_pct = 12.34;
    stats->stalls = 3;
    stats->holds = 0;
    stats->hold_ms = 1.5;
    stats->messages = 1234567;
    stats->bytes = 9876543210;
    stats->mean_bytes = 8000.06;
    stats->rtt_ms = 80.0125;
    stats->rate_mbit = 9.66;
    stats->backlog_ms = 0;
    stats->decode_us = 1234.5;
    stats->verdict = "link-bound";
    stats->pid = 4194304;
    stats->session = 1;
    stats->service_us = 2000.25;
    stats->acks = 30;
    stats->ignored_acks = 1;
    stats->generation = 4294967295;
    stats->credit = 121;
    stats->peak_in_flight = 80;
    stats->delivery_mbit = 9.5;
    stats->unread_bytes = 65536;
    stats->streams = 2;
    stats->streams_created = 5;
    stats->streams_destroyed = 4;
    stats->stream_messages = 60;
    stats->stream_bytes = 120000;
    stats->draws = 7;
    stats->tls = 1;
}

#define FILLED                                                                                     \
    "1700000000.123,display:0,40,81,12.3,3,0,1.500,1234567,9876543210,8000.1,80.013,9.660,0.000,"  \
    "1234.5,link-bound,4194304,1,2000.2,30,1,4294967295,121,80,9.500,65536,2,5,4,60,120000,7,1"

static void
test_row(void)
{
    g_autofree char *text = NULL;
    SaStats stats;

    fill(&stats);
    text = row(&stats);
    g_assert_cmpstr(text, ==, FILLED);
}

/* Every field has its own column: fill one at a time. */
static void
test_one_column_each(void)
{
    gsize n_doubles = 0;

    for (gsize at = 0; at + sizeof(double) <= sizeof(SaStats); at += sizeof(double)) {
        g_autofree char *text = NULL;
        g_auto(GStrv) cells = NULL;
        guint filled = 0;
        SaStats stats;

        if (at == G_STRUCT_OFFSET(SaStats, channel) ||
            at == G_STRUCT_OFFSET(SaStats, channel) + sizeof(double) ||
            at == G_STRUCT_OFFSET(SaStats, verdict))
            continue;
        sa_stats_init(&stats);
        *(double *)((char *)&stats + at) = 5;
        text = row(&stats);
        cells = g_strsplit(text, ",", -1);
        for (guint i = 0; cells[i]; i++)
            filled += cells[i][0] == '5';
        g_assert_cmpuint(filled, ==, 1);
        n_doubles++;
    }
    g_assert_cmpuint(n_doubles, ==, N_COLUMNS - 2);
}

typedef struct Text {
    const char *name;
    const char *verdict;
    const char *cell;
} Text;

static const Text texts[] = {
    {"plain", "idle", "idle"},
    {"empty", "", ""},
    {"comma", "a,b", "\"a,b\""},
    {"quote", "a\"b", "\"a\"\"b\""},
    {"only a quote", "\"", "\"\"\"\""},
    {"line end", "a\nb", "\"a\nb\""},
    {"carriage return", "a\rb", "\"a\rb\""},
};

static void
test_text(gconstpointer data)
{
    const Text *c = data;
    g_autofree char *text = NULL;
    g_autofree char *expected = NULL;
    SaStats stats;

    sa_stats_init(&stats);
    stats.verdict = c->verdict;
    stats.time_s = 1;
    stats.pid = 2;
    text = row(&stats);
    expected = g_strdup_printf("1.000,,,,,,,,,,,,,,,%s,2,,,,,,,,,,,,,,,,", c->cell);
    g_assert_cmpstr(text, ==, expected);
}

/* A channel name that fills its field has no end, and ends there. */
static void
test_full_channel(void)
{
    g_autofree char *text = NULL;
    SaStats stats;

    sa_stats_init(&stats);
    memset(stats.channel, 'c', sizeof stats.channel);
    stats.window = 20;
    text = row(&stats);
    g_assert_true(g_str_has_prefix(text, ",cccccccccccccccc,20,"));
}

static void
test_odd_numbers(void)
{
    g_autofree char *infinite = NULL;
    g_autofree char *huge = NULL;
    SaStats stats;

    sa_stats_init(&stats);
    stats.time_s = INFINITY;
    stats.window = -INFINITY;
    infinite = row(&stats);
    g_assert_cmpuint(strspn(infinite, ","), ==, strlen(infinite));
    stats.time_s = -1e308;
    huge = row(&stats);
    g_assert_cmpuint(strcspn(huge, ","), ==, 1 + 309 + 4);
    g_assert_cmpuint(strlen(huge), ==, 1 + 309 + 4 + N_COLUMNS - 1);
}

static void
test_locale(void)
{
    static const char *const comma_locales[] = {"de_DE.UTF-8", "fr_FR.UTF-8", "cs_CZ.UTF-8",
                                                "ru_RU.UTF-8", "de_DE"};
    const char *set = NULL;
    g_autofree char *text = NULL;
    SaStats stats;

    for (guint i = 0; !set && i < G_N_ELEMENTS(comma_locales); i++)
        set = setlocale(LC_NUMERIC, comma_locales[i]);
    if (!set) {
        g_test_skip("no locale with a decimal comma is installed");
        return;
    }
    fill(&stats);
    text = row(&stats);
    setlocale(LC_NUMERIC, "C");
    g_assert_cmpstr(text, ==, FILLED);
}

typedef struct Percentile {
    const char *name;
    double values[5];
    gsize n;
    double p, expected;
} Percentile;

static const Percentile percentiles[] = {
    {"one", {7}, 1, 95, 7},
    {"median of odd", {30, 10, 20}, 3, 50, 20},
    {"median of even", {40, 10, 30, 20}, 4, 50, 25},
    {"least", {3, 1, 2}, 3, 0, 1},
    {"largest", {3, 1, 2}, 3, 100, 3},
    {"between ranks", {50, 10, 40, 20, 30}, 5, 95, 48},
    {"first quarter", {1, 2, 3, 4}, 4, 25, 1.75},
    {"below 0 is least", {3, 1, 2}, 3, -5, 1},
    {"above 100 is largest", {3, 1, 2}, 3, 101, 3},
    {"equal values", {4, 4, 4, 4}, 4, 73, 4},
    {"negative values", {-1, -3, 0}, 3, 50, -1},
};

static void
test_percentile(gconstpointer data)
{
    const Percentile *c = data;
    double values[5];

    memcpy(values, c->values, sizeof values);
    g_assert_cmpfloat_with_epsilon(sa_percentile(values, c->n, c->p), c->expected, 1e-9);
}

static void
test_percentile_none(void)
{
    double value = 1;

    g_assert_true(isnan(sa_percentile(NULL, 0, 50)));
    g_assert_true(isnan(sa_percentile(&value, 1, NAN)));
}

static void
add_case(const char *group, const char *name, gconstpointer data, GTestDataFunc func)
{
    g_autofree char *path = g_strdup_printf("/stats/%s/%s", group, name);

    g_test_add_data_func(g_strdelimit(path, " ", '-'), data, func);
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/stats/header", test_header);
    g_test_add_func("/stats/absent", test_absent);
    g_test_add_func("/stats/row", test_row);
    g_test_add_func("/stats/one-column-each", test_one_column_each);
    for (guint i = 0; i < G_N_ELEMENTS(texts); i++)
        add_case("text", texts[i].name, &texts[i], test_text);
    g_test_add_func("/stats/full-channel", test_full_channel);
    g_test_add_func("/stats/odd-numbers", test_odd_numbers);
    g_test_add_func("/stats/locale", test_locale);
    for (guint i = 0; i < G_N_ELEMENTS(percentiles); i++)
        add_case("percentile", percentiles[i].name, &percentiles[i], test_percentile);
    g_test_add_func("/stats/percentile/none", test_percentile_none);
    return g_test_run();
}
