/* SPDX-FileCopyrightText: The spice-accel authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */
/* Import slots of a loaded ELF image: where a library keeps the addresses of the functions it
 * imports.
 *
 * Pure: works on bytes, asks no loader. Both word sizes go through the same code, chosen by the
 * machine given and not by the compiler, so that the 32-bit way is tested on a 64-bit machine.
 * Numbers in the image are in the host's byte order: the image is one that could run here.
 *
 * Every read is checked against the image's readable segments first. An image that contradicts
 * itself is refused with a status, never half understood.
 */
#pragma once

#include <glib.h>

#define SA_ELF_MAX_SEGMENTS 16
/* A function may have one slot for calls and one for its address; more is not understood. */
#define SA_ELF_MAX_SLOTS 4

typedef enum SaElfStatus {
    SA_ELF_OK,
    SA_ELF_NO_SEGMENTS,
    SA_ELF_TOO_MANY_SEGMENTS,
    SA_ELF_SEGMENT_OUTSIDE,
    SA_ELF_NO_DYNAMIC,
    SA_ELF_DYNAMIC_OUTSIDE,
    SA_ELF_BAD_ENTRY_SIZE,
    SA_ELF_BAD_RELOCATION_KIND,
    SA_ELF_BAD_TABLE_SIZE,
    SA_ELF_NO_SYMBOLS,
    SA_ELF_STRINGS_OUTSIDE,
    SA_ELF_TABLE_OUTSIDE,
    SA_ELF_SYMBOL_OUTSIDE,
    SA_ELF_NAME_OUTSIDE,
    SA_ELF_SLOT_OUTSIDE,
    SA_ELF_TOO_MANY_SLOTS,
    SA_ELF_N_STATUS
} SaElfStatus;

/* A machine whose relocations are known: x86_64, aarch64, i386, arm. */
typedef struct SaElfMachine {
    guint16 machine;   /* EM_*, as in the ELF header */
    gboolean is64;     /* ELFCLASS64 */
    guint32 jump_slot; /* relocation types of a slot for calls ... */
    guint32 glob_dat;  /* ... and of a slot for the address */
} SaElfMachine;

/* Bytes of an image that is not mapped where it says it is; see sa_elf_init(). */
typedef struct SaElfMemory {
    const guint8 *bytes;
    guint64 address; /* of bytes[0], in the image's own numbers */
    guint64 size;
} SaElfMemory;

typedef struct SaElfSegment {
    guint64 address, size;
    gboolean writable; /* by its program header, before the loader made parts read-only */
} SaElfSegment;

typedef struct SaElfTable {
    guint64 address, size; /* size 0: there is none */
    gboolean addend;       /* RELA */
} SaElfTable;

/* To be filled by sa_elf_init() and then only read; borrows everything it was given. */
typedef struct SaElf {
    const SaElfMachine *machine;
    SaElfMemory memory;
    guint64 base;
    guint n_segments;
    SaElfSegment segments[SA_ELF_MAX_SEGMENTS];
    gboolean bind_now; /* the loader fills every slot before the library's code runs */
    SaElfTable tables[3];
    guint64 symbols, strings, strings_size;
} SaElf;

typedef struct SaElfImport {
    const char *symbol;
    guint n_slots; /* 0: not imported */
    guint64 slots[SA_ELF_MAX_SLOTS];
    /* The image also takes the symbol's address into its data (as R_X86_64_64 does), from where
     * calls may come that pass no slot. */
    gboolean in_data;
} SaElfImport;

/* NULL when relocations of this machine and word size are not known. */
const SaElfMachine *sa_elf_machine(guint16 machine, gboolean is64);

/* base: what the loader added to the image's addresses (dlpi_addr).
 * program_headers: n of them, Elf32_Phdr or Elf64_Phdr by the machine's word size.
 * memory: NULL when the image is mapped in this process where its addresses say, as every image
 * of dl_iterate_phdr() is; else the bytes, and nothing outside them is read. */
SaElfStatus sa_elf_init(SaElf *elf, const SaElfMachine *machine, guint64 base,
                        const void *program_headers, guint n, const SaElfMemory *memory);

/* Is size bytes at address inside one of the image's readable segments? */
gboolean sa_elf_contains(const SaElf *elf, guint64 address, guint64 size);

/* Fills n_slots, slots and in_data of each of the n imports, of undefined symbols only. An import
 * that is not there is no error. */
SaElfStatus sa_elf_find(const SaElf *elf, SaElfImport *imports, guint n);

/* Static text for a message, as in "its string table lies outside". */
const char *sa_elf_status_text(SaElfStatus status);
