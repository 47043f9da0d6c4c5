package spill

import (
	"errors"
	"fmt"
	"path/filepath"
)

// Compact converts a queue of an earlier version, which never returned space to the disk,
// and returns the sizes before and after in bytes. For other queues it changes nothing:
// a Durable returns space while it is open. The queue must not be open.
//
// OpenDurable converts a queue, too. Both need disk space for a second copy of the
// records, and after a crash or an error the queue is as it was.
func Compact(dir string) (before, after int64, err error) {
	if before, after, err = (opener{}).compact(dir); err != nil {
		err = fmt.Errorf("spill: Compact: %w", err)
	}
	return before, after, err
}

func (o opener) compact(dir string) (before, after int64, err error) {
	path := filepath.Join(dir, queueFile)
	if err := o.verify(path); err != nil {
		return 0, 0, err
	}
	file, err := o.lock(path)
	if err != nil {
		return 0, 0, err
	}
	err = file.about()
	info, failed := file.file.Stat()
	if err := errors.Join(err, failed, file.close()); err != nil {
		return 0, 0, err
	}
	s, _, _, err := o.open(dir, file.codec)
	if err != nil {
		return 0, 0, err
	}
	before, after = info.Size(), s.size()
	if file.version == versionLog {
		before = after
	}
	return before, after, s.close()
}
