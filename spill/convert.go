package spill

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/sluice-go/sluice/spill/internal/logstore"
)

// upgrade brings a locked queue into the state in which the records are in queue.log. Each
// step leaves a folder from which the next attempt continues, or begins again:
//
//	1  version 1: the records are copied to queue.log.new, which is synced
//	2  a transaction of bbolt changes the version to 2
//	3  version 2: queue.log.new is renamed to queue.log
func (o opener) upgrade(file *boltFile, dir, codec string, repair *Repair) error {
	path, unfinished := filepath.Join(dir, logFolder), filepath.Join(dir, newLogFolder)
	if file.version == versionRecords {
		if file.codec != codec {
			return fmt.Errorf("%s: the records were written with codec %q, not %q", file.path, file.codec, codec)
		}
		n, err := file.count()
		if err != nil {
			return err
		}
		switch there := exists(path); {
		case there && n > 0:
			return fmt.Errorf("%s: there are records in this file, and in %s: remove one of them", file.path, path)
		case !there:
			if err := o.convert(file, unfinished, repair); err != nil {
				return err
			}
		}
		if err := file.setVersion(versionLog); err != nil {
			return err
		}
		if err := o.after("version"); err != nil {
			return err
		}
	}
	if exists(path) || !exists(unfinished) {
		return nil
	}
	if err := os.Rename(unfinished, path); err != nil {
		return err
	}
	return errors.Join(o.syncDir(dir), o.after("rename"))
}

// after is called after a step.
func (o opener) after(step string) error {
	if o.step == nil {
		return nil
	}
	return o.step(step)
}

// convertStep is how many bytes are copied in one write.
const convertStep = 4 << 20

// convert copies the records of a file of version 1 to a new log in the folder to.
func (o opener) convert(file *boltFile, to string, repair *Repair) error {
	if err := errors.Join(os.RemoveAll(to), os.Mkdir(to, 0o700)); err != nil {
		return err
	}
	log, _, err := logstore.Open(to, &logstore.Options{Codec: file.codec, NoSync: o.noSync})
	if err != nil {
		return err
	}
	err = o.copyRecords(file, log, repair)
	if err = errors.Join(err, log.Close()); err == nil {
		err = o.syncDir(filepath.Dir(to))
	}
	if err != nil {
		_ = os.RemoveAll(to)
		return fmt.Errorf("convert %s: %w", file.path, err)
	}
	return o.after("log")
}

func (o opener) copyRecords(file *boltFile, log *logstore.Store, repair *Repair) error {
	first := uint64(1)
	for next := uint64(0); ; {
		records, err := file.read(next, convertStep)
		if err != nil || len(records) == 0 {
			return err
		}
		payloads := make([][]byte, 0, len(records))
		for _, r := range records {
			if r.damaged != nil {
				if err := o.skipOld(file, r, repair); err != nil {
					return err
				}
				continue
			}
			payloads = append(payloads, r.payload)
		}
		if err := log.Write(first, payloads, nil); err != nil {
			return err
		}
		first += uint64(len(payloads))
		next = records[len(records)-1].seq + 1
		if err := o.after("records"); err != nil {
			return err
		}
	}
}

// skipOld leaves out a damaged record, and keeps the file under another name.
func (o opener) skipOld(file *boltFile, r storedRecord, repair *Repair) error {
	if o.policy != SetDamageAside {
		return r.damaged
	}
	kept := file.path + damagedSuffix
	if repair.Lost == 0 {
		if err := os.Link(file.path, kept); err != nil && !errors.Is(err, os.ErrExist) {
			return err
		}
		repair.Files = append(repair.Files, kept)
	}
	repair.add(r.damaged, 1, r.seq, r.seq)
	return nil
}
