package spill

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"github.com/sluice-go/sluice/spill/internal/disk"
	bolt "go.etcd.io/bbolt"
	berrors "go.etcd.io/bbolt/errors"
)

const (
	queueFile  = "queue.db"
	unfinished = queueFile + ".new-" // and a number

	lockTimeout = 250 * time.Millisecond // for a process that is about to exit
)

var (
	metaBucket    = []byte("sluice-spill")
	recordsBucket = []byte("records")
	versionKey    = []byte("version")
	codecKey      = []byte("codec")
)

// An opener opens and creates queues.
type opener struct {
	policy DamagePolicy

	// For tests:
	noSync  bool
	segment int64                   // the size of segments, or 0
	reserve int64                   // the size of the reserve, or 0
	acks    int64                   // the size of the acknowledgment area, or 0
	disk    func(string) disk.Disk  // nil, or the disk to use in the place of a folder
	step    func(name string) error // nil, or called between the steps of a conversion
}

func (o opener) options() *bolt.Options {
	return &bolt.Options{
		Timeout: lockTimeout, NoSync: o.noSync, NoGrowSync: o.noSync,
		NoFreelistSync: true, FreelistType: bolt.FreelistMapType,
	}
}

// lock opens the file exclusively. If another process replaced the file while lock waited, it
// opens the new one.
func (o opener) lock(path string) (*boltFile, error) {
	for {
		var db *bolt.DB
		var opened *os.File
		options := o.options()
		options.OpenFile = func(name string, flag int, mode os.FileMode) (*os.File, error) {
			var err error
			opened, err = os.OpenFile(name, flag&^os.O_CREATE, mode)
			return opened, err
		}
		err := catch(path, "open", func() (err error) {
			db, err = bolt.Open(path, 0o600, options)
			return err
		})
		if err != nil {
			return nil, inUse(path, err)
		}
		ours, err1 := opened.Stat()
		named, err2 := os.Stat(path)
		if err := errors.Join(err1, err2); err != nil {
			_ = db.Close()
			return nil, err
		}
		if os.SameFile(ours, named) {
			return &boltFile{db: db, file: opened, path: path}, nil
		}
		_ = db.Close()
	}
}

// inUse translates an error of bolt.Open.
func inUse(path string, err error) error {
	if errors.Is(err, berrors.ErrTimeout) {
		return fmt.Errorf("%s: in use by another Durable, in this process or another", path)
	}
	return err
}

// create creates an empty file under a temporary name and then links it to path.
// Another process may have created it meanwhile, which is no error.
func (o opener) create(path, version, codec string) error {
	name, err := o.prepare(path, version, codec)
	if err != nil {
		return err
	}
	defer func() { _ = os.Remove(name) }()
	if err := os.Link(name, path); err != nil {
		if _, missing := os.Stat(path); missing != nil {
			return err
		}
	}
	return o.syncDir(filepath.Dir(path))
}

// replace replaces the file at path by an empty one.
func (o opener) replace(path, version, codec string) error {
	name, err := o.prepare(path, version, codec)
	if err != nil {
		return err
	}
	if err := os.Rename(name, path); err != nil {
		_ = os.Remove(name)
		return err
	}
	return o.syncDir(filepath.Dir(path))
}

// prepare creates an empty file beside path under a temporary name.
func (o opener) prepare(path, version, codec string) (name string, err error) {
	made, err := os.CreateTemp(filepath.Dir(path), unfinished+"*")
	if err != nil {
		return "", err
	}
	name = made.Name()
	defer func() {
		if err != nil {
			_ = os.Remove(name)
		}
	}()
	if err := made.Close(); err != nil {
		return "", err
	}
	db, err := bolt.Open(name, 0o600, o.options())
	if err != nil {
		return "", err
	}
	err = db.Update(func(tx *bolt.Tx) error {
		about, err := tx.CreateBucket(metaBucket)
		if err == nil {
			err = errors.Join(about.Put(versionKey, []byte(version)), about.Put(codecKey, []byte(codec)))
		}
		if err == nil {
			_, err = tx.CreateBucket(recordsBucket)
		}
		return err
	})
	return name, errors.Join(err, db.Close())
}

// removeUnfinished removes the temporary files of processes that died in create or replace, or
// in Compact of an earlier version. The caller has locked the queue, and a concurrent create
// does not need its file once there is a queue. A file that cannot be removed only uses disk space.
func removeUnfinished(dir string) {
	entries, _ := os.ReadDir(dir)
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), unfinished) {
			_ = os.Remove(filepath.Join(dir, e.Name()))
		}
	}
}

// syncDir makes the entries of a directory durable.
func (o opener) syncDir(dir string) error {
	if o.noSync || runtime.GOOS == "windows" { // NTFS has no sync of a folder
		return nil
	}
	f, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}

// verify checks a file before bbolt opens it for writing: at a missing or damaged page
// bbolt would end the process.
func (o opener) verify(path string) error {
	return catch(path, "open", func() error {
		info, err := os.Stat(path)
		if err != nil {
			return err
		}
		if !info.Mode().IsRegular() {
			return fmt.Errorf("%s: %w", path, errNotRegular)
		}
		if info.Size() == 0 {
			return fmt.Errorf("%s: %w: the file is empty", path, errNotQueue)
		}
		var file *os.File // the open file; the path may lead to another one by now
		options := o.options()
		options.ReadOnly = true
		options.OpenFile = func(name string, flag int, mode os.FileMode) (_ *os.File, err error) {
			file, err = os.OpenFile(name, flag, mode)
			return file, err
		}
		db, err := bolt.Open(path, 0o600, options)
		if errors.Is(err, berrors.ErrTimeout) {
			return inUse(path, err)
		}
		if file == nil {
			return err // it could not be opened
		}
		if err != nil {
			return fmt.Errorf("%s: %w, or damaged: %w", path, errNotQueue, err)
		}
		defer func() { _ = db.Close() }()
		return db.View(func(tx *bolt.Tx) error {
			info, err := file.Stat() // again: it may have grown before the lock was acquired
			if err != nil {
				return err
			}
			if tx.Size() > info.Size() {
				return fmt.Errorf("%s: %w: truncated to %d bytes (want %d)", path, errDamaged, info.Size(), tx.Size())
			}
			if err := scanFile(file, db.Info().PageSize); err != nil {
				return fmt.Errorf("%s: %w", path, err)
			}
			return nil
		})
	})
}

var errNotRegular = errors.New("not a regular file")
