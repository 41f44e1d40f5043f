/* SPDX-FileCopyrightText: The spice-accel authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* keydraw-client: measures from key press to draw at a keydraw-server, as a headless SPICE client
 * through libspice-client-glib. It decodes in its main loop like a viewer and never stops reading.
 *
 * One JSON object on stdout at the end; everything else goes to stderr. With --hold or
 * --shot-frozen it stays after the presses and obeys the commands of keydraw-client-commands.h on
 * stdin. */
#include <gio/gio.h>
#include <glib-unix.h>
#include <spice-client.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

#include "keydraw-client-commands.h"
#include "keydraw-client-picture.h"
#include "keydraw-client-presses.h"
#include "keydraw-client-session.h"
#include "keydraw-client-watch.h"

#define CONNECT_MAX_S 60

static char *opt_uri, *opt_ca_file, *opt_host_subject, *opt_password, *opt_size, *opt_area,
    *opt_box;
static char *opt_shot_mid, *opt_shot_frozen;
static int opt_tls_port, opt_display, opt_presses = 20, opt_interval = 500, opt_timeout = 15000,
                                      opt_seed = 1;
static int opt_settle = 1000;
static double opt_warmup = 2, opt_fps = 30;
static gint64 opt_epoch;
static gboolean opt_progress, opt_hold, opt_count_streams;

static const GOptionEntry entries[] = {
    {"uri", 0, 0, G_OPTION_ARG_STRING, &opt_uri, "spice://HOST:PORT or spice+unix://PATH", "URI"},
    {"tls-port", 0, 0, G_OPTION_ARG_INT, &opt_tls_port, "TLS, to this port of the URI's host",
     "PORT"},
    {"ca-file", 0, 0, G_OPTION_ARG_FILENAME, &opt_ca_file, "Certificate authority", "FILE"},
    {"host-subject", 0, 0, G_OPTION_ARG_STRING, &opt_host_subject, "Subject expected of the server",
     "SUBJECT"},
    {"password", 0, 0, G_OPTION_ARG_STRING, &opt_password, "Ticket", "PASSWORD"},
    {"display", 0, 0, G_OPTION_ARG_INT, &opt_display, "Which display channel to look at (0)", "ID"},
    {"presses", 0, 0, G_OPTION_ARG_INT, &opt_presses, "Key presses to measure (20)", "N"},
    {"warmup", 0, 0, G_OPTION_ARG_DOUBLE, &opt_warmup, "Before the first press (2)", "SECONDS"},
    {"interval", 0, 0, G_OPTION_ARG_INT, &opt_interval,
     "Mean from draw to next press, 0 to twice it (500)", "MS"},
    {"timeout", 0, 0, G_OPTION_ARG_INT, &opt_timeout, "Give a press up (15000)", "MS"},
    {"size", 0, 0, G_OPTION_ARG_STRING, &opt_size, "Of the guest's screen (1280x800)", "WxH"},
    {"area", 0, 0, G_OPTION_ARG_STRING, &opt_area, "What moves (640x480+624+160)", "WxH+X+Y"},
    {"box", 0, 0, G_OPTION_ARG_STRING, &opt_box, "Where the key box is (64,176)", "X,Y"},
    {"seed", 0, 0, G_OPTION_ARG_INT, &opt_seed, "Of the jitter (1)", "N"},
    {"shot-mid", 0, 0, G_OPTION_ARG_FILENAME, &opt_shot_mid,
     "PPM of the picture after half the presses", "FILE"},
    {"shot-frozen", 0, 0, G_OPTION_ARG_FILENAME, &opt_shot_frozen,
     "PPM at the command 'frozen'; as --hold", "FILE"},
    {"settle", 0, 0, G_OPTION_ARG_INT, &opt_settle, "Nothing drawn for so long is still (1000)",
     "MS"},
    {"hold", 0, 0, G_OPTION_ARG_NONE, &opt_hold,
     "Stay after the presses and read commands from stdin", NULL},
    {"frame-epoch", 0, 0, G_OPTION_ARG_INT64, &opt_epoch, "When frame 0 was painted, for ages",
     "US"},
    {"fps", 0, 0, G_OPTION_ARG_DOUBLE, &opt_fps, "Frames a second at the server, for ages (30)",
     "N"},
    {"count-streams", 0, 0, G_OPTION_ARG_NONE, &opt_count_streams,
     "Costs some time: reads debug messages", NULL},
    {"progress", 0, 0, G_OPTION_ARG_NONE, &opt_progress, "A line a second on stderr", NULL},
    {NULL},
};

/* The window is the time of the presses: from the end of the warm-up to the last one's draw. */
typedef struct {
    gint64 at;
    gint64 cpu;
    gint64 loop_cpu;
    guint64 bytes;
    guint64 display_bytes;
    guint64 invalidates;
} Mark;

static GMainLoop *loop;
static SaClientSession *session;
static SaPresses *presses;
static SaWatch *watch;
static SaCommands *commands;
static SaSceneConfig scene;
static SaFramecodePlace key_place;

static int status;
static gboolean interrupted;
static char *failure;
static gint64 started, ready_at, first_draw, last_draw;
static guint64 invalidates, streams, finished;
static Mark window_begin, window_end;
static guint deadline;

static gint64
cpu_us(clockid_t clock)
{
    struct timespec ts;

    clock_gettime(clock, &ts);
    return (gint64)ts.tv_sec * G_USEC_PER_SEC + ts.tv_nsec / 1000;
}

static void
mark(Mark *m)
{
    m->at = g_get_monotonic_time();
    m->cpu = cpu_us(CLOCK_PROCESS_CPUTIME_ID);
    m->loop_cpu = cpu_us(CLOCK_THREAD_CPUTIME_ID);
    m->bytes = sa_client_session_bytes(session, FALSE);
    m->display_bytes = sa_client_session_bytes(session, TRUE);
    m->invalidates = invalidates;
}

static void
close_window(void)
{
    if (!window_begin.at || window_end.at)
        return;
    mark(&window_end);
    sa_watch_end(watch, window_end.at);
}

static void
finish(int with)
{
    status = with > status ? with : status;
    g_main_loop_quit(loop);
}

static void
complain(const char *why)
{
    fprintf(stderr, "keydraw-client: %s: %s\n", opt_uri, why);
}

static gboolean
shoot(gpointer data, const char *file, GError **error)
{
    SaPixels pixels;

    if (!sa_client_session_pixels(session, &pixels)) {
        g_set_error_literal(error, G_IO_ERROR, G_IO_ERROR_NOT_FOUND, "there is no picture");
        return FALSE;
    }
    return sa_picture_write(&pixels, file, error);
}

static void
on_press(gpointer data)
{
    sa_client_session_key(session);
}

static void
on_press_finished(gpointer data, guint number, gboolean drawn)
{
    static gint64 told;
    gint64 now = g_get_monotonic_time();

    finished++;
    if (!drawn)
        fprintf(stderr, "keydraw-client: press %u was not drawn within %d ms\n", number,
                opt_timeout);
    if (opt_progress && now - told > G_USEC_PER_SEC) {
        fprintf(stderr, "keydraw-client: %" G_GUINT64_FORMAT " of %d presses\n", finished,
                opt_presses);
        told = now;
    }
    if (opt_shot_mid && finished == (guint64)(opt_presses + 1) / 2) {
        g_autoptr(GError) error = NULL;

        if (!shoot(NULL, opt_shot_mid, &error)) {
            complain(error->message);
            status = 1;
        }
    }
}

static void
on_presses_done(gpointer data)
{
    /* Without presses the window is what is held. */
    if (opt_presses)
        close_window();
    fprintf(stderr, "keydraw-client: presses done\n");
    if (!opt_hold)
        finish(0);
}

static gboolean
on_warm(gpointer data)
{
    SaPixels pixels;
    int shown =
        sa_client_session_pixels(session, &pixels) ? sa_framecode_decode(&pixels, &key_place) : -1;
    /* Waiting for the draw that brings it: on a slow link the first picture takes its time. */
    gboolean late = g_get_monotonic_time() - ready_at >
                    (gint64)(opt_warmup * 1e6) + CONNECT_MAX_S * G_USEC_PER_SEC;

    if (shown < 0 && !late)
        return G_SOURCE_CONTINUE;
    deadline = 0;
    if (shown < 0) {
        fprintf(stderr, "keydraw-client: %s: no key box at %d,%d: another server, size or box?\n",
                opt_uri, scene.box_x, scene.box_y);
        finish(1);
        return G_SOURCE_REMOVE;
    }
    mark(&window_begin);
    sa_watch_begin(watch, window_begin.at);
    fprintf(stderr, "keydraw-client: warm, the server has counted %d presses\n", shown);
    sa_presses_start(presses, (guint16)shown);
    return G_SOURCE_REMOVE;
}

static gboolean
on_warmed_up(gpointer data)
{
    deadline = g_timeout_add(20, on_warm, NULL);
    return G_SOURCE_REMOVE;
}

static void
on_ready(gpointer data)
{
    ready_at = g_get_monotonic_time();
    fprintf(stderr, "keydraw-client: connected\n");
    g_clear_handle_id(&deadline, g_source_remove);
    deadline = g_timeout_add((guint)(opt_warmup * 1000), on_warmed_up, NULL);
}

static void
on_drawn(gpointer data, const SaPixels *pixels, const SaRect *damage)
{
    gint64 now = g_get_monotonic_time();
    guint16 wanted;

    invalidates++;
    last_draw = now;
    first_draw = first_draw ? first_draw : now;
    if (sa_presses_waiting(presses, &wanted) && sa_picture_touches(damage, &key_place)) {
        int shown = sa_framecode_decode(pixels, &key_place);

        if (shown >= 0)
            sa_presses_shown(presses, (guint16)shown, now);
    }
    sa_watch_look(watch, pixels, damage, now);
}

static void
on_failed(gpointer data, const char *why)
{
    failure = g_strdup(why);
    complain(why);
    finish(1);
}

static gboolean
on_connect_timeout(gpointer data)
{
    deadline = 0;
    complain("no picture and keyboard within a minute");
    finish(1);
    return G_SOURCE_REMOVE;
}

static gboolean
on_signal(gpointer data)
{
    interrupted = TRUE;
    finish(window_begin.at ? 0 : 1);
    return G_SOURCE_CONTINUE;
}

static gint64
get_last_draw(gpointer data)
{
    return last_draw;
}

static gboolean
press_once(gpointer data)
{
    return sa_presses_once(presses);
}

static void
set_epoch(gpointer data, gint64 us)
{
    opt_epoch = us;
}

static void
quit(gpointer data)
{
    finish(0);
}

/* There is no public sign of a stream; its creation leaves a debug message. */
static GLogWriterOutput
count_streams(GLogLevelFlags level, const GLogField *fields, gsize n, gpointer data)
{
    gsize i;

    if (!(level & (G_LOG_LEVEL_DEBUG | G_LOG_LEVEL_INFO)))
        return g_log_writer_default(level, fields, n, data);
    for (i = 0; i < n; i++) {
        if (g_str_equal(fields[i].key, "MESSAGE") &&
            strstr(fields[i].value, "display_handle_stream_create"))
            streams++;
    }
    return G_LOG_WRITER_HANDLED;
}

static void
append_text(GString *out, const char *name, const char *text)
{
    const char *p;

    g_string_append_printf(out, ",\"%s\":", name);
    if (!text) {
        g_string_append(out, "null");
        return;
    }
    g_string_append_c(out, '"');
    for (p = text; *p; p++) {
        if (*p == '"' || *p == '\\')
            g_string_append_printf(out, "\\%c", *p);
        else if ((guchar)*p < ' ')
            g_string_append_printf(out, "\\u%04x", (guint)*p);
        else
            g_string_append_c(out, *p);
    }
    g_string_append_c(out, '"');
}

static void
append_since(GString *out, const char *name, gint64 at)
{
    if (at)
        g_string_append_printf(out, ",\"%s\":%.1f", name, (double)(at - started) / 1e3);
    else
        g_string_append_printf(out, ",\"%s\":null", name);
}

static void
print_result(void)
{
    g_autoptr(GString) out = g_string_new("{\"client\":\"keydraw-client\"");
    double us = (double)(window_end.at - window_begin.at);
    struct rusage usage;

    append_text(out, "uri", opt_uri);
    append_text(out, "failure", failure);
    g_string_append_printf(out, ",\"interrupted\":%s,", interrupted ? "true" : "false");
    sa_presses_json(presses, out);
    g_string_append_printf(out, ",\"interval_ms\":%d,\"timeout_ms\":%d", opt_interval, opt_timeout);
    append_since(out, "ready_after_ms", ready_at);
    append_since(out, "first_draw_after_ms", first_draw);
    g_string_append_printf(out,
                           ",\"bytes\":%" G_GUINT64_FORMAT ",\"invalidates\":%" G_GUINT64_FORMAT,
                           sa_client_session_bytes(session, FALSE), invalidates);
    if (window_end.at) {
        g_string_append_printf(out,
                               ",\"window_s\":%.3f,\"window_bytes\":%" G_GUINT64_FORMAT
                               ",\"window_display_bytes\":%" G_GUINT64_FORMAT
                               ",\"display_mbit\":%.3f,\"window_invalidates\":%" G_GUINT64_FORMAT
                               ",\"cpu_cores\":%.4f,\"main_loop_cores\":%.4f",
                               us / 1e6, window_end.bytes - window_begin.bytes,
                               window_end.display_bytes - window_begin.display_bytes,
                               (double)(window_end.display_bytes - window_begin.display_bytes) * 8 /
                                   us,
                               window_end.invalidates - window_begin.invalidates,
                               (double)(window_end.cpu - window_begin.cpu) / us,
                               (double)(window_end.loop_cpu - window_begin.loop_cpu) / us);
    }
    getrusage(RUSAGE_SELF, &usage);
    g_string_append_printf(out, ",\"peak_rss_kib\":%ld", usage.ru_maxrss);
    if (opt_count_streams)
        g_string_append_printf(out, ",\"streams\":%" G_GUINT64_FORMAT, streams);
    else
        g_string_append(out, ",\"streams\":null");
    if (commands && sa_commands_settle_ms(commands) >= 0)
        g_string_append_printf(out, ",\"settle_ms\":%.1f", sa_commands_settle_ms(commands));
    else
        g_string_append(out, ",\"settle_ms\":null");
    g_string_append(out, ",\"area\":");
    sa_watch_json(watch, opt_epoch, opt_fps, out);
    printf("%s}\n", out->str);
    fflush(stdout);
}

static gboolean
check_options(GError **error)
{
    const char *what = NULL;

    if (!opt_uri ||
        !(g_str_has_prefix(opt_uri, "spice://") || g_str_has_prefix(opt_uri, "spice+unix://")))
        what = "--uri: expected spice://HOST:PORT or spice+unix://PATH";
    else if (opt_presses < 0 || opt_presses > 60000)
        what = "--presses: expected 0 to 60000";
    else if (!(opt_warmup >= 0 && opt_warmup <= 3600))
        what = "--warmup: expected 0 to 3600 seconds";
    else if (opt_interval < 1 || opt_interval > 600000)
        what = "--interval: expected 1 to 600000 ms";
    else if (opt_timeout < 1 || opt_timeout > 600000)
        what = "--timeout: expected 1 to 600000 ms";
    else if (opt_settle < 1 || opt_settle > 60000)
        what = "--settle: expected 1 to 60000 ms";
    else if (opt_tls_port < 0 || opt_tls_port > 65535)
        what = "--tls-port: expected a port";
    else if (opt_tls_port && !g_str_has_prefix(opt_uri, "spice://"))
        what = "--tls-port: goes with spice://HOST";
    else if (!(opt_fps > 0 && opt_fps <= 1000))
        what = "--fps: expected frames a second";
    else if (opt_epoch < 0)
        what = "--frame-epoch: expected microseconds on CLOCK_MONOTONIC";
    if (what) {
        g_set_error_literal(error, G_OPTION_ERROR, G_OPTION_ERROR_BAD_VALUE, what);
        return FALSE;
    }
    return sa_picture_config(&scene, opt_size, opt_area, opt_box, error);
}

static void
connect_and_run(void)
{
    SaPressesConfig press_config = {
        .count = (guint)opt_presses,
        .interval_ms = opt_interval,
        .timeout_ms = opt_timeout,
        .seed = (guint32)opt_seed,
        .press = on_press,
        .finished = on_press_finished,
        .done = on_presses_done,
    };
    SaCommandsConfig command_config = {
        .shoot = shoot,
        .last_draw = get_last_draw,
        .press = press_once,
        .epoch = set_epoch,
        .quit = quit,
        .settle_ms = opt_settle,
        .frozen_file = opt_shot_frozen,
    };
    SaClientConfig client_config = {
        .uri = opt_uri,
        .tls_port = opt_tls_port,
        .ca_file = opt_ca_file,
        .host_subject = opt_host_subject,
        .password = opt_password,
        .display = opt_display,
        .ready = on_ready,
        .drawn = on_drawn,
        .failed = on_failed,
    };

    key_place = sa_scene_key_code(&scene);
    loop = g_main_loop_new(NULL, FALSE);
    watch = sa_watch_new(&scene);
    presses = sa_presses_new(&press_config);
    g_unix_signal_add(SIGINT, on_signal, NULL);
    g_unix_signal_add(SIGTERM, on_signal, NULL);
    deadline = g_timeout_add_seconds(CONNECT_MAX_S, on_connect_timeout, NULL);
    if (opt_hold)
        commands = sa_commands_new(&command_config);
    started = g_get_monotonic_time();
    session = sa_client_session_new(&client_config);
    if (!failure)
        g_main_loop_run(loop);
    close_window();
    sa_presses_stop(presses);
}

int
main(int argc, char **argv)
{
    g_autoptr(GOptionContext) context = g_option_context_new(NULL);
    g_autoptr(GError) error = NULL;

    g_option_context_set_summary(context, "Measures from key press to draw at a keydraw-server.");
    g_option_context_add_main_entries(context, entries, NULL);
    if (!g_option_context_parse(context, &argc, &argv, &error) || argc > 1 ||
        !check_options(&error)) {
        fprintf(stderr, "keydraw-client: %s\n", error ? error->message : "unexpected argument");
        return 2;
    }
    opt_hold = opt_hold || opt_shot_frozen;
    if (opt_count_streams) {
        g_log_set_writer_func(count_streams, NULL, NULL);
        spice_util_set_debug(TRUE);
    }
    connect_and_run();
    if (window_begin.at)
        print_result();
    sa_commands_free(commands);
    sa_client_session_free(session);
    sa_presses_free(presses);
    sa_watch_free(watch);
    g_main_loop_unref(loop);
    g_free(failure);
    return status;
}
