package spill

import (
	"encoding/binary"
	"errors"
	"hash/crc32"
	"os"
	"path/filepath"
	"runtime/debug"
	"strings"
	"testing"

	bolt "go.etcd.io/bbolt"
)

// TestGuard: panics of bbolt, and faults at missing pages, become errors that name the
// file. Outside of the guard, faults are not affected.
func TestGuard(t *testing.T) {
	path := filepath.Join(oldQueueOf(t, 500), queueFile)
	file, err := opener{noSync: true}.lock(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range []func() error{
		func() error { return file.view(func(*bolt.Tx) error { panic("page 7 is no leaf") }) },
		func() error {
			return file.view(func(tx *bolt.Tx) error {
				if err := os.Truncate(path, 0); err != nil {
					t.Error(err)
				}
				for range tx.Bucket(recordsBucket).Stats().KeyN {
				}
				return nil
			})
		},
	} {
		if err := f(); !errors.Is(err, errDamaged) || !strings.HasPrefix(err.Error(), "spill: read "+path+": damaged: ") {
			t.Errorf("guard: %v", err)
		}
	}
	if debug.SetPanicOnFault(false) {
		t.Error("a fault is a panic from then on")
	}
	if err := file.close(); err != nil {
		t.Error(err)
	}
}

// addChecksum returns a record of version 1.
func addChecksum(payload []byte) []byte {
	return append(binary.LittleEndian.AppendUint32(nil, crc32.Checksum(payload, castagnoli)), payload...)
}

// TestChecksum: bytes that are too short for a checksum, or that have changed, are an
// error.
func TestChecksum(t *testing.T) {
	payload, err := splitChecksum(addChecksum([]byte("form")))
	if err != nil || string(payload) != "form" {
		t.Errorf("%q, %v", payload, err)
	}
	changed := addChecksum([]byte("form"))
	changed[checksumSize]++
	if payload, err := splitChecksum(changed); err == nil || string(payload) != "gorm" {
		t.Errorf("changed: %q, %v", payload, err)
	}
	if payload, err := splitChecksum(changed[:checksumSize-1]); payload != nil || err == nil || err.Error() != "3 bytes are too short for a checksum" {
		t.Errorf("cut: %q, %v", payload, err)
	}
}
