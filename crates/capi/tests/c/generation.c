// One library under the names of four releases. argv[1] is the directory of the files, argv[2] the place of a
// database. Each name is loaded in a process of its own, because a loader loads one file only once, even
// under two names.
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "rocksdb/c.h"

static void* library;
static const char* release;

static void demand(int holds, const char* what, int line) {
  if (!holds) {
    fprintf(stderr, "generation.c:%d: %s: %s\n", line, release, what);
    exit(1);
  }
}
#define CHECK(what) demand((what), #what, __LINE__)

static void* function(const char* name) {
  void* found = dlsym(library, name);
  demand(found != NULL, name, __LINE__);
  return found;
}

// Declares a function of the library with its type in the header.
#define FN(name) ((__typeof__(&name))function(#name))

static char* first_two(void* state, const char* key, size_t length, size_t* prefix) {
  (void)state;
  *prefix = length < 2 ? length : 2;
  return (char*)key;
}
static unsigned char always(void* state, const char* key, size_t length) {
  (void)state, (void)key, (void)length;
  return 1;
}
static unsigned char forbidden(void* state, const char* key, size_t length) {
  (void)state, (void)key, (void)length;
  abort();
}
static const char* name(void* state) {
  (void)state;
  return "two";
}
static void nothing(void* state) { (void)state; }

typedef rocksdb_slicetransform_t* (*five)(void*, void (*)(void*), char* (*)(void*, const char*, size_t, size_t*),
                                          unsigned char (*)(void*, const char*, size_t), const char* (*)(void*));
typedef rocksdb_slicetransform_t* (*six)(void*, void (*)(void*), char* (*)(void*, const char*, size_t, size_t*),
                                         unsigned char (*)(void*, const char*, size_t),
                                         unsigned char (*)(void*, const char*, size_t), const char* (*)(void*));

static void check(const char* place, int format, int compression, int dynamic, uint32_t bytes_written, int old_transform,
                  int old_deletions) {
  rocksdb_block_based_table_options_t* table = FN(rocksdb_block_based_options_create)();
  CHECK((int)FN(rocksdb_block_based_options_get_format_version)(table) == format);
  FN(rocksdb_block_based_options_destroy)(table);

  rocksdb_options_t* options = FN(rocksdb_options_create)();
  CHECK(FN(rocksdb_options_get_compression)(options) == compression);
  CHECK(FN(rocksdb_options_get_level_compaction_dynamic_level_bytes)(options) == dynamic);
  FN(rocksdb_options_set_create_if_missing)(options, 1);
  FN(rocksdb_options_enable_statistics)(options);
  void* create = function("rocksdb_slicetransform_create");
  rocksdb_slicetransform_t* transform = old_transform
                                            ? ((six)create)(NULL, nothing, first_two, always, forbidden, name)
                                            : ((five)create)(NULL, nothing, first_two, always, name);
  FN(rocksdb_options_set_prefix_extractor)(options, transform);

  char* error = NULL;
  rocksdb_t* db = FN(rocksdb_open)(options, place, &error);
  CHECK(error == NULL);
  rocksdb_writeoptions_t* write = FN(rocksdb_writeoptions_create)();
  FN(rocksdb_put)(db, write, "key", 3, "value", 5, &error);
  CHECK(error == NULL);
  CHECK(FN(rocksdb_options_statistics_get_ticker_count)(options, bytes_written) > 0);

  uint64_t enabled = 2;
  FN(rocksdb_disable_file_deletions)(db, &error);
  FN(rocksdb_disable_file_deletions)(db, &error);
  CHECK(error == NULL);
  void* enable = function("rocksdb_enable_file_deletions");
  if (old_deletions) {
    ((void (*)(rocksdb_t*, unsigned char, char**))enable)(db, 1, &error);
  } else {
    ((void (*)(rocksdb_t*, char**))enable)(db, &error);
  }
  CHECK(error == NULL);
  CHECK(FN(rocksdb_property_int)(db, "rocksdb.is-file-deletions-enabled", &enabled) == 0);
  CHECK(enabled == (old_deletions ? 1 : 0));

  FN(rocksdb_close)(db);
  FN(rocksdb_writeoptions_destroy)(write);
  FN(rocksdb_destroy_db)(options, place, &error);
  CHECK(error == NULL);
  FN(rocksdb_options_destroy)(options);
}

static void in_a_process(const char* directory, const char* place, const char* number, int format, int compression,
                         int dynamic, uint32_t bytes_written, int old_transform, int old_deletions) {
  release = number;
  pid_t child = fork();
  if (child == 0) {
    char path[4096];
    snprintf(path, sizeof path, "%s/librocksdb.so.%s", directory, number);
    library = dlopen(path, RTLD_NOW);
    demand(library != NULL, "cannot be loaded", __LINE__);
    check(place, format, compression, dynamic, bytes_written, old_transform, old_deletions);
    exit(0);
  }
  int status = 1;
  waitpid(child, &status, 0);
  demand(status == 0, "failed", __LINE__);
}

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  in_a_process(argv[1], argv[2], "7.8", 5, 1, 0, 43, 1, 1);
  in_a_process(argv[1], argv[2], "10.4", 6, 1, 1, 60, 1, 0);
  in_a_process(argv[1], argv[2], "10.9", 6, 1, 1, 60, 1, 0);
  in_a_process(argv[1], argv[2], "11.8", 7, 4, 1, 61, 0, 0);
  return 0;
}
