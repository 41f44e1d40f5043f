/* SPDX-FileCopyrightText: The spice-accel authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "link-config.h"
#include "link-ns.h"

/* The same link made by the kernel: a veth pair with netem at both ends. Needs ip, tc and
 * sch_netem; FALSE and what is missing otherwise. Steps and outages are for the user-space link
 * only. */
gboolean sa_link_netem_setup(const SaLinkConfig *config, const SaLinkEnd ends[SA_LINK_SIDES],
                             GError **error);
