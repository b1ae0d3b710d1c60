/* Callbacks that return garbage, that call back into the database, and that many threads call at once. The library
   reports errors and does not crash. */
#include <limits.h>
#include <pthread.h>
#include <stdint.h>

#include "check.h"

static const char* name_of(void* state) { return state; }

/* An order that depends on when it is asked. */
static unsigned asked;
static int any_order(void* state, const char* a, size_t alen, const char* b, size_t blen) {
  (void)state;
  if (alen == blen && memcmp(a, b, alen) == 0) return 0;
  asked = asked * 1103515245 + 12345;
  return asked & 0x10000 ? INT_MIN : INT_MAX;
}
static int in_order(void* state, const char* a, size_t alen, const char* b, size_t blen) {
  (void)state;
  size_t n = alen < blen ? alen : blen;
  int order = n == 0 ? 0 : memcmp(a, b, n);
  return order != 0 ? order : (alen > blen) - (alen < blen);
}

/* Rows under an order that contradicts itself: writes, flushes, compactions and reads end, with an error or without. */
static void check_any_order(const char* dir) {
  char path[512];
  snprintf(path, sizeof(path), "%s-order", dir);
  char* err = NULL;
  rocksdb_options_t* options = rocksdb_options_create();
  rocksdb_options_set_create_if_missing(options, 1);
  rocksdb_comparator_t* order = rocksdb_comparator_create("test.Order", NULL, any_order, name_of);
  rocksdb_options_set_comparator(options, order);
  rocksdb_t* db = rocksdb_open(options, path, &err);
  CHECK_OK(err);
  rocksdb_writeoptions_t* writes = rocksdb_writeoptions_create();
  rocksdb_readoptions_t* reads = rocksdb_readoptions_create();
  rocksdb_flushoptions_t* flush = rocksdb_flushoptions_create();
  for (int i = 0; i < 4000; i++) {
    char key[32];
    snprintf(key, sizeof(key), "key%d", i * 7919 % 4000);
    rocksdb_put(db, writes, key, strlen(key), key, strlen(key), &err);
    free(err);
    err = NULL;
    size_t length;
    free(rocksdb_get(db, reads, key, strlen(key), &length, &err));
    free(err);
    err = NULL;
    if (i % 1000 == 999) {
      rocksdb_flush(db, flush, &err);
      free(err);
      err = NULL;
    }
  }
  rocksdb_iterator_t* iter = rocksdb_create_iterator(db, reads);
  int rows = 0;
  for (rocksdb_iter_seek_to_first(iter); rocksdb_iter_valid(iter) && rows < 100000; rocksdb_iter_next(iter)) rows++;
  rocksdb_iter_seek(iter, "key5", 4);
  rocksdb_iter_seek_for_prev(iter, "key5", 4);
  if (rocksdb_iter_valid(iter)) rocksdb_iter_prev(iter);
  rocksdb_iter_destroy(iter);
  rocksdb_compact_range(db, NULL, 0, NULL, 0);
  rocksdb_close(db);

  /* With an order that does not, what was written so is reported. */
  rocksdb_comparator_t* sane = rocksdb_comparator_create("test.Order", NULL, in_order, name_of);
  rocksdb_options_set_comparator(options, sane);
  db = rocksdb_open(options, path, &err);
  if (db != NULL) {
    rocksdb_compact_range(db, NULL, 0, NULL, 0);
    rocksdb_put(db, writes, "k", 1, "v", 1, &err);
    free(err);
    err = NULL;
    rocksdb_close(db);
  }
  free(err);
  err = NULL;
  rocksdb_options_destroy(options);
  rocksdb_comparator_destroy(order);
  rocksdb_comparator_destroy(sane);
  rocksdb_flushoptions_destroy(flush);
  rocksdb_readoptions_destroy(reads);
  rocksdb_writeoptions_destroy(writes);
}

static rocksdb_t* reached;
static rocksdb_readoptions_t* reached_by;

/* A merge whose result claims an impossible length. */
static char* too_long(void* state, const char* key, size_t key_len, const char* base, size_t base_len,
                      const char* const* operands, const size_t* lengths, int n, unsigned char* success, size_t* length) {
  (void)state, (void)key, (void)base, (void)base_len, (void)operands, (void)lengths, (void)n;
  *success = 1;
  *length = key_len == 3 ? SIZE_MAX : 1;
  return calloc(1, 1);
}
static char* no_partial(void* state, const char* key, size_t key_len, const char* const* operands, const size_t* lengths,
                        int n, unsigned char* success, size_t* length) {
  (void)state, (void)key, (void)key_len, (void)operands, (void)lengths, (void)n;
  *success = 0;
  *length = 1;
  return NULL;
}

/* A filter that reads from the database that is compacting, and returns an impossible length. */
static unsigned char odd_filter(void* state, int level, const char* key, size_t key_len, const char* value,
                                size_t value_len, char** new_value, size_t* new_length, unsigned char* changed) {
  (void)state, (void)level, (void)value, (void)value_len;
  size_t length;
  char* err = NULL;
  char* found = rocksdb_get(reached, reached_by, key, key_len, &length, &err);
  CHECK_OK(err);
  free(found);
  if (key_len == 3 && memcmp(key, "odd", 3) == 0) {
    static char byte;
    *new_value = &byte;
    *new_length = SIZE_MAX;
    *changed = 1;
  }
  return 0;
}

/* A prefix that is not a part of its key. */
static char* odd_prefix(void* state, const char* key, size_t length, size_t* prefix_length) {
  (void)state, (void)key, (void)length;
  *prefix_length = SIZE_MAX;
  return (char*)(intptr_t)16;
}
static unsigned char in_domain(void* state, const char* key, size_t length) {
  (void)state, (void)key, (void)length;
  return 1;
}

/* A listener that writes. */
static int flushes;
static void flushed(void* state, rocksdb_t* db, const rocksdb_flushjobinfo_t* info) {
  (void)state, (void)info;
  char* err = NULL;
  rocksdb_writeoptions_t* writes = rocksdb_writeoptions_create();
  rocksdb_put(db, writes, "of a listener", 13, "v", 1, &err);
  CHECK_OK(err);
  rocksdb_writeoptions_destroy(writes);
  __atomic_fetch_add(&flushes, 1, __ATOMIC_SEQ_CST);
}
static void nothing(void* state) { (void)state; }
static void no_flush(void* state, rocksdb_t* db, const rocksdb_flushjobinfo_t* info) { (void)state, (void)db, (void)info; }

static void check_answers(const char* dir) {
  char path[512];
  snprintf(path, sizeof(path), "%s-answers", dir);
  char* err = NULL;
  rocksdb_options_t* options = rocksdb_options_create();
  rocksdb_options_set_create_if_missing(options, 1);
  rocksdb_options_set_merge_operator(
      options, rocksdb_mergeoperator_create("test.TooLong", nothing, too_long, no_partial, NULL, name_of));
  rocksdb_compactionfilter_t* filter = rocksdb_compactionfilter_create("test.Odd", nothing, odd_filter, name_of);
  rocksdb_options_set_compaction_filter(options, filter);
  rocksdb_options_set_prefix_extractor(
      options, rocksdb_slicetransform_create("test.OddPrefix", nothing, odd_prefix, in_domain, name_of));
  rocksdb_eventlistener_t* listener =
      rocksdb_eventlistener_create(NULL, nothing, no_flush, flushed, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL);
  rocksdb_options_add_eventlistener(options, listener);
  rocksdb_t* db = rocksdb_open(options, path, &err);
  CHECK_OK(err);
  rocksdb_writeoptions_t* writes = rocksdb_writeoptions_create();
  rocksdb_readoptions_t* reads = rocksdb_readoptions_create();
  reached = db;
  reached_by = reads;
  rocksdb_put(db, writes, "odd", 3, "v", 1, &err);
  rocksdb_put(db, writes, "even", 4, "v", 1, &err);
  rocksdb_merge(db, writes, "sum", 3, "1", 1, &err);
  rocksdb_merge(db, writes, "four", 4, "1", 1, &err);
  CHECK_OK(err);
  size_t length;
  CHECK(rocksdb_get(db, reads, "sum", 3, &length, &err) == NULL);
  CHECK(err != NULL);
  free(err);
  err = NULL;
  char* value = rocksdb_get(db, reads, "four", 4, &length, &err);
  CHECK_OK(err);
  CHECK(value != NULL && length == 1);
  free(value);
  rocksdb_flushoptions_t* flush = rocksdb_flushoptions_create();
  rocksdb_flushoptions_set_listener_wait(flush, 1);
  rocksdb_delete(db, writes, "sum", 3, &err);
  CHECK_OK(err);
  rocksdb_flush(db, flush, &err);
  CHECK_OK(err);
  CHECK(__atomic_load_n(&flushes, __ATOMIC_SEQ_CST) == 1);
  rocksdb_compactoptions_t* compact = rocksdb_compactoptions_create();
  rocksdb_compactoptions_set_bottommost_level_compaction(compact, 2);
  rocksdb_compact_range_opt(db, compact, NULL, 0, NULL, 0);
  value = rocksdb_get(db, reads, "odd", 3, &length, &err);
  CHECK_OK(err);
  CHECK(is_value(value, length, "v"));
  value = rocksdb_get(db, reads, "of a listener", 13, &length, &err);
  CHECK_OK(err);
  CHECK(is_value(value, length, "v"));
  rocksdb_compactoptions_destroy(compact);
  rocksdb_flushoptions_destroy(flush);
  rocksdb_close(db);
  rocksdb_options_destroy(options);
  rocksdb_compactionfilter_destroy(filter);
  rocksdb_readoptions_destroy(reads);
  rocksdb_writeoptions_destroy(writes);
}

/* Threads that write, read and merge at once, through an order, a merge operator and a logger of the program. */
enum { THREADS = 32, ROWS = 200 };
static rocksdb_t* shared;
static char* longest(void* state, const char* key, size_t key_len, const char* base, size_t base_len,
                     const char* const* operands, const size_t* lengths, int n, unsigned char* success, size_t* length) {
  (void)state, (void)key, (void)key_len;
  const char* best = base;
  size_t best_length = base == NULL ? 0 : base_len;
  for (int i = 0; i < n; i++) {
    if (lengths[i] >= best_length) best = operands[i], best_length = lengths[i];
  }
  char* copy = malloc(best_length + 1);
  if (best_length > 0) memcpy(copy, best, best_length);
  *success = 1;
  *length = best_length;
  return copy;
}
static unsigned lines;
static void log_line(void* state, unsigned level, char* text, size_t length) {
  (void)state, (void)level, (void)text, (void)length;
  __atomic_fetch_add(&lines, 1, __ATOMIC_RELAXED);
}
static void* work(void* number) {
  char* err = NULL;
  rocksdb_writeoptions_t* writes = rocksdb_writeoptions_create();
  rocksdb_readoptions_t* reads = rocksdb_readoptions_create();
  for (int i = 0; i < ROWS; i++) {
    char key[32];
    int klen = snprintf(key, sizeof(key), "%d-%d", (int)(intptr_t)number, i);
    rocksdb_put(shared, writes, key, klen, key, klen, &err);
    CHECK_OK(err);
    rocksdb_merge(shared, writes, "all", 3, key, klen, &err);
    CHECK_OK(err);
    size_t length;
    char* value = rocksdb_get(shared, reads, key, klen, &length, &err);
    CHECK_OK(err);
    CHECK(is_value(value, length, key));
    rocksdb_pinnableslice_t* pinned = rocksdb_get_pinned(shared, reads, key, klen, &err);
    CHECK_OK(err);
    const char* lent = rocksdb_pinnableslice_value(pinned, &length);
    CHECK(length == (size_t)klen && memcmp(lent, key, length) == 0);
    rocksdb_pinnableslice_destroy(pinned);
    if (i % 64 == 0) {
      rocksdb_iterator_t* iter = rocksdb_create_iterator(shared, reads);
      rocksdb_iter_seek(iter, key, klen);
      CHECK(rocksdb_iter_valid(iter));
      rocksdb_iter_destroy(iter);
    }
  }
  rocksdb_writeoptions_destroy(writes);
  rocksdb_readoptions_destroy(reads);
  return NULL;
}

static void check_threads(const char* dir) {
  char path[512];
  snprintf(path, sizeof(path), "%s-threads", dir);
  char* err = NULL;
  rocksdb_options_t* options = rocksdb_options_create();
  rocksdb_options_set_create_if_missing(options, 1);
  rocksdb_options_set_write_buffer_size(options, 65536);
  rocksdb_comparator_t* order = rocksdb_comparator_create("test.Order", NULL, in_order, name_of);
  rocksdb_options_set_comparator(options, order);
  rocksdb_options_set_merge_operator(
      options, rocksdb_mergeoperator_create("test.Longest", nothing, longest, no_partial, NULL, name_of));
  rocksdb_logger_t* logger = rocksdb_logger_create_callback_logger(0, log_line, NULL);
  rocksdb_options_set_info_log(options, logger);
  shared = rocksdb_open(options, path, &err);
  CHECK_OK(err);
  pthread_t threads[THREADS];
  for (intptr_t i = 0; i < THREADS; i++) CHECK(pthread_create(&threads[i], NULL, work, (void*)i) == 0);
  for (int i = 0; i < THREADS; i++) CHECK(pthread_join(threads[i], NULL) == 0);
  rocksdb_readoptions_t* reads = rocksdb_readoptions_create();
  rocksdb_iterator_t* iter = rocksdb_create_iterator(shared, reads);
  int rows = 0;
  for (rocksdb_iter_seek_to_first(iter); rocksdb_iter_valid(iter); rocksdb_iter_next(iter)) rows++;
  CHECK(rows == THREADS * ROWS + 1);
  CHECK(lines > 0);
  rocksdb_iter_destroy(iter);
  rocksdb_readoptions_destroy(reads);
  rocksdb_close(shared);
  rocksdb_options_destroy(options);
  rocksdb_logger_destroy(logger);
  rocksdb_comparator_destroy(order);
}

int main(int argc, char** argv) {
  CHECK(argc == 2);
  check_any_order(argv[1]);
  check_answers(argv[1]);
  check_threads(argv[1]);
  return 0;
}
