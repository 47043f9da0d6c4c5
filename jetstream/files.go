package jetstream

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"

	"github.com/nats-io/nats-server/v2/server"
)

// files are the files of a stream that an embedded server stores. The server keeps its
// files open, so it continues if they are removed: on most systems its writes and syncs
// then succeed, and no later process finds the values. A server that is not embedded is
// asked for nothing here: its files are nil.
//
// The checks use paths, as the next process will:
//
//   - the folder of the messages is the one that was there at Open. It is kept open, or
//     its inode could be given to a folder that replaces it;
//   - the settings of the stream exist: without them, a server ignores its messages;
//   - the newest block of messages exists, which the server writes to. Blocks are numbered
//     from 1, and an older one is removed by the server once it is empty;
//   - the lock of the directory is the one that this process has, or a second process may write
//     to the same files. A sender checks that before it writes, too: see checkLock.
type files struct {
	server             *embedded
	settings, messages string // paths
	opened             *os.Root
	identity           os.FileInfo // of opened
	newest             atomic.Uint64
}

// Names in the directory of a server, which has no API for them.
const (
	streamsFolder  = "streams"
	messagesFolder = "msgs"
	settingsFile   = "meta.inf"
	blockPattern   = "%d.blk"
)

// openFiles returns the files of a stream, or nil if e is nil.
func openFiles(e *embedded, stream string) (_ *files, err error) {
	if e == nil {
		return nil, nil
	}
	folder := filepath.Join(e.server.StoreDir(), server.DEFAULT_GLOBAL_ACCOUNT, streamsFolder, stream)
	f := &files{server: e, settings: filepath.Join(folder, settingsFile), messages: filepath.Join(folder, messagesFolder)}
	if f.opened, err = os.OpenRoot(f.messages); err == nil {
		if f.identity, err = f.opened.Stat("."); err == nil {
			return f, nil
		}
	}
	f.close()
	return nil, f.removed(err)
}

func (f *files) close() {
	if f != nil && f.opened != nil {
		_ = f.opened.Close() // it was only read
	}
}

// check returns an ErrRemoved unless the files are at their place.
func (f *files) check() error {
	found, err := os.Stat(f.messages)
	if err == nil && !os.SameFile(f.identity, found) {
		err = errors.New("another folder is there")
	}
	if err == nil {
		_, err = os.Stat(f.settings)
	}
	if err == nil {
		err = f.checkNewest()
	}
	if err != nil {
		return f.removed(err)
	}
	return f.server.checkLock()
}

func (f *files) removed(err error) error {
	return fmt.Errorf("%w: %s: %w", ErrRemoved, f.messages, err)
}

// checkNewest checks that the newest block exists. Usually it is the one of the last check
// or the one after it.
func (f *files) checkNewest() error {
	newest := f.newest.Load()
	for f.hasBlock(newest + 1) {
		newest++
	}
	if newest > 0 && f.hasBlock(newest) {
		f.newest.Store(newest)
		return nil
	}
	entries, err := os.ReadDir(f.messages)
	if err != nil {
		return err
	}
	last := uint64(0)
	for _, entry := range entries {
		var n uint64
		if _, err := fmt.Sscanf(entry.Name(), blockPattern, &n); err == nil {
			last = max(last, n)
		}
	}
	if last < newest {
		return &fs.PathError{Op: "stat", Path: fmt.Sprintf(blockPattern, newest), Err: fs.ErrNotExist}
	}
	f.newest.Store(last)
	return nil
}

func (f *files) hasBlock(n uint64) bool {
	_, err := os.Stat(filepath.Join(f.messages, fmt.Sprintf(blockPattern, n)))
	return err == nil
}

// checkLock is checkFiles if the lock of the embedded server is gone.
func (s *stream) checkLock() error {
	if s.files == nil || s.files.server.checkLock() == nil {
		return nil
	}
	return s.checkFiles()
}

// checkFiles returns an ErrRemoved, and warns, while the files of the embedded server are
// gone.
func (s *stream) checkFiles() error {
	if s.files == nil {
		return nil
	}
	err := s.files.check()
	switch {
	case err == nil:
		s.warn(warnFiles, "")
		return nil
	case s.life.shutdown.Load() || s.life.deleted.Load(): // we removed them
		return nil
	}
	s.warn(warnFiles, strings.TrimPrefix(err.Error(), "jetstream: "))
	return err
}
