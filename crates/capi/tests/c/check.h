/* The common part of the programs: checks that report the place of a failure. */
#ifndef CHECK_H
#define CHECK_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "rocksdb/c.h"

#define CHECK(condition)                                                      \
  do {                                                                        \
    if (!(condition)) {                                                       \
      fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition);         \
      exit(1);                                                                \
    }                                                                         \
  } while (0)

#define CHECK_OK(err)                                                         \
  do {                                                                        \
    if ((err) != NULL) {                                                      \
      fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, (err));              \
      exit(1);                                                                \
    }                                                                         \
  } while (0)

/* True if both are absent, or both are present and equal. Frees the value. */
static inline int is_value(char* value, size_t length, const char* wanted) {
  int same = wanted == NULL ? value == NULL
                            : value != NULL && length == strlen(wanted) &&
                                  memcmp(value, wanted, length) == 0;
  free(value);
  return same;
}

#endif
