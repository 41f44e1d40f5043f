/* SPDX-FileCopyrightText: The spice-accel authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#include "keydraw-client-commands.h"

#include <gio/gio.h>
#include <gio/gunixinputstream.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define QUIET_MAX_S 180

struct SaCommands {
    SaCommandsConfig config;
    GDataInputStream *input;
    GCancellable *cancel;
    double settle_ms;
    /* A wait-quiet under way while there is a source. */
    guint source;
    char *file;
    char *name;
    gint64 since;
    gint64 quiet_us;
};

static void
answer(const char *command, const GError *error)
{
    if (error)
        fprintf(stderr, "failed %s: %s\n", command, error->message);
    else
        fprintf(stderr, "ok %s\n", command);
}

static gboolean
on_quiet_tick(gpointer data)
{
    SaCommands *c = data;
    g_autoptr(GError) error = NULL;
    gint64 now = g_get_monotonic_time();
    gint64 last = c->config.last_draw(c->config.data);
    gint64 still = now - MAX(last, c->since);

    if (still < c->quiet_us && now - c->since < QUIET_MAX_S * G_USEC_PER_SEC) {
        c->source = g_timeout_add((guint)((c->quiet_us - still) / 1000 + 1), on_quiet_tick, c);
        return G_SOURCE_REMOVE;
    }
    c->source = 0;
    c->settle_ms = last > c->since ? (double)(last - c->since) / 1e3 : 0;
    if (still < c->quiet_us)
        g_set_error(&error, G_IO_ERROR, G_IO_ERROR_TIMED_OUT, "still drawing after %d s",
                    QUIET_MAX_S);
    else if (c->file)
        c->config.shoot(c->config.data, c->file, &error);
    answer(c->name, error);
    return G_SOURCE_REMOVE;
}

static void
wait_quiet(SaCommands *c, const char *name, double ms, const char *file)
{
    g_autoptr(GError) error = NULL;

    if (c->source) {
        g_set_error_literal(&error, G_IO_ERROR, G_IO_ERROR_BUSY, "another wait is under way");
        answer(name, error);
        return;
    }
    g_free(c->file);
    g_free(c->name);
    c->file = g_strdup(file);
    c->name = g_strdup(name);
    c->since = g_get_monotonic_time();
    c->quiet_us = (gint64)(ms * 1000);
    c->source = g_timeout_add((guint)ms + 1, on_quiet_tick, c);
}

static void
obey(SaCommands *c, const char *line)
{
    g_auto(GStrv) words = g_strsplit(line, " ", 3);
    const char *name = words[0] ? words[0] : "";
    guint n = g_strv_length(words);
    g_autoptr(GError) error = NULL;
    gint64 number = 0;

    if (g_str_equal(name, "quit") && n == 1) {
        answer(name, NULL);
        c->config.quit(c->config.data);
        return;
    }
    if (g_str_equal(name, "wait-quiet") && n == 3) {
        if (g_ascii_string_to_signed(words[1], 10, 1, QUIET_MAX_S * 1000, &number, &error)) {
            wait_quiet(c, name, (double)number, words[2]);
            return;
        }
    } else if (g_str_equal(name, "frozen") && n == 1) {
        wait_quiet(c, name, c->config.settle_ms, c->config.frozen_file);
        return;
    } else if (g_str_equal(name, "shot") && n >= 2) {
        c->config.shoot(c->config.data, line + strlen("shot "), &error);
    } else if (g_str_equal(name, "epoch") && n == 2) {
        if (g_ascii_string_to_signed(words[1], 10, 1, G_MAXINT64, &number, &error))
            c->config.epoch(c->config.data, number);
    } else if (g_str_equal(name, "press") && n == 1) {
        if (!c->config.press(c->config.data))
            g_set_error_literal(&error, G_IO_ERROR, G_IO_ERROR_BUSY,
                                "presses are under way, or have not begun");
    } else {
        g_set_error(&error, G_IO_ERROR, G_IO_ERROR_INVALID_ARGUMENT, "no such command: %s", line);
    }
    answer(name, error);
}

static void read_on(SaCommands *c);

static void
on_line(GObject *source, GAsyncResult *result, gpointer data)
{
    g_autoptr(GError) error = NULL;
    g_autofree char *line =
        g_data_input_stream_read_line_finish(G_DATA_INPUT_STREAM(source), result, NULL, &error);
    SaCommands *c = data;

    if (g_error_matches(error, G_IO_ERROR, G_IO_ERROR_CANCELLED))
        return; /* freed */
    if (!line) {
        c->config.quit(c->config.data);
        return;
    }
    if (*line)
        obey(c, line);
    read_on(c);
}

static void
read_on(SaCommands *c)
{
    g_data_input_stream_read_line_async(c->input, G_PRIORITY_DEFAULT, c->cancel, on_line, c);
}

SaCommands *
sa_commands_new(const SaCommandsConfig *config)
{
    SaCommands *c = g_new0(SaCommands, 1);
    g_autoptr(GInputStream) raw = g_unix_input_stream_new(STDIN_FILENO, FALSE);

    c->config = *config;
    c->settle_ms = -1;
    c->input = g_data_input_stream_new(raw);
    c->cancel = g_cancellable_new();
    read_on(c);
    return c;
}

void
sa_commands_free(SaCommands *commands)
{
    if (!commands)
        return;
    g_cancellable_cancel(commands->cancel);
    g_clear_handle_id(&commands->source, g_source_remove);
    g_object_unref(commands->cancel);
    g_object_unref(commands->input);
    g_free(commands->file);
    g_free(commands->name);
    g_free(commands);
}

double
sa_commands_settle_ms(const SaCommands *commands)
{
    return commands->settle_ms;
}
