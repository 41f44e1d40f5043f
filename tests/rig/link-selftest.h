/* SPDX-FileCopyrightText: The spice-accel authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "link-config.h"

/* Checks the shaper's arithmetic and then, in real namespaces, links against what they are set to:
 * rate at the receiving device, round trip when idle, queue under bulk TCP. @only is NULL, "model"
 * or one "RTT:MBIT";
 * @skew_pct sets the rates wrong on purpose, to see the check fail. Exit status: 0, 1, or 77 if
 * this machine cannot make a link. */
int sa_link_selftest(const char *only, double skew_pct);

/* The shaper's arithmetic alone. Returns the number of failures, told on stderr. */
guint sa_link_selftest_model(void);

/* What runs beside the link under test: prints one line of results. */
int sa_link_selftest_probe(const SaLinkConfig *config);
