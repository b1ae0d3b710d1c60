// A Go program over the C library in either form: it writes a row and reads it back.
package main

// #include <stdlib.h>
// #include "rocksdb/c.h"
import "C"

import (
	"fmt"
	"os"
	"unsafe"
)

func fail(message *C.char) {
	if message != nil {
		fmt.Fprintln(os.Stderr, C.GoString(message))
		os.Exit(1)
	}
}

func main() {
	options := C.rocksdb_options_create()
	C.rocksdb_options_set_create_if_missing(options, 1)
	place := C.CString(os.Args[1])
	var message *C.char
	db := C.rocksdb_open(options, place, &message)
	fail(message)
	write, read := C.rocksdb_writeoptions_create(), C.rocksdb_readoptions_create()
	key := C.CString("key")
	C.rocksdb_put(db, write, key, 3, key, 3, &message)
	fail(message)
	var length C.size_t
	value := C.rocksdb_get(db, read, key, 3, &length, &message)
	fail(message)
	if C.GoStringN(value, C.int(length)) != "key" {
		os.Exit(2)
	}
	C.rocksdb_free(unsafe.Pointer(value))
	C.rocksdb_close(db)
}
