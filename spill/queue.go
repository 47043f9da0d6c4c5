package spill

import (
	"errors"
	"fmt"

	"github.com/sluice-go/sluice/spill/internal/disk"
	"github.com/sluice-go/sluice/spill/internal/logstore"
)

// A store keeps the records of a Durable, ordered by sequence number; 0 is not one. A
// logstore.Store implements it, and tests have others.
//
// Write and Close are called by one goroutine at a time; Read, Size and Warning may be
// called concurrently with them.
type store interface {
	// Write adds payloads with consecutive sequence numbers, beginning at first,
	// deletes the records with the numbers in deletes, and returns when the change is
	// durable. If it fails, no part of the change was made or will be made, unless the
	// error is errUnknown. If at is not 0, it is stored with the new records.
	Write(first uint64, payloads [][]byte, deletes []uint64, at int64) error
	// Read returns records with sequence numbers in [from, to), in order: about most
	// bytes of them, and at least one if there is any. The caller owns the payloads. A
	// damaged record is returned alone.
	Read(from, to uint64, most int64) ([]logstore.Record, error)
	// Size returns the size of the records' files in bytes.
	Size() int64
	// Warning returns a line about what the store cannot do now, or "".
	Warning() string
	// Close is called once more after it has returned.
	Close() error
}

// diskCost returns what DiskLimit counts for a record.
func diskCost(r logstore.Record) int64 {
	if r.Time != 0 {
		return int64(len(r.Payload)) + recordCost + timeCost
	}
	return int64(len(r.Payload)) + recordCost
}

// errUnknown is part of the error of a write that may or may not have been stored.
var errUnknown = logstore.ErrUnknown

// IsDiskFull reports whether err, of a channel of this package, means that there was no room for
// a record: on the disk, in a quota, or below a limit of file sizes. The same call can be tried
// again, and succeeds when there is room. It is false for Capacity and DiskLimit of the options: there
// a send waits, or fails with [sluice.ErrFull].
func IsDiskFull(err error) bool { return logstore.Full(err) }

// openStore opens the log on d, or creates one, and repairs it if the policy is to. Before a repair
// takes effect, it is added to earlier ones, and the report is written.
func openStore(d disk.Disk, policy DamagePolicy, o logstore.Options, earlier func() (Repair, error)) (store, logstore.Contents, Repair, error) {
	var repair Repair
	log, found, err := logstore.Open(d, o)
	var damage *logstore.DamagedError
	switch {
	case err == nil:
		return log, found, repair, nil
	case !errors.As(err, &damage):
		return nil, found, repair, err
	case policy != SetDamageAside:
		return nil, found, repair, fmt.Errorf("%w; to open the queue with all records that can be read, set DurableOptions.OnDamage to SetDamageAside", err)
	}
	_, failed := logstore.Repair(d, o, func(report logstore.Report) error {
		repair = repairOf(d, err, report)
		merged, failed := earlier()
		if failed != nil {
			return failed
		}
		merged.join(repair)
		if failed = merged.save(d); logstore.Full(failed) {
			failed = nil // the queue must open on a full disk; the report is in memory, and in the log
		}
		return failed
	})
	if failed != nil {
		return nil, found, Repair{}, errors.Join(err, failed)
	}
	if log, found, err = logstore.Open(d, o); err != nil {
		return nil, found, repair, err
	}
	return log, found, repair, nil
}

// repairOf returns the report of a repair for which damage was the reason.
func repairOf(d disk.Disk, damage error, report logstore.Report) Repair {
	repair := Repair{Returned: report.Returned}
	repair.add(damage, report.Lost, report.First, report.Last)
	repair.atMost = report.Returned && !report.NoCheckpoint // records of missing files are not counted then
	for _, name := range report.SetAside {
		repair.Files = append(repair.Files, d.Path(name))
	}
	return repair
}
