/* SPDX-FileCopyrightText: The spice-accel authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */
/* Each part has one time at which it does something next; the loop takes the least. Messages are
 * whole: the time of a message's last byte is exact, of its first one as well, and nothing else
 * of a byte stream matters to the pacer.
 */
#include "sim-pacer.h"

#include <string.h>

#define NEVER        G_MAXINT64
#define FRAME_US     33333
#define SMALL_BYTES  200u /* a draw of a few equal rows, or of one colour */
#define KEY_BYTES    3000u
#define KEY_EVERY_US 450000
#define ENCODE_US    300   /* server, a message */
#define PIPE_MAX     50u   /* worker takes no more draws */
#define QUEUE        8192u /* messages on the path */
#define WAYS         256u  /* ACKs and keys on their way up */

typedef struct Message {
    guint32 bytes;
    guint key;          /* shows this and all earlier presses; 0: a column */
    gint64 first, last; /* us, arrival at the client */
} Message;

typedef struct Sim {
    const SimCell *cell;
    gint64 now;
    GRand *keys_rand, *link_rand;
    /* server */
    guint32 count, frame;
    guint pipe[PIPE_MAX + 32], pipe_len; /* column + 1, 0: key */
    gint64 tick, encoded;
    guint key_drawn;
    guint64 sent;
    gboolean wrapped;
    /* path */
    Message path[QUEUE];
    guint path_head, path_len;
    guint leaving;       /* messages of them that have left the buffer */
    double buffered;     /* bytes in the buffer */
    gint64 leave[QUEUE]; /* us, last byte on the link */
    gint64 link_free, last_arrival, repair_until, next_repair, delivered;
    /* up */
    gint64 ack_at[WAYS], key_at[WAYS];
    guint ack_head, ack_len, key_head, key_len;
    /* client */
    gint64 free, dry_since, last_read;
    guint64 read, bytes;
    guint to_ack;
    guint keys, seen;
    gint64 next_key;
    GArray *pressed; /* gint64 by press */
    GArray *latency; /* double, ms */
    /* pacer */
    gboolean paced;
    SaAckwin win;
    SaPacer pacer;
} Sim;

static gint64
us(double ms)
{
    return (gint64)(ms * 1000);
}

static guint32
column_bytes(const Sim *sim, guint column)
{
    guint64 h = sim->cell->seed * 0x9E3779B97F4A7C15u + sim->frame * 0xBF58476D1CE4E5B9u + column;

    if (sim->cell->small_group > 0 && column / sim->cell->small_group % 2 == 1)
        return SMALL_BYTES;
    h = (h ^ (h >> 31)) * 0x94D049BB133111EBu;
    h ^= h >> 29;
    /* +-15 % */
    return (guint32)(sim->cell->column_bytes * (0.85 + 0.3 * (double)(h % 1024) / 1023));
}

static double
mbit(const Sim *sim, gint64 now)
{
    const SimCell *cell = sim->cell;

    return cell->change_at_s > 0 && now >= us(cell->change_at_s * 1000) ? cell->change_mbit
                                                                        : cell->mbit;
}

static void
server_send(Sim *sim)
{
    const SimCell *cell = sim->cell;

    while (sim->pipe_len > 0 && sim->count <= 2 * cell->window && sim->now >= sim->encoded &&
           sim->buffered < cell->path_bytes && sim->path_len < QUEUE) {
        guint slot = (sim->path_head + sim->path_len) % QUEUE;
        Message *msg = &sim->path[slot];
        guint what = sim->pipe[0];
        gint64 start, end, outage = us(cell->outage_at_s * 1000);

        memmove(sim->pipe, sim->pipe + 1, --sim->pipe_len * sizeof sim->pipe[0]);
        msg->bytes = what == 0 ? KEY_BYTES : column_bytes(sim, what - 1);
        msg->key = what == 0 ? sim->key_drawn : 0;
        start = MAX(sim->now, sim->link_free);
        if (outage > 0 && start >= outage && start < outage + us(cell->outage_s * 1000))
            start = outage + us(cell->outage_s * 1000);
        end = start + (gint64)(msg->bytes * 8 / mbit(sim, start));
        sim->link_free = end;
        sim->leave[slot] = end;
        /* the first byte goes right behind its predecessor */
        msg->first = MIN(start + 1200, end) + us(cell->rtt_ms / 2);
        msg->last = end + us(cell->rtt_ms / 2);
        if (cell->jitter_ms > 0) {
            msg->last += us(g_rand_double_range(sim->link_rand, 0, cell->jitter_ms));
            msg->last = MAX(msg->last, sim->last_arrival);
            msg->first = MAX(msg->first, sim->last_arrival);
        }
        sim->last_arrival = msg->last;
        sim->buffered += msg->bytes;
        sim->path_len++;
        sim->count++;
        sim->sent++;
        sim->encoded = sim->now + (gint64)(cell->encode_us > 0 ? cell->encode_us : ENCODE_US);
    }
}

static void
server_tick(Sim *sim, guint key_pressed)
{
    const SimCell *cell = sim->cell;
    guint kept = 0;
    gboolean moves = cell->stop_at_s <= 0 || sim->now < us(cell->stop_at_s * 1000);
    guint columns = moves ? cell->columns : 0;
    gboolean key = key_pressed > sim->key_drawn;

    sim->frame++;
    sim->tick += cell->frame_ms > 0 ? us(cell->frame_ms) : FRAME_US;
    if (sim->pipe_len > PIPE_MAX)
        return;
    for (guint i = 0; i < sim->pipe_len; i++) {
        if (sim->pipe[i] == 0 ? !key : sim->pipe[i] > columns)
            sim->pipe[kept++] = sim->pipe[i];
    }
    for (guint column = 0; column < columns; column++)
        sim->pipe[kept++] = column + 1;
    if (key) {
        sim->pipe[kept++] = 0;
        sim->key_drawn = key_pressed;
    }
    sim->pipe_len = kept;
}

static void
server_ack(Sim *sim)
{
    if (sim->count < sim->cell->window)
        sim->wrapped = TRUE;
    sim->count -= sim->cell->window;
}

static void
write_acks(Sim *sim, guint n)
{
    for (; n > 0; n--) {
        g_assert_cmpuint(sim->ack_len, <, WAYS);
        sim->ack_at[(sim->ack_head + sim->ack_len++) % WAYS] = sim->now + us(sim->cell->rtt_ms / 2);
        sa_ackwin_ack(&sim->win, sim->now);
    }
}

static void
client_released(Sim *sim)
{
    guint n = sa_pacer_release(&sim->pacer, sim->now);

    if (n > 0) {
        write_acks(sim, n);
        sa_pacer_acks_written(&sim->pacer, n, sim->now);
    }
}

/* What waits in the socket, told as the viewer would: over its service rate. */
static void
client_backlog(Sim *sim)
{
    guint unread = 0;

    while (unread < sim->path_len && sim->path[(sim->path_head + unread) % QUEUE].last <= sim->now)
        unread++;
    sa_pacer_local_backlog(&sim->pacer, (gint64)(unread * sim->cell->decode_us), 0);
}

static void
client_read(Sim *sim)
{
    Message *msg = &sim->path[sim->path_head];
    gint64 waited =
        sim->dry_since > 0 ? MAX(MAX(msg->first, sim->delivered) - sim->dry_since, 0) : 0;

    sim->path_head = (sim->path_head + 1) % QUEUE;
    sim->path_len--;
    sim->leaving -= MIN(sim->leaving, 1);
    sim->read++;
    sim->free = sim->now + (gint64)sim->cell->decode_us;
    if (sim->now >= us(sim->cell->seconds * 100))
        sim->bytes += msg->bytes;
    sa_ackwin_message(&sim->win, msg->bytes, sim->now);
    if (sim->paced)
        sa_pacer_message(&sim->pacer, msg->bytes, waited, sim->now);
    if (--sim->to_ack == 0) {
        sim->to_ack = sim->cell->window;
        if (sim->paced)
            client_backlog(sim);
        if (!sim->paced || !sa_pacer_ack_emitted(&sim->pacer, sim->now))
            write_acks(sim, 1);
    }
    if (sim->paced && sim->pacer.held > 0) {
        client_backlog(sim);
        client_released(sim);
    }
    for (; sim->seen < msg->key; sim->seen++) {
        gint64 pressed = g_array_index(sim->pressed, gint64, sim->seen);
        double ms = (double)(sim->free - pressed) / 1000;

        if (pressed >= us(sim->cell->seconds * 100))
            g_array_append_val(sim->latency, ms);
    }
    sim->dry_since = sim->free;
}

static void
client_key(Sim *sim)
{
    g_array_append_val(sim->pressed, sim->now);
    g_assert_cmpuint(sim->key_len, <, WAYS);
    sim->key_at[(sim->key_head + sim->key_len++) % WAYS] = sim->now + us(sim->cell->rtt_ms / 2);
    sim->next_key = sim->now + g_rand_int_range(sim->keys_rand, KEY_EVERY_US / 3, KEY_EVERY_US);
}

/* The earliest that the client can read the message at the head of the path. */
static gint64
readable(const Sim *sim)
{
    gint64 at;

    if (sim->path_len == 0)
        return NEVER;
    at = MAX(sim->path[sim->path_head].last, sim->free);
    return at >= sim->next_repair ? MAX(at, sim->repair_until) : at;
}

static int
compare(gconstpointer a, gconstpointer b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

static double
percentile(const GArray *sorted, double p)
{
    return sorted->len == 0 ? 0 : g_array_index(sorted, double, (guint)(p * (sorted->len - 1)));
}

static void
plan_repair(Sim *sim)
{
    double every = sim->cell->repair_every_ms;

    sim->next_repair = NEVER;
    if (every > 0)
        sim->next_repair =
            sim->now + us(g_rand_double_range(sim->link_rand, 0.3 * every, 1.7 * every));
    sim->repair_until = every > 0 ? sim->next_repair + us(sim->cell->repair_ms) : 0;
}

static gint64
step(Sim *sim, gint64 end)
{
    gint64 timer = sim->paced ? sa_pacer_next(&sim->pacer, sim->now) : -1;
    gint64 leave =
        sim->leaving < sim->path_len ? sim->leave[(sim->path_head + sim->leaving) % QUEUE] : NEVER;
    gint64 ack = sim->ack_len > 0 ? sim->ack_at[sim->ack_head] : NEVER;
    gint64 key = sim->key_len > 0 ? sim->key_at[sim->key_head] : NEVER;
    gint64 encoded = sim->encoded > sim->now && sim->pipe_len > 0 ? sim->encoded : NEVER;
    gint64 read = readable(sim);
    gint64 next = MIN(MIN(MIN(sim->tick, leave), MIN(ack, encoded)), MIN(read, sim->next_key));

    timer = timer < 0 ? NEVER : MAX(timer, sim->free);
    sim->now = MAX(sim->now, MIN(next, timer));
    if (sim->now >= end)
        return sim->now;
    if (sim->next_repair != NEVER && sim->now >= sim->repair_until) {
        sim->delivered = sim->repair_until;
        plan_repair(sim);
    }
    if (leave <= sim->now) {
        sim->buffered -= sim->path[(sim->path_head + sim->leaving) % QUEUE].bytes;
        sim->leaving++;
    }
    if (ack <= sim->now) {
        sim->ack_head = (sim->ack_head + 1) % WAYS;
        sim->ack_len--;
        server_ack(sim);
    }
    if (key <= sim->now) {
        sim->key_head = (sim->key_head + 1) % WAYS;
        sim->key_len--;
        sim->keys++;
    }
    if (sim->tick <= sim->now)
        server_tick(sim, sim->keys);
    if (sim->next_key <= sim->now)
        client_key(sim);
    if (read <= sim->now)
        client_read(sim);
    if (timer <= sim->now) {
        client_backlog(sim);
        client_released(sim);
    }
    server_send(sim);
    return sim->now;
}

void
sim_run(const SimCell *cell, gboolean paced, SimResult *result)
{
    g_autofree Sim *sim = g_new0(Sim, 1);
    gint64 end = us(cell->seconds * 1000);
    double told = cell->rtt_ms + 1 - cell->rtt_error_ms;

    sim->cell = cell;
    sim->paced = paced;
    sim->keys_rand = g_rand_new_with_seed((guint32)cell->seed);
    sim->link_rand = g_rand_new_with_seed((guint32)cell->seed + 1);
    sim->pressed = g_array_new(FALSE, FALSE, sizeof(gint64));
    sim->latency = g_array_new(FALSE, FALSE, sizeof(double));
    sim->tick = FRAME_US;
    sim->next_key = us(500);
    sim->to_ack = cell->window;
    sim->count = 1; /* the SET_ACK, read at the start */
    plan_repair(sim);
    sa_ackwin_init(&sim->win);
    sa_pacer_init(&sim->pacer, &sim->win, SA_PACER_LATENCY_US);
    sa_ackwin_set_rtt(&sim->win, us(told));
    sa_pacer_round_trip(&sim->pacer, us(told));
    sa_ackwin_set_ack(&sim->win, 1, cell->window, 14, 0);
    sa_ackwin_ack_sync(&sim->win, 1, 0);
    while (step(sim, end) < end)
        ;

    memset(result, 0, sizeof *result);
    g_array_sort(sim->latency, compare);
    result->p50 = percentile(sim->latency, 0.5);
    result->p95 = percentile(sim->latency, 0.95);
    result->keys = sim->latency->len;
    result->lost = sim->pressed->len - sim->seen;
    result->mbit = (double)sim->bytes * 8 / (0.9e6 * cell->seconds);
    result->wrapped = sim->wrapped;
    result->pacer = sim->pacer;
    result->pacer.win = NULL;
    result->hold_us = sa_pacer_hold_us(&sim->pacer, end);
    g_rand_free(sim->keys_rand);
    g_rand_free(sim->link_rand);
    g_array_free(sim->pressed, TRUE);
    g_array_free(sim->latency, TRUE);
}
