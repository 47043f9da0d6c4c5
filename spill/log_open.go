package spill

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/sluice-go/sluice/spill/internal/logstore"
)

// A queue is a folder with
//
//	queue.db       has the format version, and is locked while the queue is open
//	queue.log      the folder of the log with the records
//	queue.log.new  a log that is not complete
//	*.damaged      what SetDamageAside has set aside
//
// queue.db is a file of bbolt, because earlier versions had the records in it. They keep
// out of a queue of this version: while it is open they find it locked, and later its
// format version is too high for them. A folder is in one of these states:
//
//	queue.db has version 1, and there is no queue.log: the records are in queue.db
//	queue.db has version 2: the records are in queue.log; if that is missing, in queue.log.new
//
// A new queue is one of version 1 without records. A transaction of bbolt that changes
// the version turns the first state into the second one: see convert.go. So a process
// that dies leaves one of them.
const (
	logFolder     = "queue.log"
	newLogFolder  = logFolder + ".new"
	reserveFile   = "queue.reserve" // of an earlier version
	damagedSuffix = ".damaged"
	largeFile     = 1 << 20 // a queue.db of this size still has the pages of its records
)

// open opens the queue in dir, whose records have the encoding of codec, or creates one.
func (o opener) open(dir, codec string) (s *logStore, found contents, repair Repair, err error) {
	file, err := o.claim(dir, codec, &repair)
	if err != nil {
		return nil, found, repair, o.advise(err, o.spare(dir, err))
	}
	log, held, err := o.openLog(dir, codec, &repair)
	if err != nil {
		var damage *logstore.DamagedError
		err = o.advise(err, errors.Is(err, errDamaged) || errors.As(err, &damage))
		return nil, found, repair, errors.Join(err, file.close())
	}
	removeUnfinished(dir)
	for _, left := range []string{newLogFolder, reserveFile} {
		_ = os.RemoveAll(filepath.Join(dir, left)) // if it fails, it only uses space
	}
	return &logStore{log, file.db}, contents{held.First, held.Next, held.Records, held.Bytes}, repair, nil
}

// claim locks the queue in dir, and brings it into the second state.
func (o opener) claim(dir, codec string, repair *Repair) (*boltFile, error) {
	file, err := o.lockQueue(dir, codec, repair)
	if err != nil {
		return nil, err
	}
	if err := o.upgrade(file, dir, codec, repair); err != nil {
		return nil, errors.Join(err, file.close())
	}
	info, err := file.file.Stat()
	if err != nil || info.Size() < largeFile && repair.Lost == 0 {
		return file, err
	}
	// The file must be closed for that on some systems. Another process may be faster to
	// lock the new one; the log has a lock of its own.
	if err := file.close(); err != nil {
		return nil, err
	}
	_ = o.replace(file.path, versionLog, codec) // if it fails, the file only uses space
	return o.lockQueue(dir, codec, repair)
}

// lockQueue locks the queue in dir, or creates one, and reads its version.
func (o opener) lockQueue(dir, codec string, repair *Repair) (*boltFile, error) {
	path := filepath.Join(dir, queueFile)
	if err := o.ensure(dir, codec); err != nil {
		return nil, err
	}
	err := o.verify(path)
	if o.replaceable(dir, err) {
		if err := o.setAside(path, err, repair); err != nil {
			return nil, err
		}
		err = o.create(path, versionLog, codec)
	}
	if err != nil {
		return nil, err
	}
	file, err := o.lock(path)
	if err != nil {
		return nil, err
	}
	err = file.about()
	if err == nil {
		return file, nil
	}
	if err := errors.Join(err, file.close()); !o.replaceable(dir, err) {
		return nil, err
	}
	if err := o.setAside(path, err, repair); err != nil {
		return nil, err
	}
	return o.lockQueue(dir, codec, repair)
}

// ensure creates queue.db if it is missing.
func (o opener) ensure(dir, codec string) error {
	path := filepath.Join(dir, queueFile)
	if _, err := os.Stat(path); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	version := versionRecords
	if exists(filepath.Join(dir, logFolder)) { // queue.db was removed
		version = versionLog
	}
	return o.create(path, version, codec)
}

// replaceable reports whether err is about a queue.db that is damaged, and needs to have no
// records.
func (o opener) replaceable(dir string, err error) bool {
	return o.policy == SetDamageAside && o.spare(dir, err)
}

// spare reports whether err is about a damaged queue.db beside a log.
func (o opener) spare(dir string, err error) bool {
	return (errors.Is(err, errDamaged) || errors.Is(err, errNotQueue)) && exists(filepath.Join(dir, logFolder))
}

// advise adds to an error what to do about it, if the other policy would repair the queue.
func (o opener) advise(err error, repairable bool) error {
	if o.policy == SetDamageAside || !repairable {
		return err
	}
	return fmt.Errorf("%w; to open the queue with all records that can be read, set DurableOptions.OnDamage to SetDamageAside", err)
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return !errors.Is(err, fs.ErrNotExist)
}

// setAside renames a damaged file or folder.
func (o opener) setAside(path string, damage error, repair *Repair) error {
	to := path + damagedSuffix
	for n := 2; exists(to); n++ {
		to = fmt.Sprint(path, damagedSuffix, "-", n)
	}
	if err := os.Rename(path, to); err != nil {
		return err
	}
	repair.add(damage, 0, 0, 0)
	repair.Files = append(repair.Files, to)
	return o.syncDir(filepath.Dir(path))
}

// openLog opens the log of a queue, and repairs it if the policy is to.
func (o opener) openLog(dir, codec string, repair *Repair) (*logstore.Store, logstore.Contents, error) {
	path := filepath.Join(dir, logFolder)
	options := &logstore.Options{Codec: codec, Existing: true, NoSync: o.noSync, SegmentSize: o.segment, Reserve: o.reserve, Acks: o.acks, Disk: o.disk}
	if !exists(path) {
		err := fmt.Errorf("%s: %w: the folder is missing", path, errDamaged)
		if o.policy != SetDamageAside {
			return nil, logstore.Contents{}, err
		}
		repair.add(err, 0, 0, 0)
		return o.newLog(path, options)
	}
	log, found, err := logstore.Open(path, options)
	var damage *logstore.DamagedError
	if o.policy != SetDamageAside || !errors.As(err, &damage) {
		return log, found, err
	}
	report, failed := logstore.Repair(path, options)
	if errors.Is(failed, logstore.ErrNothing) {
		if failed := o.setAside(path, err, repair); failed != nil {
			return nil, found, errors.Join(err, failed)
		}
		return o.newLog(path, options)
	}
	if failed != nil {
		return nil, found, errors.Join(err, failed)
	}
	repair.add(err, report.Lost, report.First, report.Last)
	repair.Returned = report.Returned
	repair.atMost = report.Returned && !report.NoCheckpoint // records of missing files are not counted then
	for _, name := range report.SetAside {
		repair.Files = append(repair.Files, filepath.Join(path, name))
	}
	return logstore.Open(path, options)
}

// newLog creates a log in the place of one that is lost.
func (o opener) newLog(path string, options *logstore.Options) (*logstore.Store, logstore.Contents, error) {
	if err := errors.Join(os.Mkdir(path, 0o700), o.syncDir(filepath.Dir(path))); err != nil {
		return nil, logstore.Contents{}, err
	}
	options.Existing = false
	return logstore.Open(path, options)
}
