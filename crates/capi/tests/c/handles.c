/* Objects that are released twice, with checks enabled: each is reported, and not touched. Run with
   ESKER_CHECKED_HANDLES=1. */
#include "check.h"

int main(int argc, char** argv) {
  CHECK(argc == 2);
  char* err = NULL;
  rocksdb_readoptions_t* reads = rocksdb_readoptions_create();
  rocksdb_options_t* options = rocksdb_options_create();
  rocksdb_options_set_create_if_missing(options, 1);
  rocksdb_t* db = rocksdb_open(options, argv[1], &err);
  CHECK_OK(err);
  rocksdb_iterator_t* iter = rocksdb_create_iterator(db, reads);
  rocksdb_iter_destroy(iter);
  /* Another object of its kind does not get its address. */
  rocksdb_iterator_t* other = rocksdb_create_iterator(db, reads);
  CHECK(other != iter);
  rocksdb_iter_destroy(iter);
  rocksdb_iter_seek_to_first(other);
  rocksdb_iter_destroy(other);
  /* An object that options have taken over does not belong to the caller any more. */
  rocksdb_slicetransform_t* prefix = rocksdb_slicetransform_create_fixed_prefix(3);
  rocksdb_options_set_prefix_extractor(options, prefix);
  rocksdb_slicetransform_destroy(prefix);
  /* Nor does the next pinned value get the memory of the last one. */
  rocksdb_writeoptions_t* writes = rocksdb_writeoptions_create();
  rocksdb_put(db, writes, "k", 1, "v", 1, &err);
  CHECK_OK(err);
  rocksdb_pinnableslice_t* pinned = rocksdb_get_pinned(db, reads, "k", 1, &err);
  CHECK(pinned != NULL);
  rocksdb_pinnableslice_destroy(pinned);
  rocksdb_pinnableslice_t* next = rocksdb_get_pinned(db, reads, "k", 1, &err);
  CHECK(next != NULL && next != pinned);
  rocksdb_pinnableslice_destroy(pinned);
  size_t length;
  CHECK(rocksdb_pinnableslice_value(next, &length) != NULL && length == 1);
  rocksdb_pinnableslice_destroy(next);
  rocksdb_writeoptions_destroy(writes);
  int here = 0;
  rocksdb_readoptions_destroy((rocksdb_readoptions_t*)&here);
  rocksdb_close(db);
  rocksdb_close(db);
  rocksdb_readoptions_destroy(reads);
  rocksdb_options_destroy(options);
  return 0;
}
