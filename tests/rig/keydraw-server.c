/* SPDX-FileCopyrightText: The spice-accel authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* A SPICE server without a virtual machine: libspice-server, and a demo guest whose every pixel is
 * known.
 *
 * With --sasl, libsasl2 reads spice.conf in the directory $SASL_CONF_PATH, for example
 *     mech_list: digest-md5
 *     pwcheck_method: auxprop
 *     auxprop_plugin: sasldb
 *     sasldb_path: /some/where/users.db
 * and "saslpasswd2 -c -f /some/where/users.db -a spice USER" adds a user. On a plain connection
 * viewers accept only mechanisms with a security layer, as digest-md5; under TLS scram-sha-1 is
 * good, too. */
#include "control.h"
#include "demo.h"
#include "events.h"
#include "extras.h"
#include "glib-core.h"
#include "inputs.h"

#include <errno.h>
#include <glib-unix.h>
#include <glib/gstdio.h>
#include <netinet/in.h>
#include <signal.h>
#include <spice/enums.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum {
    EXIT_BAD_OPTION = 2,
};

typedef struct {
    SaServerOptions options;
    SpiceServer *server;
    SaDemo *demo;
    GMainLoop *loop;
} App;

static gint
fail(const gchar *message)
{
    fprintf(stderr, "keydraw-server: %s\n", message);
    return EXIT_BAD_OPTION;
}

static gint
dump_frame(const SaServerOptions *options)
{
    SaSceneConfig config = options->scene;
    g_autoptr(SaScene) scene = NULL;
    g_autofree guint32 *pixels = g_new0(guint32, (gsize)config.width * (gsize)config.height);
    g_autoptr(GError) error = NULL;

    config.seed += (guint32)options->dump_display;
    scene = sa_scene_new(&config);
    sa_scene_draw(scene, options->activity, (guint32)options->dump_frame, options->dump_keys,
                  pixels, (gsize)config.width);
    if (!sa_scene_write_ppm(pixels, (gsize)config.width, config.width, config.height,
                            options->dump_file, &error)) {
        g_autofree gchar *message = g_strdup_printf("--dump-frame %" G_GINT64_FORMAT ": %s",
                                                    options->dump_frame, error->message);

        fail(message);
        return EXIT_BAD_OPTION;
    }
    return 0;
}

/* Keeps what libspice-server complains about while it starts, for one line that also names the
 * option. */
static void
keep_reason(const gchar *domain, GLogLevelFlags level, const gchar *message, gpointer data)
{
    GString *reasons = data;

    /* The library puts its source file and function in front. */
    if (g_str_has_prefix(message, "../") && strstr(message, ": "))
        message = strstr(message, ": ") + 2;
    g_string_append_printf(reasons, "%s%s", reasons->len > 0 ? "; " : "", message);
}

static void
on_channel_event(gint event, SpiceChannelEventInfo *info, gpointer data)
{
    App *app = data;
    gboolean connected = event == SPICE_CHANNEL_EVENT_INITIALIZED;
    gint64 now = g_get_monotonic_time();

    /* A connection that fails to authenticate ends without ever having had a type. */
    if (event == SPICE_CHANNEL_EVENT_CONNECTED || info->type == 0)
        return;
    if (info->type == SPICE_CHANNEL_MAIN) {
        sa_event(connected ? "client-connected" : "client-disconnected", now,
                 "\"connection\":%u,\"tls\":%s", (guint)info->connection_id,
                 info->flags & SPICE_CHANNEL_EVENT_FLAG_TLS ? "true" : "false");
    } else {
        sa_event(connected ? "channel-connected" : "channel-disconnected", now,
                 "\"connection\":%u,\"type\":%d,\"id\":%d", (guint)info->connection_id, info->type,
                 info->id);
    }
    if (connected && info->type == SPICE_CHANNEL_DISPLAY && app->demo)
        sa_demo_display_connected(app->demo);
}

/* libspice-server does not choose a TLS port itself. Another process may take it in between; then
 * starting fails with a message. */
static gint
free_port(void)
{
    struct sockaddr_in address = {.sin_family = AF_INET};
    socklen_t length = sizeof address;
    gint fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    gint port = -1;

    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (fd >= 0 && bind(fd, (struct sockaddr *)&address, sizeof address) == 0 &&
        getsockname(fd, (struct sockaddr *)&address, &length) == 0)
        port = ntohs(address.sin_port);
    if (fd >= 0)
        close(fd);
    return port;
}

static gboolean
configure_listen(App *app)
{
    SaServerOptions *options = &app->options;

    if (options->unix_path) {
        spice_server_set_addr(app->server, options->unix_path, SPICE_ADDR_FLAG_UNIX_ONLY);
        return TRUE;
    }
    spice_server_set_addr(app->server, options->addr, 0);
    if (options->port >= 0)
        spice_server_set_port(app->server, options->port);
    if (options->tls_port >= 0) {
        g_autofree gchar *ca = g_build_filename(options->tls_dir, "ca-cert.pem", NULL);
        g_autofree gchar *cert = g_build_filename(options->tls_dir, "server-cert.pem", NULL);
        g_autofree gchar *key = g_build_filename(options->tls_dir, "server-key.pem", NULL);

        if (options->tls_port == 0)
            options->tls_port = free_port();
        return spice_server_set_tls(app->server, options->tls_port, ca, cert, key, NULL, NULL,
                                    NULL) == 0;
    }
    return TRUE;
}

static gboolean
configure(App *app)
{
    SaServerOptions *options = &app->options;
    SpiceServer *server = app->server;

    if (!configure_listen(app))
        return FALSE;
    if (options->ticket)
        spice_server_set_ticket(server, options->ticket, options->ticket_expire, 0, 0);
    else if (!options->sasl)
        spice_server_set_noauth(server);
    if (options->sasl && spice_server_set_sasl(server, 1) != 0)
        return FALSE;
    spice_server_set_name(server, "keydraw");
    spice_server_set_streaming_video(server, options->streaming);
    spice_server_set_image_compression(server, (SpiceImageCompression)options->compression);
    spice_server_set_jpeg_compression(server, (spice_wan_compression_t)options->jpeg);
    spice_server_set_zlib_glz_compression(server, (spice_wan_compression_t)options->zlib);
    spice_server_set_agent_mouse(server, 0);
    return spice_server_init(server, sa_glib_core(on_channel_event, app)) == 0;
}

static void
report_listening(const App *app)
{
    const SaServerOptions *options = &app->options;
    gint64 now = g_get_monotonic_time();

    if (options->unix_path) {
        g_autofree gchar *path = sa_json_string(options->unix_path);

        sa_event("listening", now, "\"unix\":%s,\"pid\":%d", path, (gint)getpid());
    } else {
        g_autofree gchar *addr = sa_json_string(options->addr);
        guint16 port = options->port >= 0 ? sa_glib_core_port(0) : 0;
        guint16 tls_port = options->tls_port > 0 ? (guint16)options->tls_port : 0;

        sa_event("listening", now, "\"addr\":%s,\"port\":%u,\"tls_port\":%u,\"pid\":%d", addr, port,
                 tls_port, (gint)getpid());
    }
}

static gboolean
on_signal(gpointer data)
{
    App *app = data;

    g_main_loop_quit(app->loop);
    return G_SOURCE_CONTINUE;
}

static void
on_quit(gpointer data)
{
    App *app = data;

    g_main_loop_quit(app->loop);
}

static void
run(App *app)
{
    SaControl *control;
    guint term = g_unix_signal_add(SIGTERM, on_signal, app);
    guint interrupt = g_unix_signal_add(SIGINT, on_signal, app);

    sa_inputs_add(app->server, app->demo);
    if (app->options.playback)
        sa_playback_add(app->server);
    if (app->options.port_channel)
        sa_port_add(app->server);
    control = sa_control_new(app->server, app->demo, app->options.quit_on_eof, on_quit, app);
    report_listening(app);
    g_main_loop_run(app->loop);

    sa_control_free(control);
    sa_demo_stop(app->demo);
    sa_playback_stop();
    g_source_remove(term);
    g_source_remove(interrupt);
}

/* Which of the options that say where to listen, with their values, and why that failed. */
static gchar *
describe_failure(const SaServerOptions *options, const gchar *reasons)
{
    g_autoptr(GString) text = g_string_new("cannot start with");

    if (options->unix_path)
        g_string_append_printf(text, " --unix '%s'", options->unix_path);
    else
        g_string_append_printf(text, " --addr '%s'", options->addr);
    if (options->port >= 0)
        g_string_append_printf(text, " --port %d", options->port);
    if (options->tls_port >= 0)
        g_string_append_printf(text, " --tls-port %d --tls-dir '%s'", options->tls_port,
                               options->tls_dir);
    if (options->sasl)
        g_string_append(text, " --sasl");
    g_string_append_printf(text, ": %s", *reasons ? reasons : "libspice-server does not say why");
    return g_strdup(text->str);
}

static gint
serve(App *app)
{
    g_autoptr(GString) reasons = g_string_new(NULL);
    guint handler = g_log_set_handler("Spice", G_LOG_LEVEL_WARNING | G_LOG_LEVEL_CRITICAL,
                                      keep_reason, reasons);
    gboolean configured;

    app->server = spice_server_new();
    app->loop = g_main_loop_new(NULL, FALSE);
    configured = configure(app);
    g_log_remove_handler("Spice", handler);
    if (!configured) {
        g_autofree gchar *message = describe_failure(&app->options, reasons->str);

        spice_server_destroy(app->server);
        g_main_loop_unref(app->loop);
        return fail(message);
    }
    app->demo = sa_demo_new(app->server, &app->options);
    if (app->demo)
        run(app);
    spice_server_destroy(app->server);
    if (app->options.unix_path)
        g_unlink(app->options.unix_path);
    g_main_loop_unref(app->loop);
    if (!app->demo)
        return fail("libspice-server refused a display");
    sa_demo_free(app->demo);
    sa_event("quit", g_get_monotonic_time(), "%s", "");
    return 0;
}

int
main(int argc, char **argv)
{
    App app = {0};
    g_autoptr(GError) error = NULL;
    gint status;

    signal(SIGPIPE, SIG_IGN);
    if (!sa_server_options_parse(&app.options, &argc, &argv, &error))
        status = fail(error->message);
    else if (app.options.dump_frame >= 0)
        status = dump_frame(&app.options);
    else
        status = serve(&app);
    sa_server_options_clear(&app.options);
    return status;
}
