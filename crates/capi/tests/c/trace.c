/* Traces of queries are recorded, read back, and replayed over another database. Traces of I/O and of the
   block cache. */
#include "check.h"

/* Checks the type of each record of a trace. */
static void check_types(rocksdb_env_t* env, const char* path, const char* types) {
  char* err = NULL;
  rocksdb_trace_reader_t* reader = rocksdb_trace_reader_create(env, NULL, path, &err);
  CHECK_OK(err);
  for (int turn = 0; turn < 2; turn++) {
    for (size_t i = 0; types[i] != 0; i++) {
      size_t size = 0;
      char* record = rocksdb_trace_reader_read(reader, &size, &err);
      CHECK_OK(err);
      CHECK(record != NULL && size >= 13 && record[8] == types[i]);
      rocksdb_free(record);
    }
    size_t size = 7;
    CHECK(rocksdb_trace_reader_read(reader, &size, &err) == NULL && size == 0);
    CHECK_OK(err);
    rocksdb_trace_reader_reset(reader, &err);
    CHECK_OK(err);
  }
  rocksdb_trace_reader_close(reader, &err);
  CHECK_OK(err);
  rocksdb_trace_reader_reset(reader, &err);
  CHECK(err != NULL && strcmp(err, "IO error: TraceReader is closed.") == 0);
  rocksdb_free(err);
  rocksdb_trace_reader_destroy(reader);
}

/* Checks the type of the first record of a trace, and that of all further ones, of which there is at least
   one. */
static void check_first(rocksdb_env_t* env, const char* path, char first, char others) {
  char* err = NULL;
  rocksdb_trace_reader_t* reader = rocksdb_trace_reader_create(env, NULL, path, &err);
  CHECK_OK(err);
  size_t size = 0, count = 0;
  char* record;
  while ((record = rocksdb_trace_reader_read(reader, &size, &err)) != NULL) {
    CHECK(size >= 13 && record[8] == (count == 0 ? first : others));
    rocksdb_free(record);
    count++;
  }
  CHECK_OK(err);
  CHECK(count > 1);
  rocksdb_trace_reader_destroy(reader);
}

int main(int argc, char** argv) {
  CHECK(argc == 2);
  char* err = NULL;
  char trace[4096], other[4096];
  snprintf(trace, sizeof(trace), "%s-trace", argv[1]);
  snprintf(other, sizeof(other), "%s-other", argv[1]);
  rocksdb_env_t* env = rocksdb_create_default_env();
  rocksdb_writeoptions_t* writes = rocksdb_writeoptions_create();
  rocksdb_readoptions_t* reads = rocksdb_readoptions_create();
  rocksdb_options_t* options = rocksdb_options_create();
  rocksdb_options_set_create_if_missing(options, 1);
  rocksdb_t* db = rocksdb_open(options, argv[1], &err);
  CHECK_OK(err);

  rocksdb_end_trace(db, &err);
  CHECK(err != NULL && strcmp(err, "IO error: No trace file to close") == 0);
  rocksdb_free(err);
  err = NULL;
  /* Without options all queries are recorded, with a filter only some. */
  size_t length = 0;
  for (int filtered = 0; filtered < 2; filtered++) {
    rocksdb_trace_options_t* how = NULL;
    if (filtered) {
      how = rocksdb_trace_options_create();
      rocksdb_trace_options_set_filter(how, rocksdb_trace_filter_get);
    }
    rocksdb_start_trace(db, NULL, NULL, how, trace, &err);
    CHECK_OK(err);
    rocksdb_put(db, writes, "k", 1, filtered ? "w" : "v", 1, &err);
    CHECK_OK(err);
    rocksdb_free(rocksdb_get(db, reads, "k", 1, &length, &err));
    CHECK_OK(err);
    rocksdb_iterator_t* iterator = rocksdb_create_iterator(db, reads);
    rocksdb_iter_seek(iterator, "a", 1);
    rocksdb_iter_seek_for_prev(iterator, "z", 1);
    rocksdb_iter_destroy(iterator);
    rocksdb_end_trace(db, &err);
    CHECK_OK(err);
    check_types(env, trace, filtered ? "\1\3\5\6\2" : "\1\3\4\5\6\2");
    if (filtered) rocksdb_trace_options_destroy(how);
  }

  rocksdb_t* to = rocksdb_open(options, other, &err);
  CHECK_OK(err);
  CHECK(rocksdb_new_default_replayer(to, NULL, 1, env, NULL, trace, &err) == NULL);
  CHECK(err != NULL && strcmp(err, "Invalid argument: column_families must not be null when count > 0") == 0);
  rocksdb_free(err);
  err = NULL;
  rocksdb_replayer_t* replayer = rocksdb_new_default_replayer(to, NULL, 0, NULL, NULL, trace, &err);
  CHECK_OK(err);
  CHECK(rocksdb_replayer_get_header_timestamp(replayer) == 0);
  rocksdb_replayer_replay(replayer, NULL, &err);
  CHECK(err != NULL && strcmp(err, "Result incomplete: Not prepared!") == 0);
  rocksdb_free(err);
  err = NULL;
  rocksdb_replay_options_t* how = rocksdb_replay_options_create();
  rocksdb_replay_options_set_num_threads(how, 2);
  rocksdb_replay_options_set_fast_forward(how, 1e9);
  for (int turn = 0; turn < 2; turn++) {
    rocksdb_replayer_prepare(replayer, &err);
    CHECK_OK(err);
    CHECK(rocksdb_replayer_get_header_timestamp(replayer) > 0);
    rocksdb_replayer_replay(replayer, how, &err);
    CHECK_OK(err);
  }
  rocksdb_replay_options_destroy(how);
  rocksdb_replayer_destroy(replayer);
  char* value = rocksdb_get(to, reads, "k", 1, &length, &err);
  CHECK_OK(err);
  CHECK(value != NULL && length == 1 && value[0] == 'w');
  rocksdb_free(value);

  /* Traces of I/O and of the block cache: one at a time. Ending a trace that does not exist is not an error.
     */
  rocksdb_end_io_trace(db, &err);
  rocksdb_end_block_cache_trace(db, &err);
  CHECK_OK(err);
  rocksdb_start_io_trace(db, NULL, NULL, NULL, trace, &err);
  CHECK_OK(err);
  char second[4200];
  snprintf(second, sizeof(second), "%s-second", trace);
  rocksdb_start_io_trace(db, NULL, NULL, NULL, second, &err);
  CHECK(err != NULL && strncmp(err, "Resource busy: ", 15) == 0);
  rocksdb_free(err);
  err = NULL;
  rocksdb_put(db, writes, "k", 1, "x", 1, &err);
  CHECK_OK(err);
  rocksdb_end_io_trace(db, &err);
  CHECK_OK(err);
  check_first(env, trace, 1, 12);
  rocksdb_flushoptions_t* flush = rocksdb_flushoptions_create();
  rocksdb_flush(db, flush, &err);
  CHECK_OK(err);
  rocksdb_flushoptions_destroy(flush);
  rocksdb_block_cache_trace_options_t* sampled = rocksdb_block_cache_trace_options_create();
  rocksdb_block_cache_trace_options_set_sampling_frequency(sampled, 1);
  rocksdb_start_block_cache_trace_with_options(db, env, NULL, sampled, NULL, trace, &err);
  CHECK_OK(err);
  rocksdb_start_block_cache_trace(db, env, NULL, NULL, second, &err);
  CHECK(err != NULL && strncmp(err, "Resource busy: ", 15) == 0);
  rocksdb_free(err);
  err = NULL;
  rocksdb_free(rocksdb_get(db, reads, "k", 1, &length, &err));
  CHECK_OK(err);
  rocksdb_end_block_cache_trace(db, &err);
  CHECK_OK(err);
  check_first(env, trace, 1, 9);
  rocksdb_block_cache_trace_options_destroy(sampled);

  rocksdb_close(to);
  rocksdb_close(db);
  rocksdb_options_destroy(options);
  rocksdb_readoptions_destroy(reads);
  rocksdb_writeoptions_destroy(writes);
  rocksdb_env_destroy(env);
  return 0;
}
