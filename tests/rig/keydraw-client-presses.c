/* SPDX-FileCopyrightText: The spice-accel authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#include "keydraw-client-presses.h"

typedef struct {
    guint16 number;
    double ms;
} Sample;

struct SaPresses {
    SaPressesConfig config;
    GRand *rand;
    GArray *samples;  /* of Sample: those drawn */
    GArray *timeouts; /* of guint16: those given up */
    guint pressed;
    guint16 number; /* of the last press, what the box shows once it is drawn */
    gboolean started;
    gboolean waiting;
    gboolean once;
    gint64 sent;
    guint source; /* next press, or giving up */
};

static void press_now(SaPresses *p);

SaPresses *
sa_presses_new(const SaPressesConfig *config)
{
    SaPresses *p = g_new0(SaPresses, 1);

    p->config = *config;
    p->rand = g_rand_new_with_seed(config->seed);
    p->samples = g_array_new(FALSE, FALSE, sizeof(Sample));
    p->timeouts = g_array_new(FALSE, FALSE, sizeof(guint16));
    return p;
}

void
sa_presses_stop(SaPresses *presses)
{
    g_clear_handle_id(&presses->source, g_source_remove);
    presses->waiting = FALSE;
    presses->started = FALSE;
}

void
sa_presses_free(SaPresses *presses)
{
    if (!presses)
        return;
    sa_presses_stop(presses);
    g_rand_free(presses->rand);
    g_array_unref(presses->samples);
    g_array_unref(presses->timeouts);
    g_free(presses);
}

static gboolean
on_due(gpointer data)
{
    SaPresses *p = data;

    p->source = 0;
    press_now(p);
    return G_SOURCE_REMOVE;
}

/* Between nothing and two intervals after the last press was drawn. A person does not know where
 * the server stands in its window; a press that follows its draw at once would always meet the same
 * place, since draws come out at a fixed one. */
static void
plan(SaPresses *p)
{
    double wait_ms = 2.0 * p->config.interval_ms * g_rand_double(p->rand);

    p->source = g_timeout_add((guint)wait_ms, on_due, p);
}

static void
finish(SaPresses *p, gboolean drawn)
{
    gboolean once = p->once;

    g_clear_handle_id(&p->source, g_source_remove);
    p->waiting = FALSE;
    p->once = FALSE;
    p->config.finished(p->config.data, p->number, drawn);
    if (once)
        return;
    if (p->pressed < p->config.count)
        plan(p);
    else
        p->config.done(p->config.data);
}

static gboolean
on_timeout(gpointer data)
{
    SaPresses *p = data;

    p->source = 0;
    g_array_append_val(p->timeouts, p->number);
    finish(p, FALSE);
    return G_SOURCE_REMOVE;
}

static void
press_now(SaPresses *p)
{
    p->number++;
    p->pressed++;
    p->waiting = TRUE;
    p->source = g_timeout_add((guint)p->config.timeout_ms, on_timeout, p);
    p->sent = g_get_monotonic_time();
    p->config.press(p->config.data);
}

void
sa_presses_start(SaPresses *presses, guint16 shown)
{
    presses->number = shown;
    presses->started = TRUE;
    presses->sent = g_get_monotonic_time();
    if (presses->config.count)
        plan(presses);
    else
        presses->config.done(presses->config.data);
}

gboolean
sa_presses_once(SaPresses *presses)
{
    if (!presses->started || presses->waiting || presses->source)
        return FALSE;
    presses->once = TRUE;
    press_now(presses);
    return TRUE;
}

void
sa_presses_shown(SaPresses *presses, guint16 number, gint64 now)
{
    Sample sample = {number, (double)(now - presses->sent) / 1e3};

    if (!presses->waiting || number != presses->number)
        return;
    g_array_append_val(presses->samples, sample);
    finish(presses, TRUE);
}

gboolean
sa_presses_waiting(const SaPresses *presses, guint16 *number)
{
    *number = presses->number;
    return presses->waiting;
}

static gint
compare(gconstpointer a, gconstpointer b)
{
    double x = ((const Sample *)a)->ms;
    double y = ((const Sample *)b)->ms;

    return x < y ? -1 : x > y;
}

void
sa_presses_json(const SaPresses *p, GString *out)
{
    static const struct {
        const char *name;
        guint percent;
    } ranks[] = {{"min_ms", 0}, {"p50_ms", 50}, {"p95_ms", 95}, {"max_ms", 100}};
    g_autoptr(GArray) sorted = g_array_copy(p->samples);
    guint i;

    g_string_append_printf(out, "\"presses\":%u,\"drawn\":%u,\"timeouts\":%u,\"samples_ms\":[",
                           p->pressed, p->samples->len, p->timeouts->len);
    for (i = 0; i < p->samples->len; i++)
        g_string_append_printf(out, "%s%.2f", i ? "," : "",
                               g_array_index(p->samples, Sample, i).ms);
    g_string_append(out, "],\"sample_numbers\":[");
    for (i = 0; i < p->samples->len; i++)
        g_string_append_printf(out, "%s%u", i ? "," : "",
                               g_array_index(p->samples, Sample, i).number);
    g_string_append(out, "],\"timeout_numbers\":[");
    for (i = 0; i < p->timeouts->len; i++)
        g_string_append_printf(out, "%s%u", i ? "," : "", g_array_index(p->timeouts, guint16, i));
    g_string_append_c(out, ']');
    g_array_sort(sorted, compare);
    for (i = 0; i < G_N_ELEMENTS(ranks); i++) {
        /* The nearest rank: the least sample that so many per cent do not exceed. */
        guint rank = (sorted->len * ranks[i].percent + 99) / 100;

        if (sorted->len)
            g_string_append_printf(out, ",\"%s\":%.2f", ranks[i].name,
                                   g_array_index(sorted, Sample, MAX(rank, 1) - 1).ms);
        else
            g_string_append_printf(out, ",\"%s\":null", ranks[i].name);
    }
}
