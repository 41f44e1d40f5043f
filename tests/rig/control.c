/* SPDX-FileCopyrightText: The spice-accel authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#include "control.h"

#include "events.h"

#include <errno.h>
#include <fcntl.h>
#include <glib-unix.h>
#include <string.h>
#include <unistd.h>

enum {
    MAX_LINE = 4096,
};

struct SaControl {
    SpiceServer *server;
    SaDemo *demo;
    gboolean quit_on_eof;
    void (*on_quit)(gpointer data);
    gpointer data;
    guint source;
    GString *line;
    SpiceMigrateInstance migration;
    gboolean migration_added;
};

static void
report_error(const gchar *format, const gchar *text)
{
    g_autofree gchar *message = g_strdup_printf("%s: %s", format, text);
    g_autofree gchar *json = sa_json_string(message);

    sa_event("error", g_get_monotonic_time(), "\"message\":%s", json);
}

/* --- handing the client over to another server ----------------------------------------------- */

static SaControl *
control_of(SpiceMigrateInstance *instance)
{
    return (SaControl *)((gchar *)instance - G_STRUCT_OFFSET(SaControl, migration));
}

/* The client has connected to the other server, or could not; either way it is sent there. */
static gboolean
end_migration(gpointer data)
{
    SaControl *control = data;

    spice_server_migrate_start(control->server);
    spice_server_migrate_end(control->server, TRUE);
    return G_SOURCE_REMOVE;
}

static void
migrate_connected(SpiceMigrateInstance *instance)
{
    /* Not from within the call that reports it. */
    g_idle_add(end_migration, control_of(instance));
}

static void
migrate_ended(SpiceMigrateInstance *instance)
{
    sa_event("migrated", g_get_monotonic_time(), "%s", "");
}

static const SpiceMigrateInterface migration = {
    .base = {.type = SPICE_INTERFACE_MIGRATION,
             .description = "demo migration",
             .major_version = SPICE_INTERFACE_MIGRATION_MAJOR,
             .minor_version = SPICE_INTERFACE_MIGRATION_MINOR},
    .migrate_connect_complete = migrate_connected,
    .migrate_end_complete = migrate_ended,
};

/* HOST PORT [TLSPORT]; -1 stands for no port. */
static gboolean
parse_target(gchar **words, gint *port, gint *tls_port)
{
    gint64 value;

    *port = *tls_port = -1;
    if (!words[1] || !words[2] || (words[3] && words[4]))
        return FALSE;
    if (!g_ascii_string_to_signed(words[2], 10, -1, 65535, &value, NULL))
        return FALSE;
    *port = (gint)value;
    if (words[3]) {
        if (!g_ascii_string_to_signed(words[3], 10, -1, 65535, &value, NULL))
            return FALSE;
        *tls_port = (gint)value;
    }
    return *port > 0 || *tls_port > 0;
}

/* The viewer first connects to the other server and then swaps its channels' connections. */
static void
command_migrate(SaControl *control, gchar **words)
{
    gint port;
    gint tls_port;

    if (!parse_target(words, &port, &tls_port)) {
        report_error("migrate", "expected HOST PORT [TLSPORT]");
        return;
    }
    if (!control->migration_added) {
        control->migration.base.sif = &migration.base;
        spice_server_add_interface(control->server, &control->migration.base);
        control->migration_added = TRUE;
    }
    spice_server_migrate_connect(control->server, words[1], port, tls_port, NULL);
}

/* The viewer closes everything and connects to the other server. These two calls are the only ones
 * that do it; a server that has been given a migration interface refuses them. */
static void
command_switch_host(SaControl *control, gchar **words)
{
    gint port;
    gint tls_port;

    if (!parse_target(words, &port, &tls_port)) {
        report_error("switch-host", "expected HOST PORT [TLSPORT]");
        return;
    }
    if (control->migration_added) {
        report_error("switch-host", "not possible after migrate");
        return;
    }
    G_GNUC_BEGIN_IGNORE_DEPRECATIONS
    spice_server_migrate_info(control->server, words[1], port, tls_port, NULL);
    spice_server_migrate_switch(control->server);
    G_GNUC_END_IGNORE_DEPRECATIONS
    sa_event("switched", g_get_monotonic_time(), "%s", "");
}

/* --- the other commands ---------------------------------------------------------------------- */

static void
command_freeze(SaControl *control, gchar **words)
{
    sa_demo_freeze(control->demo);
}

static void
command_freeze_at(SaControl *control, gchar **words)
{
    guint64 frame;

    if (!words[1] || !g_ascii_string_to_unsigned(words[1], 10, 0, G_MAXUINT32, &frame, NULL))
        report_error("freeze-at", "expected a frame number");
    else
        sa_demo_freeze_at(control->demo, (guint32)frame);
}

static void
command_resume(SaControl *control, gchar **words)
{
    sa_demo_resume(control->demo);
}

static void
command_activity(SaControl *control, gchar **words)
{
    SaActivity activity;

    if (!words[1] || !sa_activity_parse(words[1], &activity))
        report_error("activity", "expected idle, busy, heavy, scroll or photo");
    else
        sa_demo_set_activity(control->demo, activity);
}

static void
command_key(SaControl *control, gchar **words)
{
    sa_demo_key(control->demo, 0);
}

static void
command_resize(SaControl *control, gchar **words)
{
    g_autoptr(GError) error = NULL;
    gint width;
    gint height;

    if (!words[1] || !sa_parse_size(words[1], &width, &height))
        report_error("resize", "expected WIDTHxHEIGHT");
    else if (!sa_demo_resize(control->demo, width, height, &error))
        report_error("resize", error->message);
}

static void
command_draw_all(SaControl *control, gchar **words)
{
    sa_demo_draw_all(control->demo);
}

static void
command_stats(SaControl *control, gchar **words)
{
    sa_demo_report_stats(control->demo);
}

static void
command_quit(SaControl *control, gchar **words)
{
    control->on_quit(control->data);
}

static const struct {
    const gchar *name;
    void (*run)(SaControl *control, gchar **words);
} commands[] = {
    {"activity", command_activity},
    {"draw-all", command_draw_all},
    {"freeze", command_freeze},
    {"freeze-at", command_freeze_at},
    {"key", command_key},
    {"migrate", command_migrate},
    {"quit", command_quit},
    {"resize", command_resize},
    {"resume", command_resume},
    {"stats", command_stats},
    {"switch-host", command_switch_host},
};

static void
run_line(SaControl *control, gchar *line)
{
    g_auto(GStrv) words = g_strsplit(g_strstrip(line), " ", -1);

    if (!words[0] || !*words[0])
        return;
    for (guint i = 0; i < G_N_ELEMENTS(commands); i++) {
        if (strcmp(words[0], commands[i].name) == 0) {
            commands[i].run(control, words);
            return;
        }
    }
    report_error("unknown command", words[0]);
}

static gboolean
readable(gint fd, GIOCondition condition, gpointer data)
{
    SaControl *control = data;
    gchar buffer[1024];
    gssize n = read(fd, buffer, sizeof buffer);

    if (n < 0 && (errno == EINTR || errno == EAGAIN))
        return G_SOURCE_CONTINUE;
    if (n <= 0) {
        control->source = 0;
        if (control->quit_on_eof)
            control->on_quit(control->data);
        return G_SOURCE_REMOVE;
    }
    for (gssize i = 0; i < n; i++) {
        if (buffer[i] == '\n') {
            run_line(control, control->line->str);
            g_string_truncate(control->line, 0);
        } else if (control->line->len < MAX_LINE) {
            g_string_append_c(control->line, buffer[i]);
        }
    }
    return G_SOURCE_CONTINUE;
}

SaControl *
sa_control_new(SpiceServer *server, SaDemo *demo, gboolean quit_on_eof,
               void (*on_quit)(gpointer data), gpointer data)
{
    SaControl *control = g_new0(SaControl, 1);

    control->server = server;
    control->demo = demo;
    control->quit_on_eof = quit_on_eof;
    control->on_quit = on_quit;
    control->data = data;
    control->line = g_string_new(NULL);
    control->source = g_unix_fd_add(STDIN_FILENO, G_IO_IN | G_IO_HUP | G_IO_ERR, readable, control);
    return control;
}

void
sa_control_free(SaControl *control)
{
    if (!control)
        return;
    g_clear_handle_id(&control->source, g_source_remove);
    g_string_free(control->line, TRUE);
    g_free(control);
}
