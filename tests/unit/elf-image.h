/* SPDX-FileCopyrightText: The spice-accel authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */
/* A small shared library's image as it lies in memory, made up for tests of client/elf.h: any of
 * the known machines, REL or RELA, pointers as a loader leaves them or as the file has them.
 *
 *   offset  what
 *   0x080   symbols: (null) alpha beta gamma delta; all imported but gamma
 *   0x200   their names
 *   0x280   relocations of the PLT: alpha, gamma
 *   0x300   other relocations: (relative) beta alpha delta, delta's into data
 *   data    dynamic section (DT_NULL at the end), slots from data + 0x200 on
 */
#pragma once

#include <glib.h>

#include "client/elf.h"

#define ELF_IMAGE_SYMBOLS  0x80
#define ELF_IMAGE_STRINGS  0x200
#define ELF_IMAGE_PLT      0x280
#define ELF_IMAGE_OTHER    0x300
#define ELF_IMAGE_TEXT_END 0x400
/* Relative to the data's offset: */
#define ELF_IMAGE_ALPHA_PLT 0x200
#define ELF_IMAGE_GAMMA     0x208
#define ELF_IMAGE_BETA      0x210
#define ELF_IMAGE_ALPHA_GOT 0x218
#define ELF_IMAGE_DELTA     0x220
#define ELF_IMAGE_DATA_SIZE 0x280

typedef struct ElfImageKind {
    const SaElfMachine *machine;
    gboolean addend;   /* RELA */
    gboolean absolute; /* pointers of the dynamic section are relocated */
    guint64 base;
    guint32 data; /* offset of the writable part, >= ELF_IMAGE_TEXT_END */
    /* Added at the end of the dynamic section; 0: none */
    gint64 extra_tag;
    guint64 extra_value;
} ElfImageKind;

typedef struct ElfImage {
    guint8 *bytes;              /* the caller's, data + ELF_IMAGE_DATA_SIZE of them */
    guint8 headers[4 * 56 + 8]; /* with room for a change that runs over */
    guint n_headers;            /* PT_LOAD text, PT_LOAD data, PT_DYNAMIC, PT_NOTE */
} ElfImage;

void elf_image_build(ElfImage *image, const ElfImageKind *kind, guint8 *bytes);

/* Replaces the value of a tag of the dynamic section (the first one found), or with remove turns
 * it into one that is ignored. Returns FALSE when it is not there. */
gboolean elf_image_set(ElfImage *image, const ElfImageKind *kind, gint64 tag, guint64 value,
                       gboolean remove);

/* Program header i again. */
void elf_image_set_header(ElfImage *image, const ElfImageKind *kind, guint i, guint32 type,
                          guint32 flags, guint64 address, guint64 size);

void elf_image_set_relocation(ElfImage *image, const ElfImageKind *kind, guint table, guint i,
                              guint64 offset, guint32 symbol, guint32 type);
