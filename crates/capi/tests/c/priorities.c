/* The priorities of background threads in the system: lowered for those of compactions and of flushes apart. */
#define _GNU_SOURCE
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "check.h"

/* The class of a priority of I/O is above 13 bits; 3 is the class of idle threads. */
#define IDLE 3

struct priorities {
  int calls;
  int nice;
  int io_class;
};

static struct priorities of_this_thread(void) {
  struct priorities now = {1, getpriority(PRIO_PROCESS, 0), (int)(syscall(SYS_ioprio_get, 1, 0) >> 13)};
  return now;
}

static void nothing(void* state) { (void)state; }

static const char* filter_name(void* state) {
  (void)state;
  return "test.Priorities";
}

static unsigned char filter(void* state, int level, const char* key, size_t klen, const char* value, size_t vlen,
                            char** changed, size_t* changed_length, unsigned char* is_changed) {
  (void)level, (void)key, (void)klen, (void)value, (void)vlen, (void)changed, (void)changed_length, (void)is_changed;
  *(struct priorities*)state = of_this_thread();
  return 0;
}

static void flush_begun(void* state, rocksdb_t* db, const rocksdb_flushjobinfo_t* info) {
  (void)db, (void)info;
  *(struct priorities*)state = of_this_thread();
}

/* Flushes a row twice, which a compaction follows. */
static void work(rocksdb_t* db) {
  char* err = NULL;
  rocksdb_writeoptions_t* writes = rocksdb_writeoptions_create();
  rocksdb_flushoptions_t* flush = rocksdb_flushoptions_create();
  rocksdb_wait_for_compact_options_t* wait = rocksdb_wait_for_compact_options_create();
  for (int i = 0; i < 2; i++) {
    rocksdb_put(db, writes, "key", 3, "value", 5, &err);
    CHECK_OK(err);
    rocksdb_flush(db, flush, &err);
    CHECK_OK(err);
  }
  rocksdb_wait_for_compact(db, wait, &err);
  CHECK_OK(err);
  rocksdb_wait_for_compact_options_destroy(wait);
  rocksdb_flushoptions_destroy(flush);
  rocksdb_writeoptions_destroy(writes);
}

int main(int argc, char** argv) {
  CHECK(argc == 2);
  char* err = NULL;
  struct priorities compacting = {0}, flushing = {0};
  const struct priorities before = of_this_thread();
  rocksdb_env_t* env = rocksdb_create_default_env();
  rocksdb_options_t* options = rocksdb_options_create();
  rocksdb_options_set_create_if_missing(options, 1);
  rocksdb_options_set_env(options, env);
  rocksdb_options_set_level0_file_num_compaction_trigger(options, 2);
  rocksdb_compactionfilter_t* looks = rocksdb_compactionfilter_create(&compacting, nothing, filter, filter_name);
  rocksdb_options_set_compaction_filter(options, looks);
  rocksdb_eventlistener_t* listener = rocksdb_eventlistener_create(&flushing, nothing, flush_begun, NULL, NULL, NULL,
                                                                   NULL, NULL, NULL, NULL, NULL, NULL);
  rocksdb_options_add_eventlistener(options, listener);
  rocksdb_t* db = rocksdb_open(options, argv[1], &err);
  CHECK_OK(err);
  work(db);
  CHECK(compacting.calls == 1 && compacting.nice == before.nice && compacting.io_class == before.io_class);
  CHECK(flushing.calls == 1 && flushing.nice == before.nice && flushing.io_class == before.io_class);

  /* The threads that exist lower theirs before their next work. */
  rocksdb_env_lower_thread_pool_cpu_priority(env);
  rocksdb_env_lower_high_priority_thread_pool_io_priority(env);
  work(db);
  CHECK(compacting.nice == 19 && compacting.io_class == before.io_class);
  CHECK(flushing.nice == before.nice && flushing.io_class == IDLE);

  /* So do threads that start later; what was lowered stays so. */
  rocksdb_close(db);
  rocksdb_env_lower_thread_pool_io_priority(env);
  rocksdb_env_lower_high_priority_thread_pool_cpu_priority(env);
  db = rocksdb_open(options, argv[1], &err);
  CHECK_OK(err);
  work(db);
  CHECK(compacting.nice == 19 && compacting.io_class == IDLE);
  CHECK(flushing.nice == 19 && flushing.io_class == IDLE);
  const struct priorities after = of_this_thread();
  CHECK(after.nice == before.nice && after.io_class == before.io_class);

  rocksdb_close(db);
  rocksdb_options_destroy(options);
  rocksdb_compactionfilter_destroy(looks);
  rocksdb_env_destroy(env);
  return 0;
}
