/* SPDX-FileCopyrightText: The spice-accel authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#include "client/options.h"

#include <string.h>

typedef struct {
    const char *name, *text;
    gboolean disabled, help;
    const char *log;
    guint warnings;
    const char *named; /* what the first warning must name */
    gboolean no_pace;
    guint latency; /* 0: the default, 100 */
} Case;

static const Case cases[] = {
    {"unset", NULL, FALSE, FALSE, NULL, 0, NULL},
    {"empty", "", FALSE, FALSE, NULL, 0, NULL},
    {"disabled", "0", TRUE, FALSE, NULL, 0, NULL},
    {"log", "log=/x/y.csv", FALSE, FALSE, "/x/y.csv", 0, NULL},
    {"help", "help", FALSE, TRUE, NULL, 0, NULL},
    {"help-off", "help=0", FALSE, FALSE, NULL, 0, NULL},
    {"two", "help=1,log=a", FALSE, TRUE, "a", 0, NULL},
    {"last-wins", "log=a,log=b", FALSE, FALSE, "b", 0, NULL},
    {"switched-off", "log=a,log=0", FALSE, FALSE, NULL, 0, NULL},
    {"comma-in-value", "log=a\\,b,help", FALSE, TRUE, "a,b", 0, NULL},
    {"backslash-in-value", "log=a\\\\,help", FALSE, TRUE, "a\\", 0, NULL},
    {"other-backslash", "log=a\\b", FALSE, FALSE, "a\\b", 0, NULL},
    {"backslash-at-end", "log=a\\", FALSE, FALSE, "a\\", 0, NULL},
    {"equals-in-value", "log=a=b", FALSE, FALSE, "a=b", 0, NULL},
    {"empty-items", ",,help,", FALSE, TRUE, NULL, 0, NULL},
    {"unknown-key", "lgo=a,help", FALSE, TRUE, NULL, 1, "lgo"},
    {"unknown-keeps-the-rest", "x,log=a,y=1", FALSE, FALSE, "a", 2, "'x'"},
    {"wrong-flag", "help=maybe,log=a", FALSE, FALSE, "a", 1, "help=maybe"},
    {"log-without-file", "log", FALSE, FALSE, NULL, 1, "log=FILE"},
    {"no-key", "=a,help", FALSE, TRUE, NULL, 1, "''"},
    {"zero-in-a-list", "0,help", TRUE, TRUE, NULL, 0, NULL},
    {"zero-after-others", "log=a,0", TRUE, FALSE, "a", 0, NULL},
    {"zero-with-blanks", " 0 ", TRUE, FALSE, NULL, 0, NULL},
    {"zero-with-a-value", "0=1", FALSE, FALSE, NULL, 1, "'0'"},
    {"not-quite-zero", "00", FALSE, FALSE, NULL, 1, "'00'"},
    {"long", "x23456789-123456789-123456789-123456789-123456789-123456789-123456789", FALSE, FALSE,
     NULL, 1, "123456789-...'"},
    {"pace-off", "pace=0", .no_pace = TRUE},
    {"pace-on-again", "pace=0,pace", .no_pace = FALSE},
    {"latency", "latency=250", .latency = 250},
    {"latency-not-a-number", "latency=fast", .warnings = 1, .named = "latency=fast"},
    {"latency-empty", "latency=", .warnings = 1, .named = "latency="},
    {"latency-without-value", "latency", .warnings = 1, .named = "whole milliseconds"},
    {"latency-negative", "latency=-1", .warnings = 1, .named = "latency=-1"},
    {"latency-too-long", "latency=3600001", .warnings = 1, .named = "3600000"},
    {"latency-wrong-keeps-the-default", "latency=20,latency=x", .latency = 20, .warnings = 1,
     .named = "latency=x"},
    {"control-characters", "\001\n", FALSE, FALSE, NULL, 1, "\\001"},
};

static void
collect(const char *text, gpointer data)
{
    g_ptr_array_add(data, g_strdup(text));
}

static void
check(gconstpointer data)
{
    const Case *c = data;
    g_autoptr(GPtrArray) warnings = g_ptr_array_new_with_free_func(g_free);
    SaOptions options;

    sa_options_parse(&options, c->text, collect, warnings);
    g_assert_cmpint(options.disabled, ==, c->disabled);
    g_assert_cmpint(options.help, ==, c->help);
    g_assert_cmpstr(options.log, ==, c->log);
    if (!c->disabled) {
        g_assert_cmpint(options.pace, ==, !c->no_pace);
        g_assert_cmpuint(options.latency_ms, ==, c->latency != 0 ? c->latency : 100);
    }
    g_assert_cmpuint(warnings->len, ==, c->warnings);
    if (c->named != NULL) {
        const char *first = g_ptr_array_index(warnings, 0);

        g_assert_nonnull(strstr(first, c->named));
        g_assert_null(strchr(first, '\n'));
    }
    sa_options_clear(&options);
}

static void
unknown_names_all_keys(void)
{
    g_autoptr(GPtrArray) warnings = g_ptr_array_new_with_free_func(g_free);
    SaOptions options;

    sa_options_parse(&options, "nothing", collect, warnings);
    g_assert_cmpuint(warnings->len, ==, 1);
    g_assert_nonnull(strstr(g_ptr_array_index(warnings, 0), " log"));
    g_assert_nonnull(strstr(g_ptr_array_index(warnings, 0), " help"));
    sa_options_clear(&options);
}

static void
help_names_every_key(void)
{
    g_autofree char *help = sa_options_help();

    g_assert_nonnull(strstr(help, "\n  log=FILE"));
    g_assert_nonnull(strstr(help, "\n  help=0|1"));
    g_assert_nonnull(strstr(help, "\n  pace=0|1"));
    g_assert_nonnull(strstr(help, "\n  latency=MS"));
    g_assert_nonnull(strstr(help, "\n  paint=0|1"));
    g_assert_nonnull(strstr(help, "(default: 100)"));
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
        g_autofree char *path = g_strdup_printf("/options/%s", cases[i].name);

        g_test_add_data_func(path, &cases[i], check);
    }
    g_test_add_func("/options/unknown-names-all-keys", unknown_names_all_keys);
    g_test_add_func("/options/help-names-every-key", help_names_every_key);
    return g_test_run();
}
