/* Backups, checkpoints, and tables that are written outside of a database and ingested. */
#include "check.h"

static void check_get(rocksdb_t* db, const char* key, const char* wanted) {
  rocksdb_readoptions_t* reads = rocksdb_readoptions_create();
  char* err = NULL;
  size_t length = 0;
  char* value = rocksdb_get(db, reads, key, strlen(key), &length, &err);
  CHECK_OK(err);
  CHECK(is_value(value, length, wanted));
  rocksdb_readoptions_destroy(reads);
}

static int told;
static void progress(void* state) { (*(int*)state)++; }

int main(int argc, char** argv) {
  CHECK(argc == 2);
  char* err = NULL;
  char backups[512], restored[512], copy[512], table[512];
  snprintf(backups, sizeof(backups), "%s-backups", argv[1]);
  snprintf(restored, sizeof(restored), "%s-restored", argv[1]);
  snprintf(copy, sizeof(copy), "%s-copy", argv[1]);
  snprintf(table, sizeof(table), "%s-table.sst", argv[1]);
  rocksdb_writeoptions_t* writes = rocksdb_writeoptions_create();
  rocksdb_options_t* options = rocksdb_options_create();
  rocksdb_options_set_create_if_missing(options, 1);
  rocksdb_t* db = rocksdb_open(options, argv[1], &err);
  CHECK_OK(err);
  rocksdb_put(db, writes, "k", 1, "v", 1, &err);
  CHECK_OK(err);

  /* A table that is written outside of the database. */
  rocksdb_envoptions_t* env_options = rocksdb_envoptions_create();
  rocksdb_sstfilewriter_t* writer = rocksdb_sstfilewriter_create(env_options, options);
  rocksdb_sstfilewriter_open(writer, table, &err);
  CHECK_OK(err);
  rocksdb_sstfilewriter_put(writer, "t1", 2, "one", 3, &err);
  rocksdb_sstfilewriter_put(writer, "t2", 2, "two", 3, &err);
  CHECK_OK(err);
  rocksdb_sstfilewriter_put(writer, "t1", 2, "again", 5, &err);
  CHECK(err != NULL);
  free(err);
  err = NULL;
  rocksdb_sstfilewriter_finish(writer, &err);
  CHECK_OK(err);
  /* The size of a finished file stays readable. */
  uint64_t size = 0;
  rocksdb_sstfilewriter_file_size(writer, &size);
  CHECK(size > 0);
  rocksdb_sstfilewriter_destroy(writer);
  rocksdb_envoptions_destroy(env_options);
  rocksdb_ingestexternalfileoptions_t* ingest = rocksdb_ingestexternalfileoptions_create();
  const char* files[1] = {table};
  rocksdb_ingest_external_file(db, files, 1, ingest, &err);
  CHECK_OK(err);
  rocksdb_ingestexternalfileoptions_destroy(ingest);
  check_get(db, "t2", "two");

  /* A checkpoint. */
  rocksdb_checkpoint_t* checkpoint = rocksdb_checkpoint_object_create(db, &err);
  CHECK_OK(err);
  rocksdb_checkpoint_create(checkpoint, copy, 0, &err);
  CHECK_OK(err);
  rocksdb_checkpoint_object_destroy(checkpoint);
  rocksdb_t* other = rocksdb_open(options, copy, &err);
  CHECK_OK(err);
  check_get(other, "k", "v");
  rocksdb_close(other);

  /* A backup with metadata, and its restoration. */
  rocksdb_backup_engine_options_t* engine_options = rocksdb_backup_engine_options_create(backups);
  rocksdb_backup_engine_options_set_callback_trigger_interval_size(engine_options, 1);
  rocksdb_backup_engine_t* engine = rocksdb_backup_engine_open_opts(engine_options, NULL, &err);
  CHECK_OK(err);
  rocksdb_create_backup_options_t* create = rocksdb_create_backup_options_create();
  rocksdb_create_backup_options_set_progress_callback(create, &told, progress);
  uint32_t id = 0;
  rocksdb_backup_engine_create_new_backup_with_metadata(engine, db, create, "note", 4, &id, &err);
  CHECK_OK(err);
  CHECK(id == 1 && told > 0);
  const rocksdb_backup_engine_info_t* info = rocksdb_backup_engine_get_backup_info(engine);
  CHECK(rocksdb_backup_engine_info_count(info) == 1);
  size_t length = 0;
  const char* note = rocksdb_backup_engine_info_app_metadata(info, 0, &length);
  CHECK(length == 4 && memcmp(note, "note", 4) == 0);
  rocksdb_backup_engine_info_destroy(info);
  rocksdb_put(db, writes, "k", 1, "later", 5, &err);
  CHECK_OK(err);
  rocksdb_restore_options_t* restore = rocksdb_restore_options_create();
  rocksdb_backup_engine_restore_db_from_latest_backup(engine, restored, restored, restore, &err);
  CHECK_OK(err);
  rocksdb_restore_options_destroy(restore);
  other = rocksdb_open(options, restored, &err);
  CHECK_OK(err);
  check_get(other, "k", "v");
  check_get(other, "t1", "one");
  rocksdb_close(other);
  rocksdb_backup_engine_stop_backup(engine);
  rocksdb_backup_engine_create_new_backup(engine, db, &err);
  CHECK(err != NULL);
  free(err);
  err = NULL;
  rocksdb_backup_engine_close(engine);
  rocksdb_create_backup_options_destroy(create);
  rocksdb_backup_engine_options_destroy(engine_options);
  rocksdb_close(db);
  rocksdb_options_destroy(options);
  rocksdb_writeoptions_destroy(writes);
  return 0;
}
