/* SPDX-FileCopyrightText: The spice-accel authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* relay: a plain relay as hosts put in front of a display server: it reads from the server as fast
 * as it can, and what the client's link does not carry waits in its buffer and in its sockets.
 *
 *   relay --listen 10.77.0.1:5900 --to 127.0.0.1:5901 [--frames FILE]
 *
 * Prints "listening ADDRESS" once it does. With --frames it also follows the SPICE messages. */
#include <errno.h>
#include <gio/gio.h>
#include <gio/gunixsocketaddress.h>
#include <glib-unix.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "relay-frames.h"

#define BUFFER (256 * 1024)

typedef struct {
    guint8 *data; /* BUFFER bytes */
    gsize start, used;
    gboolean eof;  /* nothing more comes in */
    gboolean shut; /* and the other side was told */
    guint64 bytes;
} Pipe;

typedef struct {
    GSocket *sock;
    GSource *source;
    GIOCondition watched;
    gboolean connecting;
} End;

/* Pipe i goes from end i to end !i. */
enum {
    CLIENT,
    SERVER,
};

typedef struct {
    End end[2];
    Pipe pipe[2];
    SaFrames *frames;
} Conn;

static char *opt_listen;
static char *opt_to;
static char *opt_frames;

static const GOptionEntry entries[] = {
    {"listen", 0, 0, G_OPTION_ARG_STRING, &opt_listen, "Where to listen", "ADDR:PORT|unix:PATH"},
    {"to", 0, 0, G_OPTION_ARG_STRING, &opt_to, "Where to connect for each client",
     "HOST:PORT|unix:PATH"},
    {"frames", 0, 0, G_OPTION_ARG_FILENAME, &opt_frames,
     "Follow SPICE and write counts here at exit", "FILE"},
    {NULL},
};

static GMainLoop *loop;
static GSocketAddress *backend;
static GPtrArray *conns; /* of Conn, those that are open */
static GString *results; /* of those that are closed */
static guint n_conns;

static void watch(Conn *c, guint i);

static void
end_clear(End *end)
{
    if (end->source) {
        g_source_destroy(end->source);
        g_clear_pointer(&end->source, g_source_unref);
    }
    g_clear_object(&end->sock);
}

static void
conn_free(gpointer data)
{
    Conn *c = data;
    guint i;

    if (c->frames) {
        g_string_append(results, results->len ? ",\n" : "");
        sa_frames_json(c->frames, results);
        sa_frames_free(c->frames);
    }
    for (i = 0; i < 2; i++) {
        end_clear(&c->end[i]);
        g_free(c->pipe[i].data);
    }
    g_free(c);
}

/* FALSE: the connection is over. */
static gboolean
fill(Conn *c, guint i)
{
    Pipe *p = &c->pipe[i];
    gsize at;
    gssize n;

    if (p->eof || p->used == BUFFER)
        return TRUE;
    at = (p->start + p->used) % BUFFER;
    n = recv(g_socket_get_fd(c->end[i].sock), p->data + at,
             at < p->start ? p->start - at : BUFFER - at, MSG_DONTWAIT);
    if (n < 0)
        return errno == EAGAIN || errno == EINTR;
    if (n == 0) {
        p->eof = TRUE;
        return TRUE;
    }
    if (c->frames)
        sa_frames_feed(c->frames, i == CLIENT ? SA_FRAMES_FROM_CLIENT : SA_FRAMES_FROM_SERVER,
                       p->data + at, (gsize)n);
    p->used += (gsize)n;
    p->bytes += (guint64)n;
    return TRUE;
}

static gboolean
drain(Conn *c, guint i)
{
    Pipe *p = &c->pipe[i];
    int fd = g_socket_get_fd(c->end[!i].sock);

    while (p->used && !c->end[!i].connecting) {
        gsize run = MIN(p->used, BUFFER - p->start);
        gssize n = send(fd, p->data + p->start, run, MSG_DONTWAIT | MSG_NOSIGNAL);

        if (n < 0)
            return errno == EAGAIN || errno == EINTR;
        p->start = (p->start + (gsize)n) % BUFFER;
        p->used -= (gsize)n;
    }
    if (p->eof && !p->used && !p->shut && !c->end[!i].connecting) {
        p->shut = TRUE;
        shutdown(fd, SHUT_WR);
    }
    return TRUE;
}

/* Runs both pipes as far as they go; frees the connection when it is over. */
static void
step(Conn *c, gboolean ok)
{
    guint i;

    for (i = 0; i < 2 && ok; i++)
        ok = drain(c, i);
    if (!ok || (c->pipe[0].shut && c->pipe[1].shut)) {
        g_ptr_array_remove_fast(conns, c);
        return;
    }
    watch(c, 0);
    watch(c, 1);
}

static gboolean
on_ready(GSocket *sock, GIOCondition condition, gpointer data)
{
    Conn *c = data;
    guint i = c->end[CLIENT].sock == sock ? CLIENT : SERVER;
    End *end = &c->end[i];

    if (end->connecting) {
        g_autoptr(GError) error = NULL;

        if (!g_socket_check_connect_result(sock, &error)) {
            fprintf(stderr, "relay: %s: %s\n", opt_to, error->message);
            step(c, FALSE);
            return G_SOURCE_CONTINUE;
        }
        end->connecting = FALSE;
    }
    /* An error shows in what recv says; a hang-up of a side that has ended both ways would spin. */
    if (condition & (G_IO_IN | G_IO_ERR | G_IO_HUP)) {
        gboolean stuck =
            c->pipe[i].eof && (condition & (G_IO_ERR | G_IO_HUP)) && !(condition & G_IO_OUT);

        step(c, !stuck && fill(c, i));
    } else {
        step(c, TRUE);
    }
    return G_SOURCE_CONTINUE;
}

static void
watch(Conn *c, guint i)
{
    End *end = &c->end[i];
    GIOCondition want = 0;

    if (!c->pipe[i].eof && c->pipe[i].used < BUFFER && !end->connecting)
        want |= G_IO_IN;
    if (c->pipe[!i].used || end->connecting)
        want |= G_IO_OUT;
    if (end->source && end->watched == want)
        return;
    if (end->source) {
        g_source_destroy(end->source);
        g_clear_pointer(&end->source, g_source_unref);
    }
    /* Without a wish there is no source either: a hang-up would be reported without end. */
    if (!want)
        return;
    end->watched = want;
    end->source = g_socket_create_source(end->sock, want, NULL);
    g_source_set_callback(end->source, G_SOURCE_FUNC(on_ready), c, NULL);
    g_source_attach(end->source, NULL);
}

static void
no_delay(GSocket *sock)
{
    int one = 1;

    if (g_socket_get_family(sock) != G_SOCKET_FAMILY_UNIX)
        setsockopt(g_socket_get_fd(sock), IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
}

static gboolean
on_accept(GSocket *listener, GIOCondition condition, gpointer data)
{
    g_autoptr(GError) error = NULL;
    GSocket *client = g_socket_accept(listener, NULL, &error);
    GSocket *server;
    Conn *c;
    guint i;

    if (!client) {
        fprintf(stderr, "relay: accept: %s\n", error->message);
        return G_SOURCE_CONTINUE;
    }
    server = g_socket_new(g_socket_address_get_family(backend), G_SOCKET_TYPE_STREAM,
                          G_SOCKET_PROTOCOL_DEFAULT, &error);
    if (server) {
        g_socket_set_blocking(server, FALSE);
        no_delay(server);
        if (!g_socket_connect(server, backend, NULL, &error) &&
            g_error_matches(error, G_IO_ERROR, G_IO_ERROR_PENDING))
            g_clear_error(&error);
    }
    if (error) {
        fprintf(stderr, "relay: %s: %s\n", opt_to, error->message);
        g_object_unref(client);
        g_clear_object(&server);
        return G_SOURCE_CONTINUE;
    }

    n_conns++;
    c = g_new0(Conn, 1);
    c->end[CLIENT].sock = client;
    c->end[SERVER].sock = server;
    c->end[SERVER].connecting = TRUE; /* writable and without an error once it is connected */
    g_socket_set_blocking(client, FALSE);
    no_delay(client);
    for (i = 0; i < 2; i++)
        c->pipe[i].data = g_malloc(BUFFER);
    if (opt_frames)
        c->frames = sa_frames_new();
    g_ptr_array_add(conns, c);
    watch(c, 0);
    watch(c, 1);
    return G_SOURCE_CONTINUE;
}

static GSocketAddress *
parse_address(const char *text, GError **error)
{
    g_autoptr(GSocketConnectable) name = NULL;
    g_autoptr(GSocketAddressEnumerator) addresses = NULL;

    if (g_str_has_prefix(text, "unix:"))
        return g_unix_socket_address_new(text + strlen("unix:"));
    name = g_network_address_parse(text, 0, error);
    if (!name)
        return NULL;
    addresses = g_socket_connectable_enumerate(name);
    return g_socket_address_enumerator_next(addresses, NULL, error);
}

static GSocket *
open_listener(GError **error)
{
    g_autoptr(GSocketAddress) address = parse_address(opt_listen, error);
    g_autoptr(GSocket) sock = NULL;

    if (!address)
        return NULL;
    sock = g_socket_new(g_socket_address_get_family(address), G_SOCKET_TYPE_STREAM,
                        G_SOCKET_PROTOCOL_DEFAULT, error);
    if (!sock || !g_socket_bind(sock, address, TRUE, error) || !g_socket_listen(sock, error))
        return NULL;
    return g_steal_pointer(&sock);
}

static void
announce(GSocket *listener)
{
    g_autoptr(GSocketAddress) address = g_socket_get_local_address(listener, NULL);

    if (address && G_IS_INET_SOCKET_ADDRESS(address)) {
        GInetSocketAddress *inet = G_INET_SOCKET_ADDRESS(address);
        g_autofree char *host = g_inet_address_to_string(g_inet_socket_address_get_address(inet));

        printf(strchr(host, ':') ? "listening [%s]:%u\n" : "listening %s:%u\n", host,
               (guint)g_inet_socket_address_get_port(inet));
    } else {
        printf("listening %s\n", opt_listen);
    }
    fflush(stdout);
}

static gboolean
on_signal(gpointer data)
{
    g_main_loop_quit(loop);
    return G_SOURCE_CONTINUE;
}

int
main(int argc, char **argv)
{
    g_autoptr(GOptionContext) options = g_option_context_new(NULL);
    g_autoptr(GError) error = NULL;
    g_autoptr(GSocket) listener = NULL;
    g_autoptr(GSource) source = NULL;
    int status = 0;

    g_option_context_add_main_entries(options, entries, NULL);
    if (!g_option_context_parse(options, &argc, &argv, &error) || argc > 1 || !opt_listen ||
        !opt_to) {
        fprintf(stderr, "relay: %s\n",
                error ? error->message : "needs --listen and --to, nothing else");
        return 2;
    }
    backend = parse_address(opt_to, &error);
    listener = backend ? open_listener(&error) : NULL;
    if (!listener) {
        fprintf(stderr, "relay: %s: %s\n", backend ? opt_listen : opt_to, error->message);
        return 1;
    }
    loop = g_main_loop_new(NULL, FALSE);
    conns = g_ptr_array_new_with_free_func(conn_free);
    results = g_string_new(NULL);
    g_unix_signal_add(SIGINT, on_signal, NULL);
    g_unix_signal_add(SIGTERM, on_signal, NULL);
    source = g_socket_create_source(listener, G_IO_IN, NULL);
    g_source_set_callback(source, G_SOURCE_FUNC(on_accept), NULL, NULL);
    g_source_attach(source, NULL);
    announce(listener);

    g_main_loop_run(loop);

    g_ptr_array_free(conns, TRUE);
    if (opt_frames) {
        /* In place: a rename would replace a device or a pipe. */
        FILE *out = fopen(opt_frames, "we");
        gboolean ok = out && fprintf(out, "{\"connections\":%u,\"channels\":[\n%s\n]}\n", n_conns,
                                     results->str) > 0;

        if (out)
            ok = fclose(out) == 0 && ok;
        if (!ok) {
            fprintf(stderr, "relay: %s: %s\n", opt_frames, g_strerror(errno));
            status = 1;
        }
    }
    if (g_str_has_prefix(opt_listen, "unix:"))
        unlink(opt_listen + strlen("unix:"));
    g_string_free(results, TRUE);
    g_main_loop_unref(loop);
    g_object_unref(backend);
    return status;
}
