package crash

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/spill"
)

// A Ledger has the known history of all records, over all processes.
type Ledger struct {
	tried, sent, acking, acked map[uint64]bool // by record
	delivered                  map[uint64]int  // times
	order                      map[uint64]uint64
	inThis                     map[uint64]bool // received by this process
	again                      int             // deliveries after the first
	left                       int             // records in the queue at Close
}

// NewLedger returns an empty ledger.
func NewLedger() *Ledger {
	m := func() map[uint64]bool { return map[uint64]bool{} }
	return &Ledger{tried: m(), sent: m(), acking: m(), acked: m(), delivered: map[uint64]int{}}
}

// Restart begins the history of the next process: order is checked within a process.
func (l *Ledger) Restart() { l.order, l.inThis = map[uint64]uint64{}, map[uint64]bool{} }

// Enter adds a line. It returns an error if the line contradicts a guarantee.
func (l *Ledger) Enter(line string) error {
	words := strings.Fields(line)
	if len(words) == 0 || words[0] == "E" {
		return fmt.Errorf("the process failed: %q", line)
	}
	for _, word := range words[1:] {
		id, err := strconv.ParseUint(word, 16, 64)
		if err != nil {
			return fmt.Errorf("line %q: %w", line, err)
		}
		switch words[0] {
		case "T":
			l.tried[id] = true
		case "S":
			l.sent[id] = true
		case "B":
			l.acking[id] = true
		case "A":
			l.acked[id] = true
		case "R":
			if err := l.receive(id); err != nil {
				return err
			}
		}
	}
	return nil
}

func (l *Ledger) receive(id uint64) error {
	sender := id >> 32
	last, any := l.order[sender]
	switch {
	case !l.tried[id]:
		return fmt.Errorf("record %x was received and never sent", id)
	case l.acked[id]:
		return fmt.Errorf("record %x came back after it was acknowledged", id)
	case l.inThis[id]:
		return fmt.Errorf("record %x was received twice by one process", id)
	case any && id <= last:
		return fmt.Errorf("record %x was received after %x", id, last)
	}
	l.order[sender], l.inThis[id] = id, true
	if l.delivered[id]++; l.delivered[id] > 1 {
		l.again++
	}
	return nil
}

// lost returns the number of lost records: sent, without an acknowledgement in progress, and not left in the end.
func (l *Ledger) lost(left map[uint64]bool) (n int) {
	for id := range l.sent {
		if !l.acking[id] && !left[id] {
			n++
		}
	}
	return n
}

// Close receives all records left in the queue in dir, and returns an error if one
// contradicts a guarantee, or if records were lost.
func (l *Ledger) Close(dir string) error {
	c, err := spill.OpenDurable[[]byte](dir, nil)
	if err != nil {
		return err
	}
	l.Restart()
	left := map[uint64]bool{}
	for {
		d, err := c.TryRecv()
		if err == sluice.ErrEmpty {
			break
		}
		if err != nil {
			return errors.Join(err, c.Shutdown())
		}
		id := binary.BigEndian.Uint64(d.Value)
		err = l.receive(id)
		if err == nil && !bytes.Equal(d.Value, Content(id)) {
			err = fmt.Errorf("record %x has changed", id)
		}
		if err != nil {
			return errors.Join(err, c.Shutdown())
		}
		left[id] = true
	}
	if err := c.Shutdown(); err != nil {
		return err
	}
	if lost := l.lost(left); lost > 0 {
		return fmt.Errorf("%d of %d records were lost", lost, len(l.sent))
	}
	l.left = len(left)
	return nil
}

// Idle reports whether no record was sent, or none was acknowledged.
func (l *Ledger) Idle() bool { return len(l.sent) == 0 || len(l.acked) == 0 }

func (l *Ledger) String() string {
	return fmt.Sprintf("%d records sent, %d acknowledged, %d left, 0 lost, %d redeliveries, %d sends interrupted",
		len(l.sent), len(l.acked), l.left, l.again, len(l.tried)-len(l.sent))
}
