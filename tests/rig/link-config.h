/* SPDX-FileCopyrightText: The spice-accel authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <glib.h>

/* What the command line says about the link. Down is server to client. */

#define SA_LINK_MTU 1500

typedef enum { SA_LINK_DOWN, SA_LINK_UP, SA_LINK_DIRECTIONS } SaLinkDirection;

typedef struct {
    double rtt_ms;
    double loss; /* 0..1 */
    guint32 seed;
    double mbit[SA_LINK_DIRECTIONS];   /* at the start; 0: unlimited */
    guint64 queue[SA_LINK_DIRECTIONS]; /* bytes */
    GArray *rates[SA_LINK_DIRECTIONS]; /* of SaLinkRate: steps and outages included */
    gboolean changes;                  /* has a step or an outage */
} SaLinkConfig;

/* @rate is "MBIT[:UP]", 0 for unlimited; @queue bytes, 0 for one bandwidth-delay product but no
 * less than ten full packets (1 MiB where the rate is unlimited); @loss_pct 0..100; @steps are
 * "AT_S:MBIT[:UP]" and @outages "AT_S:FOR_S", NULL-terminated or NULL. On error nothing is left to
 * free. */
gboolean
sa_link_config_init(SaLinkConfig *config, double rtt_ms, const char *rate, guint64 queue,
                    double loss_pct, guint32 seed, char **steps, char **outages, GError **error);
void sa_link_config_clear(SaLinkConfig *config);
