package spill

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"syscall"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/spill/internal/simdisk"
)

// fullDisk works on a disk without room: sends fail, and values can be received and
// acknowledged. Then there is room again, and sends succeed.
func (r *longRun) fullDisk() error {
	r.seen.full++
	r.did += " full"
	limit := r.disk.Usage().Size + r.random.Int64N(2*segmentSize)
	r.disk.Limit = limit
	for before := r.seen.faults; r.seen.faults == before; {
		if err := r.send(1 + r.random.IntN(4)); err != nil {
			return err
		}
	}
	var err error
	switch r.random.IntN(4) {
	case 0:
		err = r.reopen()
	case 1:
		err = r.crash()
	}
	r.disk.Limit = max(limit, r.disk.Usage().Size) // the disk after a crash had none
	if err == nil {
		err = r.receive(r.some())
	}
	if err == nil {
		err = r.acknowledge(len(r.held))
	}
	if err == nil {
		err = r.work()
	}
	r.disk.Limit = 0
	if err == nil {
		err = r.send(1)
	}
	return err
}

// faultyDisk works on a disk whose writes fail at times.
func (r *longRun) faultyDisk() error {
	errs := []error{syscall.EIO, syscall.ENOSPC, syscall.EDQUOT, syscall.EFBIG}
	r.did += " faults"
	random := r.random.Uint64()
	n := uint64(0)
	r.disk.Fail = func(op, name string) error {
		n++
		if op == "check" || op == "read" || op == "open" || (n*0x9e3779b97f4a7c15^random)%25 > 0 {
			return nil
		}
		return errs[n%uint64(len(errs))]
	}
	err := r.work()
	r.disk.Fail = nil
	switch {
	case err != nil || !r.failed:
		return err
	case r.random.IntN(2) == 0:
		return r.crash()
	}
	return r.reopen()
}

// crashWithin turns the machine off at a random operation.
func (r *longRun) crashWithin() error {
	r.seen.midway++
	r.did += " within"
	r.disk.StopAt(r.disk.Usage().Ops + r.random.IntN(200))
	if err := r.work(); err != nil {
		return err
	}
	return r.crash()
}

// damage changes one file of the closed queue, and opens it. The lost values must be in the
// report, and nothing else.
func (r *longRun) damage() error {
	r.seen.damaged++
	r.did += " damage"
	if err := r.send(1); err != nil { // without any record, the folder would be set aside as a whole
		return err
	}
	if err := r.open.Shutdown(); err != nil {
		return err
	}
	r.disk = r.disk.After(simdisk.Killed, nil)
	files := r.disk.Contents()
	names := slices.DeleteFunc(slices.Sorted(maps.Keys(files)), func(name string) bool { return name == "reserve" })
	name := names[r.random.IntN(len(names))]
	b := files[name]
	what := ""
	switch at := r.random.IntN(len(b)); r.random.IntN(5) {
	case 0:
		b[at] ^= 1 << r.random.IntN(8)
		what = fmt.Sprint("bit at ", at)
	case 1:
		b = b[:at]
		what = fmt.Sprint("cut to ", at)
	case 2:
		clear(b[at:])
		what = fmt.Sprint("zeros from ", at)
	case 3:
		b = append(b, make([]byte, 4096)...)
		what = "zeros behind the end"
	case 4:
		if err := r.disk.Remove(name); err != nil {
			return err
		}
		what = "removed"
	}
	if what != "removed" {
		r.disk.Put(name, b)
	}
	err := r.start()
	if err == nil {
		err = r.inspect()
	}
	if err != nil {
		return fmt.Errorf("%s, %s: %w", name, what, err)
	}
	return nil
}

// inspect receives everything from a queue that was damaged, compares it with the report, and
// takes it for the account.
func (r *longRun) inspect() error {
	found, last := map[uint64]uint64{}, uint64(0)
	var ds []*Delivery[[]byte]
	for {
		d, err := r.open.TryRecv()
		if err == sluice.ErrEmpty {
			break
		}
		if err != nil {
			return err
		}
		id, err := identify(d.Value)
		if err != nil {
			return err
		}
		if d.Seq() <= last {
			return fmt.Errorf("record %d comes after %d", d.Seq(), last)
		}
		last, found[d.Seq()] = d.Seq(), id
		ds = append(ds, d)
	}
	report := r.open.Repaired()
	lost := 0
	for seq, id := range r.live {
		if found[seq] == 0 {
			lost++
		} else if found[seq] != id {
			return fmt.Errorf("value %x in the place of %x", found[seq], id)
		}
	}
	back := len(found) + lost - len(r.live)
	switch {
	case lost > 0 && report.Err == nil:
		return fmt.Errorf("%d values are lost, and no report", lost)
	case lost != report.Lost && !report.Returned:
		return fmt.Errorf("%d values are lost, and the report is: %v", lost, report)
	case back > 0 && !report.Returned:
		return fmt.Errorf("%d values are back, and the report is: %v", back, report)
	}
	r.seen.lost += lost
	r.seen.back += back
	for _, d := range ds {
		if err := d.Nack(); err != nil {
			return err
		}
	}
	for name := range r.disk.Contents() {
		if strings.HasSuffix(name, ".damaged") || name == "damage.json" { // it was read
			if err := r.disk.Remove(name); err != nil {
				return err
			}
		}
	}
	if err := r.disk.Sync(); err != nil { // or else a crash brings the report back
		return err
	}
	r.live, r.tail = found, max(r.tail, last+1)
	r.forget()
	return r.reopen()
}
