/* WAL filters and compaction services of the caller, including invalid results. */
#include "check.h"

static int destroyed;
static void count_destroyed(void* state) {
  (void)state;
  destroyed++;
}

static const char* filter_name(void* state) {
  (void)state;
  return "test.Filter";
}

/* Returns the number at `state`; for 0 it replaces the first row by another. */
static int found(void* state, unsigned long long number, const char* file, size_t length,
                 const rocksdb_writebatch_t* batch, rocksdb_writebatch_t* other, unsigned char* changed) {
  CHECK(number > 0 && strlen(file) == length);
  CHECK(rocksdb_writebatch_count((rocksdb_writebatch_t*)batch) == 1);
  if (*(int*)state == 0) {
    rocksdb_writebatch_put(other, "other", 5, "v", 1);
    *changed = 1;
  }
  return *(int*)state;
}

static rocksdb_compactionservice_scheduleresponse_t* schedule(
    void* state, const rocksdb_compactionservice_jobinfo_t* info, const char* input, size_t length) {
  (void)state;
  size_t name_length = 0;
  CHECK(length > 4 && input[0] == 1);
  CHECK(rocksdb_compactionservice_jobinfo_t_is_manual_compaction(info) == 1);
  CHECK(rocksdb_compactionservice_jobinfo_t_get_compaction_reason(info) == 9);
  rocksdb_compactionservice_jobinfo_t_get_db_id(info, &name_length);
  CHECK(name_length == 36);
  char* err = NULL;
  return rocksdb_compactionservice_scheduleresponse_create("job", rocksdb_compactionservice_jobstatus_success,
                                                           &err);
}

static int wait_for(void* state, const char* job, char** result, size_t* length) {
  CHECK(strcmp(job, "job") == 0);
  *result = malloc(3);
  memcpy(*result, "abc", 3);
  *length = 3;
  return *(int*)state;
}

int main(int argc, char** argv) {
  CHECK(argc == 2);
  char* err = NULL;
  size_t length = 0;
  rocksdb_writeoptions_t* writes = rocksdb_writeoptions_create();
  rocksdb_readoptions_t* reads = rocksdb_readoptions_create();
  rocksdb_options_t* options = rocksdb_options_create();
  rocksdb_options_set_create_if_missing(options, 1);
  rocksdb_options_set_disable_auto_compactions(options, 1);
  rocksdb_t* db = rocksdb_open(options, argv[1], &err);
  CHECK_OK(err);
  rocksdb_put(db, writes, "k", 1, "v", 1, &err);
  CHECK_OK(err);
  rocksdb_close(db);

  int answer = 99;
  rocksdb_walfilter_t* filter = rocksdb_walfilter_create(&answer, count_destroyed, NULL, found, filter_name);
  rocksdb_options_set_wal_filter(options, filter);
  db = rocksdb_open(options, argv[1], &err);
  CHECK(db == NULL && strncmp(err, "Not implemented: Unknown WalProcessingOption", 44) == 0);
  free(err);
  err = NULL;
  answer = 0;
  db = rocksdb_open(options, argv[1], &err);
  CHECK_OK(err);
  /* The options keep the filter. */
  rocksdb_walfilter_destroy(filter);
  CHECK(destroyed == 0);
  char* value = rocksdb_get(db, reads, "k", 1, &length, &err);
  CHECK(is_value(value, length, NULL));
  value = rocksdb_get(db, reads, "other", 5, &length, &err);
  CHECK(is_value(value, length, "v"));
  rocksdb_close(db);
  rocksdb_options_clear_wal_filter(options);
  CHECK(destroyed == 1);

  /* An invalid result: the compaction runs here. An invalid status: it fails, and reads still succeed. */
  int status = rocksdb_compactionservice_jobstatus_success;
  rocksdb_options_set_compaction_service(
      options,
      rocksdb_compactionservice_create(&status, count_destroyed, schedule, "test.Service", wait_for, NULL, NULL));
  db = rocksdb_open(options, argv[1], &err);
  CHECK_OK(err);
  rocksdb_flushoptions_t* flush = rocksdb_flushoptions_create();
  for (int round = 0; round < 4; round++) {
    rocksdb_put(db, writes, "other", 5, "w", 1, &err);
    CHECK_OK(err);
    rocksdb_flush(db, flush, &err);
    CHECK_OK(err);
    if (round == 1) {
      rocksdb_compact_range(db, NULL, 0, NULL, 0);
      status = 77;
    }
  }
  rocksdb_compact_range(db, NULL, 0, NULL, 0);
  value = rocksdb_get(db, reads, "other", 5, &length, &err);
  CHECK(is_value(value, length, "w"));
  rocksdb_flushoptions_destroy(flush);
  rocksdb_close(db);
  rocksdb_options_destroy(options);
  CHECK(destroyed == 2);
  rocksdb_readoptions_destroy(reads);
  rocksdb_writeoptions_destroy(writes);
  return 0;
}
