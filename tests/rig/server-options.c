/* SPDX-FileCopyrightText: The spice-accel authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#include "server-options.h"

#include <spice/protocol.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

typedef struct {
    const gchar *word;
    gint value;
} Choice;

static const Choice streaming_choices[] = {
    {"off", SPICE_STREAM_VIDEO_OFF},
    {"filter", SPICE_STREAM_VIDEO_FILTER},
    {"all", SPICE_STREAM_VIDEO_ALL},
    {0},
};

static const Choice compression_choices[] = {
    {"off", SPICE_IMAGE_COMPRESSION_OFF},         {"auto-glz", SPICE_IMAGE_COMPRESSION_AUTO_GLZ},
    {"auto-lz", SPICE_IMAGE_COMPRESSION_AUTO_LZ}, {"quic", SPICE_IMAGE_COMPRESSION_QUIC},
    {"glz", SPICE_IMAGE_COMPRESSION_GLZ},         {"lz", SPICE_IMAGE_COMPRESSION_LZ},
    {"lz4", SPICE_IMAGE_COMPRESSION_LZ4},         {0},
};

static const Choice wan_choices[] = {
    {"auto", SPICE_WAN_COMPRESSION_AUTO},
    {"never", SPICE_WAN_COMPRESSION_NEVER},
    {"always", SPICE_WAN_COMPRESSION_ALWAYS},
    {0},
};

static const Choice damage_choices[] = {
    {"rect", SA_DAMAGE_RECT},
    {"full", SA_DAMAGE_FULL},
    {0},
};

static const Choice draws_choices[] = {
    {"columns", SA_DRAWS_COLUMNS},
    {"whole", SA_DRAWS_WHOLE},
    {0},
};

static const Choice depth_choices[] = {
    {"32", 32},
    {"16", 16},
    {0},
};

/* The options as text, before they are looked at. */
typedef struct {
    gchar *port, *tls_port, *ticket_expire, *streaming, *compression, *jpeg, *zlib, *size, *depth;
    gchar *displays, *activity, *area, *box, *fps, *seed, *freeze_at, *activity_delay, *tick;
    gchar *damage, *draws, *dump_frame, *keys, *dump_display;
    gchar **rest;
} Texts;

static gboolean
bad_value(GError **error, const gchar *option, const gchar *text, const gchar *wanted)
{
    g_set_error(error, G_OPTION_ERROR, G_OPTION_ERROR_BAD_VALUE, "--%s: '%s' is not %s", option,
                text, wanted);
    return FALSE;
}

static gboolean
choose(const gchar *option, const gchar *text, const Choice *choices, gint *value, GError **error)
{
    g_autoptr(GString) wanted = g_string_new("one of");

    if (!text)
        return TRUE;
    for (const Choice *choice = choices; choice->word; choice++) {
        if (strcmp(choice->word, text) == 0) {
            *value = choice->value;
            return TRUE;
        }
        g_string_append_printf(wanted, " %s", choice->word);
    }
    return bad_value(error, option, text, wanted->str);
}

static gboolean
number(const gchar *option, const gchar *text, gint64 low, gint64 high, gint64 *value,
       GError **error)
{
    g_autofree gchar *wanted = NULL;

    if (!text || g_ascii_string_to_signed(text, 10, low, high, value, NULL))
        return TRUE;
    wanted =
        g_strdup_printf("a whole number from %" G_GINT64_FORMAT " to %" G_GINT64_FORMAT, low, high);
    return bad_value(error, option, text, wanted);
}

static gboolean
small_number(const gchar *option, const gchar *text, gint low, gint high, gint *value,
             GError **error)
{
    gint64 wide = *value;

    if (!number(option, text, low, high, &wide, error))
        return FALSE;
    *value = (gint)wide;
    return TRUE;
}

/* Whole numbers separated by the characters of 'separators', nothing before, between or behind. */
static gboolean
parse_numbers(const gchar *text, const gchar *separators, gint *values)
{
    gsize n = strlen(separators) + 1;

    for (gsize i = 0; i < n; i++) {
        gchar *end;
        guint64 value;

        if (!g_ascii_isdigit(*text))
            return FALSE;
        value = g_ascii_strtoull(text, &end, 10);
        if (value > 65535 || *end != (i + 1 < n ? separators[i] : '\0'))
            return FALSE;
        values[i] = (gint)value;
        text = end + 1;
    }
    return TRUE;
}

gboolean
sa_parse_size(const gchar *text, gint *width, gint *height)
{
    gint values[2];

    if (!parse_numbers(text, "x", values) || values[0] == 0 || values[1] == 0)
        return FALSE;
    *width = values[0];
    *height = values[1];
    return TRUE;
}

static gboolean
parse_geometry(SaServerOptions *options, const Texts *texts, GError **error)
{
    SaSceneConfig *wanted = &options->wanted;
    g_autoptr(GError) reason = NULL;
    gint values[4];

    if (texts->size && !sa_parse_size(texts->size, &wanted->width, &wanted->height))
        return bad_value(error, "size", texts->size, "WIDTHxHEIGHT");
    if (texts->area) {
        if (!parse_numbers(texts->area, "x++", values) || values[0] == 0)
            return bad_value(error, "area", texts->area, "WIDTHxHEIGHT+X+Y");
        wanted->area = (SaRect){values[2], values[3], values[0], values[1]};
    }
    if (texts->box) {
        if (!parse_numbers(texts->box, ",", values))
            return bad_value(error, "box", texts->box, "X,Y");
        wanted->box_x = values[0];
        wanted->box_y = values[1];
    }
    options->scene = *wanted;
    if (!sa_scene_config_complete(&options->scene, &reason)) {
        g_autofree gchar *size = g_strdup_printf("%dx%d", wanted->width, wanted->height);

        g_set_error(error, G_OPTION_ERROR, G_OPTION_ERROR_BAD_VALUE, "--size %s%s%s%s%s: %s", size,
                    texts->area ? " --area " : "", texts->area ? texts->area : "",
                    texts->box ? " --box " : "", texts->box ? texts->box : "", reason->message);
        return FALSE;
    }
    return TRUE;
}

static gboolean
parse_seconds(const gchar *option, const gchar *text, gint *ms, GError **error)
{
    gchar *end;
    gdouble seconds;

    if (!text)
        return TRUE;
    seconds = g_ascii_strtod(text, &end);
    if (end == text || *end || !(seconds >= 0 && seconds <= 3600))
        return bad_value(error, option, text, "a number of seconds from 0 to 3600");
    *ms = (gint)(seconds * 1000 + 0.5);
    return TRUE;
}

static gboolean
check_readable(const gchar *dir, const gchar *name, GError **error)
{
    g_autofree gchar *path = g_build_filename(dir, name, NULL);

    if (access(path, R_OK) == 0)
        return TRUE;
    g_set_error(error, G_OPTION_ERROR, G_OPTION_ERROR_BAD_VALUE, "--tls-dir: cannot read '%s'",
                path);
    return FALSE;
}

/* libspice-server removes whatever has the name; here only a socket may go. */
static gboolean
check_unix_path(const gchar *path, GError **error)
{
    g_autofree gchar *dir = g_path_get_dirname(path);
    struct stat status;

    if (!*path || access(dir, W_OK | X_OK) != 0)
        return bad_value(error, "unix", path, "in a directory where files can be made");
    if (lstat(path, &status) == 0 && !S_ISSOCK(status.st_mode))
        return bad_value(error, "unix", path, "a socket, but exists");
    return TRUE;
}

static gboolean
check_listen(SaServerOptions *options, GError **error)
{
    if (options->unix_path) {
        if (options->port >= 0 || options->tls_port >= 0 || options->addr) {
            g_set_error(error, G_OPTION_ERROR, G_OPTION_ERROR_BAD_VALUE,
                        "--unix '%s' cannot be combined with --port, --tls-port or --addr",
                        options->unix_path);
            return FALSE;
        }
        if (strlen(options->unix_path) >= sizeof(((struct sockaddr_un *)0)->sun_path))
            return bad_value(error, "unix", options->unix_path, "short enough for a socket's name");
        if (!check_unix_path(options->unix_path, error))
            return FALSE;
    } else if (options->port < 0 && options->tls_port < 0) {
        options->port = 0;
    }
    if (options->tls_port >= 0 && !options->tls_dir) {
        g_set_error(error, G_OPTION_ERROR, G_OPTION_ERROR_BAD_VALUE,
                    "--tls-port %d needs --tls-dir", options->tls_port);
        return FALSE;
    }
    if (options->tls_port < 0 && options->tls_dir) {
        g_set_error(error, G_OPTION_ERROR, G_OPTION_ERROR_BAD_VALUE,
                    "--tls-dir '%s' needs --tls-port", options->tls_dir);
        return FALSE;
    }
    if (options->tls_dir && (!check_readable(options->tls_dir, "ca-cert.pem", error) ||
                             !check_readable(options->tls_dir, "server-cert.pem", error) ||
                             !check_readable(options->tls_dir, "server-key.pem", error)))
        return FALSE;
    if (!options->addr)
        options->addr = g_strdup("127.0.0.1");
    if (options->ticket && strlen(options->ticket) > SPICE_MAX_PASSWORD_LENGTH)
        return bad_value(error, "ticket", options->ticket, "at most 60 bytes long");
    if (options->ticket && !*options->ticket)
        return bad_value(error, "ticket", options->ticket, "a password");
    if (options->ticket_expire > 0 && !options->ticket) {
        g_set_error(error, G_OPTION_ERROR, G_OPTION_ERROR_BAD_VALUE,
                    "--ticket-expire %d needs --ticket", options->ticket_expire);
        return FALSE;
    }
    return TRUE;
}

static gboolean
check_dump(SaServerOptions *options, const Texts *texts, GError **error)
{
    if (options->dump_frame < 0) {
        if (texts->rest && texts->rest[0]) {
            g_set_error(error, G_OPTION_ERROR, G_OPTION_ERROR_BAD_VALUE, "unexpected argument '%s'",
                        texts->rest[0]);
            return FALSE;
        }
        if (texts->keys || texts->dump_display) {
            g_set_error(error, G_OPTION_ERROR, G_OPTION_ERROR_BAD_VALUE,
                        "--%s '%s' is only for --dump-frame", texts->keys ? "keys" : "dump-display",
                        texts->keys ? texts->keys : texts->dump_display);
            return FALSE;
        }
        return TRUE;
    }
    if (!texts->rest || !texts->rest[0] || texts->rest[1]) {
        g_set_error(error, G_OPTION_ERROR, G_OPTION_ERROR_BAD_VALUE,
                    "--dump-frame %" G_GINT64_FORMAT " needs the name of one file to write",
                    options->dump_frame);
        return FALSE;
    }
    if (options->dump_display >= options->displays)
        return bad_value(error, "dump-display", texts->dump_display, "one of --displays");
    options->dump_file = g_strdup(texts->rest[0]);
    return TRUE;
}

static gboolean
check_texts(SaServerOptions *options, const Texts *texts, GError **error)
{
    gint64 seed = options->wanted.seed;
    gint64 keys = 0;
    gint damage = options->damage;
    gint draws = options->draws;

    if (!small_number("port", texts->port, 0, 65535, &options->port, error) ||
        !small_number("tls-port", texts->tls_port, 0, 65535, &options->tls_port, error) ||
        !small_number("ticket-expire", texts->ticket_expire, 1, 86400, &options->ticket_expire,
                      error) ||
        !choose("streaming", texts->streaming, streaming_choices, &options->streaming, error) ||
        !choose("compression", texts->compression, compression_choices, &options->compression,
                error) ||
        !choose("jpeg", texts->jpeg, wan_choices, &options->jpeg, error) ||
        !choose("zlib", texts->zlib, wan_choices, &options->zlib, error) ||
        !choose("depth", texts->depth, depth_choices, &options->wanted.depth, error) ||
        !choose("damage", texts->damage, damage_choices, &damage, error) ||
        !choose("draws", texts->draws, draws_choices, &draws, error) ||
        !small_number("displays", texts->displays, 1, SA_MAX_DISPLAYS, &options->displays, error) ||
        !small_number("fps", texts->fps, 1, 240, &options->fps, error) ||
        !small_number("tick", texts->tick, 1, 1000, &options->tick_ms, error) ||
        !number("seed", texts->seed, 0, G_MAXUINT32, &seed, error) ||
        !number("freeze-at", texts->freeze_at, 0, G_MAXUINT32, &options->freeze_at, error) ||
        !parse_seconds("activity-delay", texts->activity_delay, &options->activity_delay_ms,
                       error) ||
        !number("dump-frame", texts->dump_frame, 0, G_MAXUINT32, &options->dump_frame, error) ||
        !number("keys", texts->keys, 0, G_MAXUINT32, &keys, error) ||
        !small_number("dump-display", texts->dump_display, 0, SA_MAX_DISPLAYS - 1,
                      &options->dump_display, error))
        return FALSE;
    if (texts->activity && !sa_activity_parse(texts->activity, &options->activity))
        return bad_value(error, "activity", texts->activity, "one of idle busy heavy scroll photo");
    options->wanted.seed = (guint32)seed;
    options->dump_keys = (guint32)keys;
    options->damage = (SaDamage)damage;
    options->draws = (SaDraws)draws;
    return parse_geometry(options, texts, error) && check_listen(options, error) &&
           check_dump(options, texts, error);
}

static void
set_defaults(SaServerOptions *options)
{
    *options = (SaServerOptions){
        .port = -1,
        .tls_port = -1,
        .streaming = SPICE_STREAM_VIDEO_OFF,
        .compression = SPICE_IMAGE_COMPRESSION_AUTO_GLZ,
        .jpeg = SPICE_WAN_COMPRESSION_AUTO,
        .zlib = SPICE_WAN_COMPRESSION_AUTO,
        .wanted = {.width = 1280, .height = 800, .box_x = -1, .box_y = -1, .seed = 1, .depth = 32},
        .displays = 1,
        .activity = SA_ACTIVITY_BUSY,
        .damage = SA_DAMAGE_FULL,
        .draws = SA_DRAWS_COLUMNS,
        .fps = 30,
        .tick_ms = 30,
        .freeze_at = -1,
        .dump_frame = -1,
    };
}

static void
clear_texts(Texts *texts)
{
    gchar **all[] = {
        &texts->port,
        &texts->tls_port,
        &texts->ticket_expire,
        &texts->streaming,
        &texts->compression,
        &texts->jpeg,
        &texts->zlib,
        &texts->size,
        &texts->depth,
        &texts->displays,
        &texts->activity,
        &texts->area,
        &texts->box,
        &texts->fps,
        &texts->seed,
        &texts->freeze_at,
        &texts->activity_delay,
        &texts->tick,
        &texts->damage,
        &texts->draws,
        &texts->dump_frame,
        &texts->keys,
        &texts->dump_display,
    };

    for (guint i = 0; i < G_N_ELEMENTS(all); i++)
        g_free(*all[i]);
    g_strfreev(texts->rest);
}

gboolean
sa_server_options_parse(SaServerOptions *options, gint *argc, gchar ***argv, GError **error)
{
    Texts texts = {0};
    const GOptionEntry entries[] = {
        {"addr", 0, 0, G_OPTION_ARG_STRING, &options->addr, "Listen on this address (127.0.0.1)",
         "ADDRESS"},
        {"port", 0, 0, G_OPTION_ARG_STRING, &texts.port, "Listen on this port; 0: any free (0)",
         "N"},
        {"unix", 0, 0, G_OPTION_ARG_FILENAME, &options->unix_path, "Listen on a unix socket",
         "PATH"},
        {"tls-port", 0, 0, G_OPTION_ARG_STRING, &texts.tls_port, "Listen for TLS; 0: any free",
         "N"},
        {"tls-dir", 0, 0, G_OPTION_ARG_FILENAME, &options->tls_dir,
         "Where ca-cert.pem, server-cert.pem and server-key.pem are", "DIR"},
        {"ticket", 0, 0, G_OPTION_ARG_STRING, &options->ticket, "Ask for this password",
         "PASSWORD"},
        {"ticket-expire", 0, 0, G_OPTION_ARG_STRING, &texts.ticket_expire,
         "Accept the password for so long", "SECONDS"},
        {"sasl", 0, 0, G_OPTION_ARG_NONE, &options->sasl,
         "Ask for SASL; the configuration is spice.conf in $SASL_CONF_PATH", NULL},
        {"streaming", 0, 0, G_OPTION_ARG_STRING, &texts.streaming, "off, filter, all (off)",
         "MODE"},
        {"compression", 0, 0, G_OPTION_ARG_STRING, &texts.compression,
         "off, auto-glz, auto-lz, quic, glz, lz, lz4 (auto-glz)", "NAME"},
        {"jpeg", 0, 0, G_OPTION_ARG_STRING, &texts.jpeg, "auto, never, always (auto)", "WHEN"},
        {"zlib", 0, 0, G_OPTION_ARG_STRING, &texts.zlib, "auto, never, always (auto)", "WHEN"},
        {"size", 0, 0, G_OPTION_ARG_STRING, &texts.size,
         "Of the screen, up to 3840x2160 (1280x800)", "WxH"},
        {"depth", 0, 0, G_OPTION_ARG_STRING, &texts.depth, "32 or 16 bits (32)", "BITS"},
        {"displays", 0, 0, G_OPTION_ARG_STRING, &texts.displays, "Number of displays (1)", "N"},
        {"activity", 0, 0, G_OPTION_ARG_STRING, &texts.activity,
         "idle, busy, heavy, scroll, photo (busy)", "NAME"},
        {"area", 0, 0, G_OPTION_ARG_STRING, &texts.area, "What moves (640x480+624+160)", "WxH+X+Y"},
        {"box", 0, 0, G_OPTION_ARG_STRING, &texts.box, "Where the key box is (64,176)", "X,Y"},
        {"fps", 0, 0, G_OPTION_ARG_STRING, &texts.fps, "Frames per second (30)", "N"},
        {"seed", 0, 0, G_OPTION_ARG_STRING, &texts.seed, "Of text and noise (1)", "N"},
        {"freeze-at", 0, 0, G_OPTION_ARG_STRING, &texts.freeze_at, "Stop at this frame", "FRAME"},
        {"activity-delay", 0, 0, G_OPTION_ARG_STRING, &texts.activity_delay,
         "Start moving so long after the first display client (0)", "SECONDS"},
        {"tick", 0, 0, G_OPTION_ARG_STRING, &texts.tick, "Compare and draw so often (30)", "MS"},
        {"damage", 0, 0, G_OPTION_ARG_STRING, &texts.damage,
         "The guest reports exact rectangles or its whole plane: rect, full (full)", "HOW"},
        {"draws", 0, 0, G_OPTION_ARG_STRING, &texts.draws,
         "32-pixel columns or one draw: columns, whole (columns)", "HOW"},
        {"playback", 0, 0, G_OPTION_ARG_NONE, &options->playback, "Play a tone", NULL},
        {"port-channel", 0, 0, G_OPTION_ARG_NONE, &options->port_channel,
         "Add the port org.spice-accel.demo.0, which echoes", NULL},
        {"quit-on-eof", 0, 0, G_OPTION_ARG_NONE, &options->quit_on_eof, "Quit when stdin ends",
         NULL},
        {"dump-frame", 0, 0, G_OPTION_ARG_STRING, &texts.dump_frame,
         "Write the screen at frame N to FILE, a PPM, and quit", "N"},
        {"keys", 0, 0, G_OPTION_ARG_STRING, &texts.keys, "Key presses in that picture (0)", "N"},
        {"dump-display", 0, 0, G_OPTION_ARG_STRING, &texts.dump_display,
         "Display of that picture (0)", "N"},
        {G_OPTION_REMAINING, 0, 0, G_OPTION_ARG_FILENAME_ARRAY, &texts.rest, NULL, "[FILE]"},
        {0},
    };
    g_autoptr(GOptionContext) context = g_option_context_new(NULL);
    gboolean ok;

    set_defaults(options);
    g_option_context_set_summary(context,
                                 "A SPICE server without a virtual machine: a page of text, "
                                 "a box that changes with each key press, a moving area.");
    g_option_context_set_description(
        context,
        "Commands, one a line on stdin: freeze, resume, freeze-at N, activity NAME, key, resize "
        "WxH, "
        "switch-host HOST PORT [TLSPORT], migrate HOST PORT [TLSPORT], draw-all, stats, quit.\n"
        "Events, one JSON object a line on stdout; time_us is CLOCK_MONOTONIC.");
    g_option_context_add_main_entries(context, entries, NULL);
    ok = g_option_context_parse(context, argc, argv, error) && check_texts(options, &texts, error);
    clear_texts(&texts);
    return ok;
}

void
sa_server_options_clear(SaServerOptions *options)
{
    g_free(options->addr);
    g_free(options->unix_path);
    g_free(options->tls_dir);
    g_free(options->ticket);
    g_free(options->dump_file);
}
