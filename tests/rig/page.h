/* SPDX-FileCopyrightText: The spice-accel authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "strokefont.h"

/* A text of headings and paragraphs, broken into lines of a given width. Which sentences follow
 * each other is decided by the seed; the same seed and width always give the same lines. It has no
 * end: after the last line the first comes again. */
typedef struct SaPage SaPage;

enum {
    SA_PAGE_LINE_HEIGHT = 18, /* pixels */
};

/* 'width' in pixels, at least 60. */
SaPage *sa_page_new(guint32 seed, gint width);
void sa_page_free(SaPage *page);

/* Draws line 'index' with its top left corner at x, y, on whatever is there. */
void sa_page_draw_line(const SaPage *page, guint index, const SaCanvas *canvas, gint x, gint y);

/* The fonts of the page, for captions in the same style. They belong to the page. */
const SaFont *sa_page_body_font(const SaPage *page);
const SaFont *sa_page_heading_font(const SaPage *page);

G_DEFINE_AUTOPTR_CLEANUP_FUNC(SaPage, sa_page_free)
