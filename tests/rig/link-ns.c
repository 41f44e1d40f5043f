/* SPDX-FileCopyrightText: The spice-accel authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#include "link-ns.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <gio/gio.h>
#include <linux/if_tun.h>
#include <linux/ipv6.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "link-config.h"

#define CC_FILE      "/proc/sys/net/ipv4/tcp_congestion_control"
#define CC_ALLOWED   "/proc/sys/net/ipv4/tcp_allowed_congestion_control"
#define CC_AVAILABLE "/proc/sys/net/ipv4/tcp_available_congestion_control"
/* Room in the device for the bursts of an unshaped sender: only the shaper may drop. */
#define DEVICE_QUEUE 10000

const char *const sa_link_ipv4[SA_LINK_SIDES] = {"10.77.0.1", "10.77.0.2"};
const char *const sa_link_ipv6[SA_LINK_SIDES] = {"fd77::1", "fd77::2"};
const char *const sa_link_side_name[SA_LINK_SIDES] = {"server", "client"};

static gboolean
fail(GError **error, const char *what)
{
    int saved = errno;

    g_set_error(error, G_IO_ERROR, g_io_error_from_errno(saved), "%s: %s", what, g_strerror(saved));
    return FALSE;
}

static gboolean
write_file(const char *path, const char *text)
{
    int fd = open(path, O_WRONLY | O_CLOEXEC);
    gssize n;
    int saved;

    if (fd < 0)
        return FALSE;
    n = write(fd, text, strlen(text));
    saved = errno;
    close(fd);
    errno = saved;
    return n == (gssize)strlen(text);
}

gboolean
sa_link_ns_prepare(GError **error)
{
    g_autofree char *uid_map = g_strdup_printf("0 %u 1", (guint)geteuid());
    g_autofree char *gid_map = g_strdup_printf("0 %u 1", (guint)getegid());
    pid_t child = fork();
    int status;

    if (child < 0)
        return fail(error, "fork");
    if (child == 0)
        _exit(unshare(CLONE_NEWNET) == 0 ? 0 : 1);
    while (waitpid(child, &status, 0) < 0 && errno == EINTR)
        ;
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
        return TRUE;

    if (unshare(CLONE_NEWUSER) < 0)
        return fail(error, "no network namespaces here, and no user namespace of our own");
    if (!write_file("/proc/self/setgroups", "deny") && errno != ENOENT)
        return fail(error, "/proc/self/setgroups");
    if (!write_file("/proc/self/uid_map", uid_map) || !write_file("/proc/self/gid_map", gid_map))
        return fail(error, "mapping the user into the user namespace");
    /* Gaining capabilities makes a process undumpable, and then nobody may open its /proc/PID/ns.
     */
    prctl(PR_SET_DUMPABLE, 1);
    return TRUE;
}

/* A new namespace may only use an algorithm that the first one allows to everybody. Run in the
 * first one. */
static void
allow_congestion_control(const char *cc)
{
    g_autofree char *allowed = NULL;
    g_autofree char *available = NULL;
    g_autofree char *more = NULL;

    if (!g_file_get_contents(CC_AVAILABLE, &available, NULL, NULL) || !strstr(available, cc) ||
        !g_file_get_contents(CC_ALLOWED, &allowed, NULL, NULL) || strstr(allowed, cc))
        return;
    more = g_strdup_printf("%s %s", g_strchomp(allowed), cc);
    write_file(CC_ALLOWED, more); /* without the right to, setting it reports the failure */
}

static gboolean
set_tcp(const char *cc, GError **error)
{
    /* What a distribution kernel has by default, whatever the machine under test was tuned to. IPv6
     * stays quiet: no link-local address, no solicitations, no waiting for duplicate addresses. */
    static const struct {
        const char *path;
        const char *value;
        gboolean needed;
    } table[] = {
        {"/proc/sys/net/ipv4/tcp_rmem", "4096 131072 6291456", TRUE},
        {"/proc/sys/net/ipv4/tcp_wmem", "4096 16384 4194304", TRUE},
        {"/proc/sys/net/ipv4/tcp_no_metrics_save", "1", TRUE},
        {"/proc/sys/net/ipv4/tcp_notsent_lowat", "4294967295", FALSE},
        {"/proc/sys/net/ipv4/tcp_slow_start_after_idle", "1", FALSE},
        {"/proc/sys/net/ipv4/ping_group_range", "0 0", FALSE},
        {"/proc/sys/net/ipv6/conf/default/accept_dad", "0", FALSE},
        {"/proc/sys/net/ipv6/conf/default/router_solicitations", "0", FALSE},
        {"/proc/sys/net/ipv6/conf/default/addr_gen_mode", "1", FALSE},
    };
    guint i;

    for (i = 0; i < G_N_ELEMENTS(table); i++) {
        if (!write_file(table[i].path, table[i].value) && table[i].needed)
            return fail(error, table[i].path);
    }
    if (!write_file(CC_FILE, cc)) {
        int saved = errno;

        g_set_error(error, G_IO_ERROR, g_io_error_from_errno(saved),
                    "congestion control %s: %s (root can allow it: sysctl -w "
                    "net.ipv4.tcp_allowed_congestion_control=\"reno %s\")",
                    cc, g_strerror(saved), cc);
        return FALSE;
    }
    return TRUE;
}

static gboolean
device_up(int sock, const char *name, GError **error)
{
    struct ifreq req = {0};

    g_strlcpy(req.ifr_name, name, sizeof(req.ifr_name));
    if (ioctl(sock, SIOCGIFFLAGS, &req) < 0)
        return fail(error, name);
    req.ifr_flags |= IFF_UP | IFF_RUNNING;
    return ioctl(sock, SIOCSIFFLAGS, &req) == 0 || fail(error, name);
}

static gboolean
device_address(int sock, unsigned long request, const char *address, const char *what,
               GError **error)
{
    struct ifreq req = {0};
    struct sockaddr_in *in = (struct sockaddr_in *)&req.ifr_addr;

    g_strlcpy(req.ifr_name, SA_LINK_DEVICE, sizeof(req.ifr_name));
    in->sin_family = AF_INET;
    inet_pton(AF_INET, address, &in->sin_addr);
    return ioctl(sock, request, &req) == 0 || fail(error, what);
}

static gboolean
device_address6(const char *address, GError **error)
{
    int sock = socket(AF_INET6, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    struct in6_ifreq req = {.ifr6_prefixlen = 64};
    gboolean ok;

    if (sock < 0)
        return errno == EAFNOSUPPORT ||
               fail(error, "IPv6 socket"); /* a kernel without IPv6 will do */
    inet_pton(AF_INET6, address, &req.ifr6_addr);
    req.ifr6_ifindex = (int)if_nametoindex(SA_LINK_DEVICE);
    ok = ioctl(sock, SIOCSIFADDR, &req) == 0 || fail(error, "IPv6 address");
    close(sock);
    return ok;
}

/* By netlink: the ioctl asks for rights outside the namespace. */
static gboolean
device_queue(guint32 length, GError **error)
{
    struct {
        struct nlmsghdr header;
        struct ifinfomsg info;
        struct rtattr attr;
        guint32 length;
    } request = {
        .header = {.nlmsg_len = sizeof(request),
                   .nlmsg_type = RTM_NEWLINK,
                   .nlmsg_flags = NLM_F_REQUEST | NLM_F_ACK},
        .info = {.ifi_index = (int)if_nametoindex(SA_LINK_DEVICE)},
        .attr = {.rta_len = RTA_LENGTH(sizeof(guint32)), .rta_type = IFLA_TXQLEN},
        .length = length,
    };
    struct {
        struct nlmsghdr header;
        struct nlmsgerr result;
    } reply = {0};
    int sock = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE);
    gssize n = -1;

    if (sock >= 0 && send(sock, &request, sizeof(request), 0) == sizeof(request))
        n = recv(sock, &reply, sizeof(reply), 0);
    if (n >= (gssize)sizeof(reply) && reply.header.nlmsg_type == NLMSG_ERROR) {
        errno = -reply.result.error;
        n = errno ? -1 : n;
    } else if (n >= 0) {
        errno = EPROTO;
        n = -1;
    }
    if (n < 0)
        fail(error, "queue length of the device");
    if (sock >= 0)
        close(sock);
    return n >= 0;
}

static int
open_tun(SaLinkSide side, int sock, GError **error)
{
    int fd = open("/dev/net/tun", O_RDWR | O_NONBLOCK | O_CLOEXEC);
    struct ifreq req = {.ifr_flags = IFF_TUN | IFF_NO_PI};

    if (fd < 0) {
        fail(error, "/dev/net/tun");
        return -1;
    }
    g_strlcpy(req.ifr_name, SA_LINK_DEVICE, sizeof(req.ifr_name));
    if (ioctl(fd, TUNSETIFF, &req) < 0) {
        fail(error, "TUNSETIFF");
        goto failed;
    }
    /* No TUNSETOFFLOAD: the kernel cuts what TCP hands it into packets of at most one MTU. */
    if (!device_queue(DEVICE_QUEUE, error))
        goto failed;
    req.ifr_mtu = SA_LINK_MTU;
    if (ioctl(sock, SIOCSIFMTU, &req) < 0) {
        fail(error, "MTU of the device");
        goto failed;
    }
    if (device_address(sock, SIOCSIFADDR, sa_link_ipv4[side], "IPv4 address", error) &&
        device_address(sock, SIOCSIFNETMASK, "255.255.255.0", "IPv4 netmask", error) &&
        device_address6(sa_link_ipv6[side], error) && device_up(sock, SA_LINK_DEVICE, error))
        return fd;
failed:
    close(fd);
    return -1;
}

/* One byte of status, the text of an error after it, and the descriptor if there is one. */
static void
report(int channel, int fd, const char *problem)
{
    char text[512];
    union {
        struct cmsghdr align;
        char bytes[CMSG_SPACE(sizeof(int))];
    } control = {0};
    struct iovec iov = {.iov_base = text};
    struct msghdr msg = {.msg_iov = &iov, .msg_iovlen = 1};

    text[0] = problem ? 1 : 0;
    g_strlcpy(text + 1, problem ? problem : "", sizeof(text) - 1);
    iov.iov_len = 1 + strlen(text + 1);
    if (fd >= 0) {
        struct cmsghdr *header;

        msg.msg_control = control.bytes;
        msg.msg_controllen = sizeof(control.bytes);
        header = CMSG_FIRSTHDR(&msg);
        header->cmsg_level = SOL_SOCKET;
        header->cmsg_type = SCM_RIGHTS;
        header->cmsg_len = CMSG_LEN(sizeof(int));
        memcpy(CMSG_DATA(header), &fd, sizeof(fd));
    }
    if (sendmsg(channel, &msg, MSG_NOSIGNAL) < 0)
        _exit(1);
}

static _Noreturn void
hold(SaLinkSide side, const char *cc, gboolean tun, int channel, pid_t parent)
{
    g_autoptr(GError) error = NULL;
    sigset_t none;
    int fd = -1;
    int sock;

    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent)
        _exit(1);
    /* Ctrl-C is for the parent, which then ends this process. */
    signal(SIGINT, SIG_IGN);
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    prctl(PR_SET_NAME, side == SA_LINK_SERVER ? "link-server" : "link-client");

    if (unshare(CLONE_NEWNET) < 0) {
        report(channel, -1, "unshare of the network namespace failed");
        _exit(1);
    }
    sock = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (sock < 0)
        fail(&error, "socket");
    else if (device_up(sock, "lo", &error) && set_tcp(cc, &error) && tun)
        fd = open_tun(side, sock, &error);
    report(channel, fd, error ? error->message : NULL);
    if (error)
        _exit(1);
    close(sock);
    if (fd >= 0)
        close(fd);
    close(channel);
    for (;;)
        pause();
}

/* The child's report: FALSE with its error, or TRUE with the descriptor (-1 without one). */
static gboolean
receive(int channel, int *fd, GError **error)
{
    char text[512];
    union {
        struct cmsghdr align;
        char bytes[CMSG_SPACE(sizeof(int))];
    } control;
    struct iovec iov = {.iov_base = text, .iov_len = sizeof(text) - 1};
    struct msghdr msg = {
        .msg_iov = &iov,
        .msg_iovlen = 1,
        .msg_control = control.bytes,
        .msg_controllen = sizeof(control.bytes),
    };
    struct cmsghdr *header;
    gssize n;

    do
        n = recvmsg(channel, &msg, MSG_CMSG_CLOEXEC);
    while (n < 0 && errno == EINTR);
    if (n <= 0) {
        g_set_error_literal(error, G_IO_ERROR, G_IO_ERROR_FAILED, "the namespace's process died");
        return FALSE;
    }
    text[n] = '\0';
    if (text[0]) {
        g_set_error_literal(error, G_IO_ERROR, G_IO_ERROR_FAILED, text + 1);
        return FALSE;
    }
    header = CMSG_FIRSTHDR(&msg);
    *fd = -1;
    if (header && header->cmsg_type == SCM_RIGHTS)
        memcpy(fd, CMSG_DATA(header), sizeof(*fd));
    return TRUE;
}

gboolean
sa_link_end_open(SaLinkEnd *end, SaLinkSide side, const char *cc, gboolean tun, GError **error)
{
    pid_t parent = getpid();
    int channel[2];
    gboolean ok;

    end->pid = 0;
    end->tun_fd = -1;
    allow_congestion_control(cc);
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, channel) < 0)
        return fail(error, "socketpair");
    end->pid = fork();
    if (end->pid == 0) {
        close(channel[0]);
        hold(side, cc, tun, channel[1], parent);
    }
    close(channel[1]);
    ok = end->pid > 0 ? receive(channel[0], &end->tun_fd, error) : fail(error, "fork");
    close(channel[0]);
    if (!ok) {
        g_prefix_error(error, "%s side: ", sa_link_side_name[side]);
        sa_link_end_close(end);
    }
    return ok;
}

void
sa_link_end_close(SaLinkEnd *end)
{
    if (end->tun_fd >= 0)
        close(end->tun_fd);
    end->tun_fd = -1;
    if (end->pid > 0) {
        kill(end->pid, SIGKILL);
        while (waitpid(end->pid, NULL, 0) < 0 && errno == EINTR)
            ;
    }
    end->pid = 0;
}

static gboolean
join_one(pid_t pid, const char *type, int flag, GError **error)
{
    g_autofree char *path = g_strdup_printf("/proc/%d/ns/%s", (int)pid, type);
    g_autofree char *own = g_strdup_printf("/proc/self/ns/%s", type);
    struct stat a, b;
    int fd;
    gboolean ok;

    if (stat(path, &a) == 0 && stat(own, &b) == 0 && a.st_ino == b.st_ino && a.st_dev == b.st_dev)
        return TRUE; /* entering one's own user namespace is an error */
    fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return fail(error, path);
    ok = setns(fd, flag) == 0 || fail(error, path);
    close(fd);
    return ok;
}

gboolean
sa_link_ns_join(pid_t pid, GError **error)
{
    return join_one(pid, "user", CLONE_NEWUSER, error) && join_one(pid, "net", CLONE_NEWNET, error);
}

char *
sa_link_ns_control(const SaLinkEnd ends[SA_LINK_SIDES])
{
    return g_strdup_printf("server=%d,client=%d", (int)ends[SA_LINK_SERVER].pid,
                           (int)ends[SA_LINK_CLIENT].pid);
}

pid_t
sa_link_ns_find(SaLinkSide side, GError **error)
{
    const char *control = g_getenv("SA_LINK_CONTROL");
    int pids[SA_LINK_SIDES];

    if (!control) {
        g_set_error_literal(error, G_IO_ERROR, G_IO_ERROR_NOT_FOUND,
                            "SA_LINK_CONTROL is not set: no link runs this command");
        return 0;
    }
    if (sscanf(control, "server=%d,client=%d", &pids[SA_LINK_SERVER], &pids[SA_LINK_CLIENT]) != 2 ||
        pids[side] <= 1) {
        g_set_error(error, G_IO_ERROR, G_IO_ERROR_INVALID_DATA,
                    "SA_LINK_CONTROL=%s is not of a link", control);
        return 0;
    }
    return pids[side];
}
