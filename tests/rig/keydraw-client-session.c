/* SPDX-FileCopyrightText: The spice-accel authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#include "keydraw-client-session.h"

#include <spice-client.h>
#include <string.h>

#define KEY_A 0x1e /* scan code, set 1 */

struct SaClientSession {
    SaClientConfig config;
    SpiceSession *session;
    SpiceChannel *display;
    SpiceInputsChannel *inputs;
    GPtrArray *channels; /* all that ever were, for their byte counts */
    gboolean inputs_open;
    gboolean ready;
    gboolean failed;
    gint width, height;
};

static void
fail(SaClientSession *s, const char *why)
{
    if (s->failed)
        return;
    s->failed = TRUE;
    s->config.failed(s->config.data, why);
}

static void
check_ready(SaClientSession *s)
{
    SaPixels pixels;

    if (s->ready || s->failed || !s->inputs_open || !sa_client_session_pixels(s, &pixels))
        return;
    s->ready = TRUE;
    s->config.ready(s->config.data);
}

gboolean
sa_client_session_pixels(SaClientSession *s, SaPixels *pixels)
{
    SpiceDisplayPrimary primary;

    if (!s->display || !spice_display_channel_get_primary(s->display, 0, &primary) || !primary.data)
        return FALSE;
    pixels->data = primary.data;
    pixels->stride = primary.stride;
    pixels->width = primary.width;
    pixels->height = primary.height;
    switch (primary.format) {
    case SPICE_SURFACE_FMT_32_xRGB:
    case SPICE_SURFACE_FMT_32_ARGB:
        pixels->format = SA_PIXELS_XRGB8888;
        return TRUE;
    case SPICE_SURFACE_FMT_16_555:
        pixels->format = SA_PIXELS_XRGB1555;
        return TRUE;
    default:
        return FALSE;
    }
}

static void
on_invalidate(SpiceChannel *channel, gint x, gint y, gint width, gint height, gpointer data)
{
    SaClientSession *s = data;
    SaRect damage = {x, y, width, height};
    SaPixels pixels;

    if (!s->failed && sa_client_session_pixels(s, &pixels))
        s->config.drawn(s->config.data, &pixels, &damage);
}

static void
on_primary(SpiceChannel *channel, gint format, gint width, gint height, gint stride, gint shmid,
           gpointer memory, gpointer data)
{
    check_ready(data);
}

static void
on_event(SpiceChannel *channel, SpiceChannelEvent event, gpointer data)
{
    SaClientSession *s = data;
    const GError *error = spice_channel_get_error(channel);
    g_autofree char *why = NULL;
    int type;

    g_object_get(channel, "channel-type", &type, NULL);
    switch (event) {
    case SPICE_CHANNEL_OPENED:
        if (type == SPICE_CHANNEL_INPUTS) {
            s->inputs_open = TRUE;
            check_ready(s);
        }
        return;
    case SPICE_CHANNEL_SWITCHING:
    case SPICE_CHANNEL_NONE:
        return;
    case SPICE_CHANNEL_CLOSED:
        why = g_strdup("the server closed the connection");
        break;
    case SPICE_CHANNEL_ERROR_CONNECT:
        why = g_strdup("no connection");
        break;
    case SPICE_CHANNEL_ERROR_TLS:
        why = g_strdup("TLS failed");
        break;
    case SPICE_CHANNEL_ERROR_LINK:
        why = g_strdup("the SPICE link phase failed");
        break;
    case SPICE_CHANNEL_ERROR_AUTH:
        why = g_strdup("wrong or missing password");
        break;
    case SPICE_CHANNEL_ERROR_IO:
        why = g_strdup("the connection broke");
        break;
    }
    if (error) {
        g_autofree char *plain = g_steal_pointer(&why);

        why = g_strdup_printf("%s: %s", plain, error->message);
    }
    fail(s, why ? why : "unknown trouble on the connection");
}

static void
on_channel_new(SpiceSession *session, SpiceChannel *channel, gpointer data)
{
    SaClientSession *s = data;
    int type, id;

    g_object_get(channel, "channel-type", &type, "channel-id", &id, NULL);
    switch (type) {
    case SPICE_CHANNEL_MAIN: /* the session connects it */
        break;
    case SPICE_CHANNEL_DISPLAY:
        if (id == s->config.display) {
            s->display = channel;
            g_signal_connect(channel, "display-primary-create", G_CALLBACK(on_primary), s);
            g_signal_connect(channel, "display-invalidate", G_CALLBACK(on_invalidate), s);
        }
        spice_channel_connect(channel);
        break;
    case SPICE_CHANNEL_INPUTS:
        s->inputs = SPICE_INPUTS_CHANNEL(channel);
        spice_channel_connect(channel);
        break;
    case SPICE_CHANNEL_CURSOR:
        spice_channel_connect(channel);
        break;
    default:
        return;
    }
    g_signal_connect(channel, "channel-event", G_CALLBACK(on_event), s);
    g_ptr_array_add(s->channels, g_object_ref(channel));
}

/* The host of spice://HOST:PORT; brackets of an IPv6 address go. */
static char *
host_of(const char *uri)
{
    const char *host = strstr(uri, "://") + strlen("://");

    if (*host == '[')
        return g_strndup(host + 1, strcspn(host + 1, "]"));
    return g_strndup(host, strcspn(host, ":/?"));
}

SaClientSession *
sa_client_session_new(const SaClientConfig *config)
{
    SaClientSession *s = g_new0(SaClientSession, 1);

    s->config = *config;
    s->channels = g_ptr_array_new_with_free_func(g_object_unref);
    s->session = spice_session_new();
    g_object_set(s->session, "enable-audio", FALSE, "enable-usbredir", FALSE, "enable-smartcard",
                 FALSE, NULL);
    if (config->tls_port) {
        /* TLS alone: given a plain port as well, spice-gtk would try that first. */
        g_autofree char *host = host_of(config->uri);
        g_autofree char *port = g_strdup_printf("%d", config->tls_port);

        g_object_set(s->session, "host", host, "tls-port", port, NULL);
    } else {
        g_object_set(s->session, "uri", config->uri, NULL);
    }
    if (config->ca_file)
        g_object_set(s->session, "ca-file", config->ca_file, NULL);
    if (config->host_subject)
        g_object_set(s->session, "cert-subject", config->host_subject, NULL);
    if (config->password)
        g_object_set(s->session, "password", config->password, NULL);
    g_signal_connect(s->session, "channel-new", G_CALLBACK(on_channel_new), s);
    if (!spice_session_connect(s->session))
        fail(s, "no connection can be started: a wrong address?");
    return s;
}

static void
disconnect_handlers(gpointer object, gpointer data)
{
    g_signal_handlers_disconnect_by_data(object, data);
}

void
sa_client_session_free(SaClientSession *session)
{
    if (!session)
        return;
    session->failed = TRUE;
    g_ptr_array_foreach(session->channels, disconnect_handlers, session);
    disconnect_handlers(session->session, session);
    g_ptr_array_unref(session->channels);
    spice_session_disconnect(session->session);
    /* The channels end in the main loop. */
    while (g_main_context_iteration(NULL, FALSE))
        ;
    g_object_unref(session->session);
    g_free(session);
}

void
sa_client_session_key(SaClientSession *session)
{
    spice_inputs_channel_key_press(session->inputs, KEY_A);
    spice_inputs_channel_key_release(session->inputs, KEY_A);
}

guint64
sa_client_session_bytes(SaClientSession *session, gboolean display_only)
{
    guint64 sum = 0;
    guint i;

    for (i = 0; i < session->channels->len; i++) {
        SpiceChannel *channel = g_ptr_array_index(session->channels, i);
        gulong bytes = 0;

        if (display_only && !SPICE_IS_DISPLAY_CHANNEL(channel))
            continue;
        g_object_get(channel, "total-read-bytes", &bytes, NULL);
        sum += bytes;
    }
    return sum;
}
