/* SPDX-FileCopyrightText: The spice-accel authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#include "client/report.h"

#include <glib/gstdio.h>
#include <spice/enums.h>
#include <string.h>

#include "client/tap.h"
#include "core/stats.h"
#include "spice-bytes.h"

#define COMMON 0xbu /* AUTH_SELECTION, AUTH_SPICE, MINI_HEADER */

static char *file;

/* A display connection of so many messages, over before any timer could run. */
static void
short_session(guint n)
{
    g_autoptr(GByteArray) bytes = g_byte_array_new();
    SaTap *tap = sa_tap_new(FALSE);

    bytes_link_message(bytes, 7, SPICE_CHANNEL_DISPLAY, 3, COMMON);
    sa_tap_client_bytes(tap, bytes->data, bytes->len, 1000);
    g_byte_array_set_size(bytes, 0);
    bytes_link_reply(bytes, 0, COMMON);
    sa_tap_server_bytes(tap, bytes->data, bytes->len, 2000);
    g_byte_array_set_size(bytes, 0);
    bytes_ticket(bytes);
    sa_tap_client_bytes(tap, bytes->data, bytes->len, 3000);
    g_byte_array_set_size(bytes, 0);
    bytes_u32(bytes, 0);
    for (guint i = 0; i < n; i++) {
        bytes_message(bytes, SPICE_MSG_DISPLAY_MARK, NULL, 0);
    }
    sa_tap_server_bytes(tap, bytes->data, bytes->len, 4000);
    sa_tap_unref(tap);
}

static char **
lines(void)
{
    g_autofree char *text = NULL;

    g_assert_true(g_file_get_contents(file, &text, NULL, NULL));
    g_assert_true(g_str_has_suffix(text, "\n"));
    text[strlen(text) - 1] = '\0';
    return g_strsplit(text, "\n", -1);
}

static void
assert_row(const char *row, const char *column, const char *value)
{
    g_auto(GStrv) fields = g_strsplit(row, ",", -1);

    g_assert_cmpuint(g_strv_length(fields), ==, sa_stats_n_columns());
    for (guint i = 0; i < sa_stats_n_columns(); i++) {
        if (strcmp(sa_stats_column(i), column) == 0) {
            g_assert_cmpstr(fields[i], ==, value);
            return;
        }
    }
    g_assert_not_reached();
}

/* Nothing is touched before a session; each one leaves a row, all under one header. */
static void
last_rows_and_one_header(void)
{
    g_autoptr(GString) header = g_string_new(NULL);
    g_auto(GStrv) rows = NULL;

    sa_report_start(file);
    g_assert_false(g_file_test(file, G_FILE_TEST_EXISTS));
    short_session(5);
    short_session(2);
    rows = lines();
    g_assert_cmpuint(g_strv_length(rows), ==, 3);
    sa_stats_header(header);
    g_assert_cmpstr(rows[0], ==, header->str);
    assert_row(rows[1], "channel", "display:3");
    assert_row(rows[1], "messages", "5");
    assert_row(rows[1], "bytes", "30");
    assert_row(rows[1], "window", ""); /* no SET_ACK: absent, not 0 */
    assert_row(rows[2], "messages", "2");
    g_assert_false(g_main_context_pending(NULL));
}

/* A second process finds the file with a header. */
static void
appends_without_a_header(void)
{
    if (g_test_subprocess()) {
        g_free(file);
        file = g_strdup(g_getenv("REPORT_FILE"));
        sa_report_start(file);
        short_session(1);
        return;
    }
    g_setenv("REPORT_FILE", file, TRUE);
    g_test_trap_subprocess(NULL, 0, 0);
    g_test_trap_assert_passed();
    {
        g_auto(GStrv) rows = lines();

        g_assert_cmpuint(g_strv_length(rows), ==, 4);
        assert_row(rows[3], "messages", "1");
    }
}

int
main(int argc, char **argv)
{
    g_autofree char *directory = NULL;
    int status;

    g_test_init(&argc, &argv, NULL);
    directory = g_dir_make_tmp("spice-accel-report-XXXXXX", NULL);
    g_assert_nonnull(directory);
    file = g_build_filename(directory, "log.csv", NULL);
    g_test_add_func("/report/last-rows-and-one-header", last_rows_and_one_header);
    g_test_add_func("/report/appends-without-a-header", appends_without_a_header);
    status = g_test_run();
    if (!g_test_subprocess()) {
        g_unlink(file);
    }
    g_rmdir(directory);
    return status;
}
