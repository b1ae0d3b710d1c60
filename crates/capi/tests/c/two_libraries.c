/* Two copies of the library in one process, as two plugins of a program may bring them. argv[1] and argv[2] are the
   files, argv[3] is the place of the databases. */
#include <dlfcn.h>

#include "check.h"

/* Declares a function of a library with its type in the header. */
#define FN(library, name) ((__typeof__(&name))function(library, #name))

static void* function(void* library, const char* name) {
  void* found = dlsym(library, name);
  CHECK(found != NULL);
  return found;
}

static rocksdb_t* opened(void* library, const char* path, char** err) {
  rocksdb_options_t* options = FN(library, rocksdb_options_create)();
  FN(library, rocksdb_options_set_create_if_missing)(options, 1);
  rocksdb_t* db = FN(library, rocksdb_open)(options, path, err);
  FN(library, rocksdb_options_destroy)(options);
  return db;
}

static void put(void* library, rocksdb_t* db, const char* key, const char* value) {
  char* err = NULL;
  rocksdb_writeoptions_t* writes = FN(library, rocksdb_writeoptions_create)();
  FN(library, rocksdb_put)(db, writes, key, strlen(key), value, strlen(value), &err);
  CHECK_OK(err);
  FN(library, rocksdb_writeoptions_destroy)(writes);
}

static void check_value(void* library, rocksdb_t* db, const char* key, const char* wanted) {
  char* err = NULL;
  size_t length;
  rocksdb_readoptions_t* reads = FN(library, rocksdb_readoptions_create)();
  char* value = FN(library, rocksdb_get)(db, reads, key, strlen(key), &length, &err);
  CHECK_OK(err);
  CHECK(is_value(value, length, wanted));
  FN(library, rocksdb_readoptions_destroy)(reads);
}

int main(int argc, char** argv) {
  CHECK(argc == 4);
  char other[4096];
  snprintf(other, sizeof(other), "%s-other", argv[3]);
  void* first = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
  void* second = dlopen(argv[2], RTLD_NOW | RTLD_LOCAL);
  CHECK(first != NULL && second != NULL && first != second);
  CHECK(dlsym(first, "rocksdb_open") != dlsym(second, "rocksdb_open"));
  char* err = NULL;
  rocksdb_t* one = opened(first, argv[3], &err);
  CHECK_OK(err);
  rocksdb_t* two = opened(second, other, &err);
  CHECK_OK(err);
  /* Neither knows the other's databases; the lock of the directory keeps them apart. */
  CHECK(opened(second, argv[3], &err) == NULL && strstr(err, "LOCK") != NULL);
  free(err);
  err = NULL;
  CHECK(opened(first, other, &err) == NULL && strstr(err, "LOCK") != NULL);
  free(err);
  err = NULL;
  for (int i = 0; i < 1000; i++) {
    char key[16];
    snprintf(key, sizeof(key), "%d", i);
    put(first, one, key, "one");
    put(second, two, key, "two");
  }
  check_value(first, one, "77", "one");
  check_value(second, two, "77", "two");
  FN(first, rocksdb_close)(one);
  FN(second, rocksdb_close)(two);
  /* Each reads what the other wrote. */
  one = opened(second, argv[3], &err);
  CHECK_OK(err);
  two = opened(first, other, &err);
  CHECK_OK(err);
  check_value(second, one, "999", "one");
  check_value(first, two, "999", "two");
  FN(second, rocksdb_close)(one);
  FN(first, rocksdb_close)(two);
  return 0;
}
