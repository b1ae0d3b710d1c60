/* A compaction service whose worker is in the same process: both ends of remote compaction. */
#include "check.h"

#include <sys/stat.h>

static char database[4096];
static char directory[4096];
static char* input;
static size_t input_length;
static int installed = -1;

static rocksdb_compactionservice_scheduleresponse_t* schedule(
    void* state, const rocksdb_compactionservice_jobinfo_t* info, const char* job, size_t length) {
  (void)state;
  (void)info;
  free(input);
  input = malloc(length);
  memcpy(input, job, length);
  input_length = length;
  char* err = NULL;
  return rocksdb_compactionservice_scheduleresponse_create("job", rocksdb_compactionservice_jobstatus_success,
                                                           &err);
}

static int wait_for(void* state, const char* job, char** result, size_t* length) {
  (void)state;
  CHECK(strcmp(job, "job") == 0);
  char* err = NULL;
  rocksdb_compaction_service_options_override_t* own = rocksdb_compaction_service_options_override_create();
  rocksdb_compaction_service_options_override_set_option(own, "bottommost_compression", "kNoCompression");
  *result = rocksdb_open_and_compact(database, directory, input, input_length, length, own, &err);
  CHECK_OK(err);
  CHECK(*result != NULL && *length > 4);
  rocksdb_compaction_service_options_override_destroy(own);
  return rocksdb_compactionservice_jobstatus_success;
}

static void on_installation(void* state, const char* job, int status) {
  (void)state;
  CHECK(strcmp(job, "job") == 0);
  installed = status;
}

static void nothing(void* state) { (void)state; }

/* Runs the last job again, into another directory, and returns the text of the error. */
static char* refused(const char* job, size_t length, rocksdb_open_and_compact_options_t* options,
                     rocksdb_compaction_service_options_override_t* own) {
  char* err = NULL;
  size_t result_length = 77;
  char* result = rocksdb_open_and_compact_with_options(options, database, directory, job, length, &result_length,
                                                       own, &err);
  CHECK(result == NULL && err != NULL && result_length == 77);
  return err;
}

static int begins(char* err, const char* with) {
  int does = strncmp(err, with, strlen(with)) == 0;
  if (!does) fprintf(stderr, "%s\n", err);
  rocksdb_free(err);
  return does;
}

int main(int argc, char** argv) {
  CHECK(argc == 2);
  snprintf(database, sizeof database, "%s", argv[1]);
  snprintf(directory, sizeof directory, "%s-job", argv[1]);
  char* err = NULL;
  size_t length = 0;
  rocksdb_writeoptions_t* writes = rocksdb_writeoptions_create();
  rocksdb_readoptions_t* reads = rocksdb_readoptions_create();
  rocksdb_options_t* options = rocksdb_options_create();
  rocksdb_options_set_create_if_missing(options, 1);
  rocksdb_options_set_disable_auto_compactions(options, 1);
  rocksdb_options_set_uint64add_merge_operator(options);
  rocksdb_options_set_compaction_service(
      options, rocksdb_compactionservice_create(NULL, nothing, schedule, "test.Remote", wait_for, NULL,
                                                on_installation));
  rocksdb_t* db = rocksdb_open(options, database, &err);
  CHECK_OK(err);
  rocksdb_flushoptions_t* flush = rocksdb_flushoptions_create();
  unsigned long long one = 1;
  for (int round = 0; round < 3; round++) {
    rocksdb_put(db, writes, "key", 3, "value", 5, &err);
    CHECK_OK(err);
    rocksdb_merge(db, writes, "sum", 3, (const char*)&one, sizeof one, &err);
    CHECK_OK(err);
    rocksdb_flush(db, flush, &err);
    CHECK_OK(err);
  }
  rocksdb_compact_range(db, NULL, 0, NULL, 0);
  CHECK(installed == rocksdb_compactionservice_jobstatus_success);
  char* value = rocksdb_get(db, reads, "key", 3, &length, &err);
  CHECK_OK(err);
  CHECK(length == 5 && memcmp(value, "value", 5) == 0);
  rocksdb_free(value);
  value = rocksdb_get(db, reads, "sum", 3, &length, &err);
  CHECK_OK(err);
  unsigned long long three = 3;
  CHECK(length == sizeof three && memcmp(value, &three, sizeof three) == 0);
  rocksdb_free(value);

  /* The inputs of the job are gone now. */
  rocksdb_compaction_service_options_override_t* own = rocksdb_compaction_service_options_override_create();
  rocksdb_open_and_compact_options_t* how = rocksdb_open_and_compact_options_create();
  rocksdb_open_and_compact_options_set_allow_resumption(how, 1);
  CHECK(begins(refused(input, input_length, how, own), "Invalid argument: Specified compaction input file"));
  CHECK(begins(refused("abcdefgh", 8, how, own), "Not implemented: Compaction Service Input data version"));
  CHECK(begins(refused("abc", 3, how, own), "Invalid argument: Invalid CompactionServiceInput string"));
  CHECK(begins(refused(NULL, 0, how, own), "Invalid argument: Invalid arguments"));
  CHECK(begins(refused(input, input_length, NULL, own), "Invalid argument: Invalid arguments"));
  CHECK(begins(refused(input, input_length, how, NULL), "Invalid argument: Invalid arguments"));
  unsigned char* canceled = rocksdb_open_and_compact_canceled_create();
  CHECK(*canceled == 0);
  rocksdb_open_and_compact_canceled_set(canceled, 1);
  CHECK(*canceled == 1);
  rocksdb_open_and_compact_options_set_canceled(how, canceled);
  CHECK(begins(refused(input, input_length, how, own), "Result incomplete: Manual compaction paused"));
  rocksdb_open_and_compact_options_destroy(how);
  rocksdb_open_and_compact_canceled_destroy(canceled);
  rocksdb_compaction_service_options_override_destroy(own);

  rocksdb_flushoptions_destroy(flush);
  rocksdb_close(db);
  rocksdb_options_destroy(options);
  rocksdb_readoptions_destroy(reads);
  rocksdb_writeoptions_destroy(writes);
  free(input);
  return 0;
}
