package spill

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"time"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/spill/internal/disk"
	"github.com/sluice-go/sluice/spill/internal/logstore"
)

// A DamagePolicy selects what a Durable does about stored bytes that are damaged or
// missing.
type DamagePolicy uint8

const (
	// RefuseDamage makes OpenDurable return an error if a file is damaged, and leave all
	// files as they are. A damaged record that is found later makes each receive return a
	// [RecordError] until its Drop removes it.
	RefuseDamage DamagePolicy = iota

	// SetDamageAside makes OpenDurable repair a damaged queue: it keeps all records that can be
	// read, renames damaged files, and opens the queue. A damaged record that is found later is
	// deleted, and receives continue with the next one. What could be read of it is appended to the file
	// records.damaged first, as a line of JSON, unless the disk is full. If that fails for another
	// reason, the receive returns the error, and the record stays: to open the queue again would not help.
	//
	// If a file cannot be written, synced or read while the queue is open, or was changed or
	// removed, the queue is closed and opened again in the same way, and continues with what is
	// there. Calls wait meanwhile. A Send whose record is not there is written once more. Deliveries
	// in flight are delivered again, and settling them returns [ErrReopened]. If the queue cannot
	// be opened, the channel has failed. A full disk is not such a failure: see [Durable.Send].
	//
	// [Durable.Repaired], Disk.Warning of Stats and the Log of the options report what was lost, and
	// the file damage.json, until it is removed, whatever becomes of the process.
	SetDamageAside
)

// A Repair is what a Durable with the policy SetDamageAside has lost.
type Repair struct {
	// Err is the damage that was found first. It names the file. It is nil if there was none. Of
	// damage that an earlier process found, only the text is left.
	Err error `json:"-"`
	// Lost counts the records that were stored, not acknowledged, and cannot be read. How many
	// there were is not always known: it may be 0 although Err is not nil. If Returned is
	// true, it may include records that were acknowledged.
	Lost int `json:"lost"`
	// First and Last are the sequence numbers of the first and the last lost record, or 0.
	// The records of a queue are numbered from 1 in the order of the sends: see [Delivery.Seq].
	First uint64 `json:"first"`
	Last  uint64 `json:"last"`
	// Files are the damaged files, under the names that they were given. Nothing reads them
	// any more.
	Files []string `json:"files,omitempty"`
	// Returned means that acknowledgements were lost, too: values may be delivered that were
	// acknowledged before.
	Returned bool `json:"returned,omitempty"`
	// Reopened counts how often the queue was opened again because its files had failed.
	Reopened int `json:"reopened,omitempty"`

	atMost bool   // Lost is a limit
	cause  error  // of the last time that the queue was opened again
	last   string // key of the last repair that was added
}

// String describes the repair in one line.
func (r Repair) String() string {
	if r.Err == nil {
		return "no damage"
	}
	s := "no record is known to be lost"
	if r.Lost > 0 {
		what, lost, numbers := "records", "were lost", fmt.Sprintf("the first has number %d, the last %d", r.First, r.Last)
		if r.Lost == 1 {
			what, lost = "record", "was lost"
		}
		if r.First == r.Last {
			numbers = fmt.Sprintf("number %d", r.First)
		}
		if r.Reopened == 0 {
			what = "damaged " + what
		}
		if r.Returned {
			lost += ", or had been acknowledged"
		}
		s = fmt.Sprintf("%d %s %s (%s)", r.Lost, what, lost, numbers)
		if r.atMost {
			s = "up to " + s
		}
	}
	if r.Reopened > 0 {
		times := "once"
		if r.Reopened > 1 {
			times = fmt.Sprintf("%d times", r.Reopened)
		}
		s = fmt.Sprintf("opened again %s, %s", times, s)
	}
	if len(r.Files) > 0 {
		s += fmt.Sprintf(", set aside: %q", r.Files)
	}
	if r.Returned {
		s += ", acknowledged values may come again"
	}
	return s + ": " + strings.ReplaceAll(r.Err.Error(), "\n", "; ")
}

// The file of the report is written before a loss takes effect: a process may die before anybody reads
// the report. It is kept until somebody removes it, and so are the lines of recordsFile, which nothing
// reads.
const (
	reportFile  = "damage.json"
	recordsFile = "records.damaged"
	maxReport   = 1 << 20 // bytes
)

// A storedRepair is the content of reportFile.
type storedRepair struct {
	Error string `json:"error"`
	Repair
	AtMost bool      `json:"at_most,omitempty"`
	Key    string    `json:"key,omitempty"`
	Time   time.Time `json:"time"`
}

// A damagedRecord is a line of recordsFile.
type damagedRecord struct {
	Seq   uint64    `json:"seq"`
	Error string    `json:"error"`
	Bytes []byte    `json:"bytes"` // as far as they could be read
	Time  time.Time `json:"time"`
}

// loadRepair returns what earlier processes have lost. The folder must be locked. A report that is
// damaged does not keep the queue from being opened: it is damage, too.
func loadRepair(d disk.Disk) (r Repair, err error) {
	b, err := logstore.ReadFile(d, reportFile, maxReport)
	if errors.Is(err, fs.ErrNotExist) {
		return r, nil
	}
	if err != nil {
		return r, fmt.Errorf("%s: %w", d.Path(reportFile), err)
	}
	var s storedRepair
	if err = json.Unmarshal(b, &s); err != nil {
		return Repair{Err: fmt.Errorf("%s: %w", d.Path(reportFile), err)}, nil
	}
	r = s.Repair
	r.Err, r.atMost, r.last = errors.New(s.Error), s.AtMost, s.Key
	return r, nil
}

// save writes r to the file of the report.
func (r Repair) save(d disk.Disk) error {
	b, err := json.MarshalIndent(storedRepair{r.Err.Error(), r, r.atMost, r.last, time.Now().UTC()}, "", "  ")
	if err == nil {
		_, err = logstore.Replace(d, reportFile, append(b, '\n'))
	}
	return err
}

// add adds the loss of n records.
func (r *Repair) add(err error, n int, first, last uint64) {
	if r.Err == nil {
		r.Err = err
	}
	if n == 0 {
		return
	}
	if r.Lost == 0 {
		r.First, r.Last = first, last
	}
	r.Lost += n
	r.First, r.Last = min(r.First, first), max(r.Last, last)
}

// join adds a repair of the store. It counts no records if the repair is the last one that was added: a
// process wrote that, and died before it took effect.
func (r *Repair) join(o Repair) {
	if key := o.key(); r.last != key {
		r.last = key
		r.add(o.Err, o.Lost, o.First, o.Last)
	}
	for _, file := range o.Files {
		r.addFile(file)
	}
	r.Returned = r.Returned || o.Returned
	r.atMost = r.atMost || o.atMost
}

// addFile adds a file, once.
func (r *Repair) addFile(path string) {
	if !slices.Contains(r.Files, path) {
		r.Files = append(slices.Clip(r.Files), path)
	}
}

// key identifies a repair that may be begun again. Its files may get other names then.
func (r *Repair) key() string { return fmt.Sprint(r.Err, r.Lost, r.First, r.Last) }

// reopened adds what was done when a queue with the failure cause was opened again. lost is how
// many records it has lost at least, the first and the last of which have these numbers if repair
// does not know better.
func (r *Repair) reopened(cause error, repair Repair, lost int, first, last uint64) {
	r.Reopened++
	r.cause = cause
	if repair.Lost > 0 {
		first, last = repair.First, repair.Last
	}
	repair.Err, repair.Lost, repair.First, repair.Last = cause, max(lost, repair.Lost), first, last
	r.last = "" // a store that was made anew loses records with the same numbers again
	r.join(repair)
}

// logRepair writes a warning about r, after what has happened to the queue.
func (c *Durable[T]) logRepair(what string, r Repair) {
	c.config.log.Warn("spill: "+what, "channel", c.config.name, "lost", r.Lost, "first", r.First, "last", r.Last,
		"files", r.Files, "returned", r.Returned, "error", cmp.Or(r.cause, r.Err))
}

// Repaired returns what was lost to damage since OpenDurable was called, and before, if the file
// damage.json was in the folder then. Remove the file when you have read it: the next OpenDurable begins
// without it. An open queue keeps its report, and a later loss writes the file again, with all of it.
// Without the policy SetDamageAside, nothing is added.
func (c *Durable[T]) Repaired() Repair {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.repair
}

// skip deletes a damaged record that the caller has taken, and keeps what can be read of it. The
// report is written first: if the process dies before the record is deleted, the next one skips it, and
// join does not count it again.
func (c *Durable[T]) skip(t taken) error {
	d := c.delivery(t)
	kept := c.keepRecord(t.record)
	if kept != nil && !logstore.Full(kept) { // consumers must not wait for room
		_ = d.Nack()
		if kept == sluice.ErrClosed {
			return kept
		}
		return fmt.Errorf("spill: a damaged record stays, because its bytes cannot be kept: %w", kept)
	}
	loss := Repair{Err: t.record.Damaged, Lost: 1, First: t.record.Seq, Last: t.record.Seq}
	if c.disk != nil && kept == nil {
		loss.Files = []string{c.disk.Path(recordsFile)}
	}
	c.mu.Lock()
	c.repair.join(loss)
	c.mu.Unlock()
	c.saveRepair()
	if err := c.ackOrReturn(d); err != nil {
		c.mu.Lock()
		c.repair.Lost-- // it is there, or lost in another way
		c.repair.last = ""
		c.mu.Unlock()
		c.saveRepair()
		return err
	}
	c.config.log.Warn("spill: a damaged record was deleted", "channel", c.config.name, "record", t.record.Seq, "error", t.record.Damaged, "kept", kept == nil)
	return nil
}

// keepRecord appends a damaged record to recordsFile.
func (c *Durable[T]) keepRecord(r logstore.Record) error {
	b, err := json.Marshal(damagedRecord{Seq: r.Seq, Error: r.Damaged.Error(), Bytes: r.Payload, Time: time.Now().UTC()})
	if err != nil {
		return err
	}
	return c.aside(func() error { return logstore.Append(c.disk, recordsFile, append(b, '\n')) })
}

// saveRepair writes what was lost to the file of the report. What it cannot write is in the log.
func (c *Durable[T]) saveRepair() {
	c.logUnsaved(c.aside(func() error { return c.Repaired().save(c.disk) }))
}

func (c *Durable[T]) logUnsaved(err error) {
	if err != nil && err != sluice.ErrClosed {
		c.config.log.Warn("spill: the report of the damage could not be written", "channel", c.config.name, "error", err)
	}
}

// aside calls write, which changes the file of the report or of damaged records, if there is a disk.
// It returns ErrClosed after Shutdown: the folder may be another process's.
func (c *Durable[T]) aside(write func() error) error {
	if c.disk == nil {
		return nil
	}
	c.asideMu.Lock()
	defer c.asideMu.Unlock()
	c.mu.Lock()
	stopped := c.stopped
	c.mu.Unlock()
	if stopped {
		return sluice.ErrClosed
	}
	return write()
}
