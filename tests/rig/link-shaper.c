/* SPDX-FileCopyrightText: The spice-accel authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#include "link-shaper.h"

#include <string.h>

/* A delay line without a rate holds as much as the sender cares to put into it. */
#define HELD_MAX (G_GUINT64_CONSTANT(64) << 20)

struct SaLinkShaper {
    SaLinkShaperConfig config;
    gint64 start_ns;
    GRand *rand;
    SaLinkPacket *head; /* next to deliver */
    SaLinkPacket *tail;
    SaLinkPacket *serving; /* first one that is not served yet; NULL: all are in the delay line */
    gint64 free_ns;        /* the bottleneck has served everything it accepted */
    guint64 queued;        /* bytes from serving to tail */
    guint64 held;          /* bytes from head to tail */
    guint segment;         /* of config.rates, in force at free_ns or later */
    SaLinkShaperStats stats;
};

SaLinkShaper *
sa_link_shaper_new(const SaLinkShaperConfig *config, gint64 start_ns)
{
    SaLinkShaper *shaper = g_new0(SaLinkShaper, 1);

    shaper->config = *config;
    shaper->start_ns = start_ns;
    shaper->free_ns = start_ns;
    shaper->rand = g_rand_new_with_seed(config->seed);
    return shaper;
}

void
sa_link_shaper_free(SaLinkShaper *shaper)
{
    if (!shaper)
        return;
    while (shaper->head) {
        SaLinkPacket *packet = shaper->head;

        shaper->head = packet->next;
        g_free(packet);
    }
    g_rand_free(shaper->rand);
    g_free(shaper);
}

/* When @bits are served whose service may begin at @from: walks the schedule of rates. Service is
 * in order, so the segment in force only moves forward. @begun is when the first bit is served. */
static gint64
serve(SaLinkShaper *shaper, gint64 from, guint64 bits, gint64 *begun)
{
    const GArray *rates = shaper->config.rates;
    gint64 at = from;

    *begun = -1;
    for (;;) {
        const SaLinkRate *rate = &g_array_index(rates, SaLinkRate, shaper->segment);
        gboolean last = shaper->segment + 1 >= rates->len;
        gint64 until =
            last ? SA_LINK_NEVER
                 : shaper->start_ns + g_array_index(rates, SaLinkRate, shaper->segment + 1).at_ns;

        if (at < until && rate->bits_per_s) {
            guint64 need;

            if (*begun < 0)
                *begun = at;
            if (rate->bits_per_s == SA_LINK_UNLIMITED)
                return at;
            need = (guint64)((double)bits * 1e9 / (double)rate->bits_per_s + 0.5);
            if (last || need <= (guint64)(until - at))
                return at + (gint64)need;
            bits -= MIN(bits, (guint64)((double)(until - at) * (double)rate->bits_per_s / 1e9));
        }
        if (last)
            return at; /* a schedule never ends at rate 0 */
        at = MAX(at, until);
        shaper->segment++;
    }
}

/* Packets served by now have left the queue for the delay line. */
static void
advance(SaLinkShaper *shaper, gint64 now_ns)
{
    while (shaper->serving && shaper->serving->served_ns <= now_ns) {
        shaper->queued -= shaper->serving->size;
        shaper->serving = shaper->serving->next;
    }
}

gboolean
sa_link_shaper_push(SaLinkShaper *shaper, gint64 now_ns, const void *data, gsize size)
{
    SaLinkPacket *packet;
    gint64 begun;

    shaper->stats.packets_in++;
    advance(shaper, now_ns);
    if (shaper->config.loss > 0 && g_rand_double(shaper->rand) < shaper->config.loss) {
        shaper->stats.drop_loss++;
        return FALSE;
    }
    if (shaper->queued + size > shaper->config.queue_max) {
        shaper->stats.drop_queue++;
        return FALSE;
    }
    if (shaper->held + size > HELD_MAX) {
        shaper->stats.drop_memory++;
        return FALSE;
    }

    packet = g_malloc(sizeof(*packet) + size);
    packet->next = NULL;
    packet->size = (guint32)size;
    memcpy(packet->data, data, size);
    packet->served_ns = serve(shaper, MAX(now_ns, shaper->free_ns), size * 8, &begun);
    packet->due_ns = packet->served_ns + shaper->config.delay_ns;
    shaper->free_ns = packet->served_ns;
    sa_link_hist_add(&shaper->stats.queueing, begun - now_ns);

    if (shaper->tail)
        shaper->tail->next = packet;
    else
        shaper->head = packet;
    shaper->tail = packet;
    if (!shaper->serving)
        shaper->serving = packet;
    shaper->queued += size;
    shaper->held += size;
    shaper->stats.queue_peak = MAX(shaper->stats.queue_peak, shaper->queued);
    return TRUE;
}

gint64
sa_link_shaper_next(const SaLinkShaper *shaper)
{
    return shaper->head ? shaper->head->due_ns : SA_LINK_NEVER;
}

SaLinkPacket *
sa_link_shaper_pop(SaLinkShaper *shaper, gint64 now_ns)
{
    SaLinkPacket *packet = shaper->head;

    if (!packet || packet->due_ns > now_ns)
        return NULL;
    advance(shaper, now_ns); /* it is due, so it is served: serving moves past it */
    shaper->head = packet->next;
    if (!shaper->head)
        shaper->tail = NULL;
    shaper->held -= packet->size;
    shaper->stats.packets++;
    shaper->stats.bytes += packet->size;
    sa_link_hist_add(&shaper->stats.lateness, now_ns - packet->due_ns);
    return packet;
}

const SaLinkShaperStats *
sa_link_shaper_stats(const SaLinkShaper *shaper)
{
    return &shaper->stats;
}
