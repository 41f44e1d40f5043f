/* SPDX-FileCopyrightText: The spice-accel authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <glib.h>
#include <sys/types.h>

/* The two ends of the link: anonymous network namespaces, each held by a child process that does
 * nothing else and dies with its parent. With the last process in it a namespace is gone. */

typedef enum { SA_LINK_SERVER, SA_LINK_CLIENT, SA_LINK_SIDES } SaLinkSide;

#define SA_LINK_DEVICE "sa0"

/* Addresses of the two ends, one network each. */
extern const char *const sa_link_ipv4[SA_LINK_SIDES]; /* /24 */
extern const char *const sa_link_ipv6[SA_LINK_SIDES]; /* /64 */
extern const char *const sa_link_side_name[SA_LINK_SIDES];

typedef struct {
    pid_t pid;
    int tun_fd; /* non-blocking; -1 without TUN */
} SaLinkEnd;

/* FALSE and a reason if this process may not make network namespaces, not even in a user namespace
 * of its own. Enters one (uid mapped to 0) if need be; the process must have one thread only. */
gboolean sa_link_ns_prepare(GError **error);

/* A new namespace with loopback up and TCP as a distribution sets it up, congestion control @cc;
 * with @tun also the device with its addresses, up. */
gboolean
sa_link_end_open(SaLinkEnd *end, SaLinkSide side, const char *cc, gboolean tun, GError **error);
void sa_link_end_close(SaLinkEnd *end);

/* Enters the namespaces of process @pid for good; one thread only. */
gboolean sa_link_ns_join(pid_t pid, GError **error);

/* SA_LINK_CONTROL of a running link names the two holders; 0 and a reason if it is absent or
 * broken. */
pid_t sa_link_ns_find(SaLinkSide side, GError **error);
char *sa_link_ns_control(const SaLinkEnd ends[SA_LINK_SIDES]);
