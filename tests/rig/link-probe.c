/* SPDX-FileCopyrightText: The spice-accel authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "link-ns.h"
#include "link-selftest.h"

/* The self-test's command. A child at the server's end echoes datagrams and sends without end to
 * whoever connects; this process, at the client's end, measures with its own clock and the kernel's
 * device counters. */

#define ECHO_PORT 7001
#define BULK_PORT 7002
#define PINGS     12
#define IDLE_GAP  30 /* ms between pings */

static struct sockaddr_in
server_address(guint16 port)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(port)};

    inet_pton(AF_INET, sa_link_ipv4[SA_LINK_SERVER], &address.sin_addr);
    return address;
}

static int
bound(int type, guint16 port)
{
    struct sockaddr_in address = server_address(port);
    int fd = socket(AF_INET, type | SOCK_CLOEXEC, 0);

    if (fd >= 0 && bind(fd, (struct sockaddr *)&address, sizeof(address)) == 0 &&
        (type == SOCK_DGRAM || listen(fd, 4) == 0))
        return fd;
    perror("link: probe: server socket");
    return -1;
}

/* On a busy machine, to measure the link and not the wait for a processor; where it is allowed. */
static void
go_first(void)
{
    struct sched_param priority = {.sched_priority = 1};

    sched_setscheduler(0, SCHED_FIFO, &priority);
}

static _Noreturn void
serve(int ready)
{
    static const guint8 zeros[65536];
    int echo = bound(SOCK_DGRAM, ECHO_PORT);
    int bulk = bound(SOCK_STREAM, BULK_PORT);
    int conn = -1;

    if (echo < 0 || bulk < 0 || write(ready, "", 1) != 1)
        _exit(1);
    for (;;) {
        struct pollfd fds[3] = {
            {.fd = echo, .events = POLLIN},
            {.fd = bulk, .events = POLLIN},
            {.fd = conn, .events = POLLOUT},
        };
        struct sockaddr_in from;
        socklen_t size = sizeof(from);
        char data[64];

        if (poll(fds, 3, -1) < 0)
            _exit(1);
        if (fds[0].revents) {
            gssize n = recvfrom(echo, data, sizeof(data), 0, (struct sockaddr *)&from, &size);

            if (n > 0)
                sendto(echo, data, (gsize)n, 0, (struct sockaddr *)&from, size);
        }
        if (fds[1].revents && conn < 0)
            conn = accept4(bulk, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
        if (conn >= 0 && fds[2].revents && send(conn, zeros, sizeof(zeros), MSG_NOSIGNAL) < 0 &&
            errno != EAGAIN)
            _exit(0);
    }
}

/* IP bytes that arrived at the client's device. */
static guint64
received(void)
{
    g_autofree char *text = NULL;
    const char *line;

    if (!g_file_get_contents("/proc/self/net/dev", &text, NULL, NULL) ||
        !(line = strstr(text, SA_LINK_DEVICE ":")))
        return 0;
    return g_ascii_strtoull(line + strlen(SA_LINK_DEVICE ":"), NULL, 10);
}

static int
compare(const void *a, const void *b)
{
    double x = *(const double *)a;
    double y = *(const double *)b;

    return x < y ? -1 : x > y;
}

typedef struct {
    int fd;
    gint64 sent; /* us; of the ping on its way */
    gboolean waiting;
    guint32 number;
    GArray *rtts; /* double, ms */
} Pinger;

static void
ping(Pinger *p)
{
    struct sockaddr_in to = server_address(ECHO_PORT);

    p->number++;
    p->sent = g_get_monotonic_time();
    p->waiting = TRUE;
    if (sendto(p->fd, &p->number, sizeof(p->number), 0, (struct sockaddr *)&to, sizeof(to)) < 0)
        perror("link: probe: ping");
}

static void
pong(Pinger *p)
{
    guint32 number;

    while (recv(p->fd, &number, sizeof(number), MSG_DONTWAIT) == sizeof(number)) {
        double ms = (double)(g_get_monotonic_time() - p->sent) / 1e3;

        if (number != p->number || !p->waiting)
            continue;
        p->waiting = FALSE;
        g_array_append_val(p->rtts, ms);
    }
}

static double
quantile(GArray *values, double q)
{
    guint i = (guint)(q * values->len);

    if (!values->len)
        return -1;
    qsort(values->data, values->len, sizeof(double), compare);
    return g_array_index(values, double, MIN(i, values->len - 1));
}

/* Pings one at a time until @until, and reads what comes on @bulk (-1: none). */
static void
spend(Pinger *p, int bulk, gint64 until, gint64 timeout)
{
    static guint8 sink[262144];
    gint64 now = g_get_monotonic_time();

    while (now < until) {
        struct pollfd fds[2] = {{.fd = p->fd, .events = POLLIN}, {.fd = bulk, .events = POLLIN}};

        if (poll(fds, 2, 5) < 0)
            break;
        if (fds[1].revents && read(bulk, sink, sizeof(sink)) == 0)
            break;
        if (fds[0].revents)
            pong(p);
        now = g_get_monotonic_time();
        /* A full queue may have dropped it. */
        if (p->waiting ? now - p->sent > timeout : now - p->sent > IDLE_GAP * 1000)
            ping(p);
    }
}

static int
measure(const SaLinkConfig *config)
{
    gint64 rtt = (gint64)(config->rtt_ms * 1000);
    struct sockaddr_in to = server_address(BULK_PORT);
    Pinger p = {.fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0)};
    double idle[2], mbit;
    guint64 bytes;
    gint64 from;
    int bulk;

    p.rtts = g_array_new(FALSE, FALSE, sizeof(double));
    spend(&p, -1, g_get_monotonic_time() + PINGS * (rtt + IDLE_GAP * 1000 + 5000), rtt + 500000);
    idle[0] = quantile(p.rtts, 0.5);
    idle[1] = quantile(p.rtts, 0.95);

    bulk = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (bulk < 0 || connect(bulk, (struct sockaddr *)&to, sizeof(to)) < 0) {
        perror("link: probe: connect");
        return 1;
    }
    /* Slow start and the recovery from it are over after twenty round trips. */
    spend(&p, bulk, g_get_monotonic_time() + MAX(20 * rtt, 500000), 3 * rtt + 100000);
    g_array_set_size(p.rtts, 0);
    bytes = received();
    from = g_get_monotonic_time();
    spend(&p, bulk, from + 2000000 + 10 * rtt, 3 * rtt + 100000);
    bytes = received() - bytes;
    mbit = (double)bytes * 8 / (double)(g_get_monotonic_time() - from);

    printf("rtt %.3f %.3f mbit %.4f queue %.3f %.3f\n", idle[0], idle[1], mbit,
           quantile(p.rtts, 0.5) - config->rtt_ms, quantile(p.rtts, 0.9) - config->rtt_ms);
    close(bulk);
    close(p.fd);
    g_array_free(p.rtts, TRUE);
    return 0;
}

int
sa_link_selftest_probe(const SaLinkConfig *config)
{
    g_autoptr(GError) error = NULL;
    pid_t server = sa_link_ns_find(SA_LINK_SERVER, &error);
    pid_t client = server ? sa_link_ns_find(SA_LINK_CLIENT, &error) : 0;
    int ready[2];
    pid_t child;
    char byte;
    int status = 1;

    if (!client || pipe(ready) < 0) {
        fprintf(stderr, "link: probe: %s\n", error ? error->message : g_strerror(errno));
        return 1;
    }
    go_first();
    child = fork();
    if (child == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        close(ready[0]);
        if (!sa_link_ns_join(server, NULL))
            _exit(1);
        serve(ready[1]);
    }
    close(ready[1]);
    if (child < 0 || read(ready[0], &byte, 1) != 1 || !sa_link_ns_join(client, &error))
        fprintf(stderr, "link: probe: %s\n",
                error ? error->message : "the server's end did not start");
    else
        status = measure(config);
    close(ready[0]);
    if (child > 0) {
        kill(child, SIGKILL);
        waitpid(child, NULL, 0);
    }
    return status;
}
