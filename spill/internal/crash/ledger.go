package crash

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/spill"
)

// A Ledger has the known history of all records, over all processes.
type Ledger struct {
	tried, sent, acking, acked map[uint64]bool // by record
	dropped                    map[uint64]bool
	dropping                   map[uint64]bool      // of this process: a send that may drop others began
	delivered                  map[uint64]int       // times
	order                      map[uint64]reception // by sender
	fresh                      bool                 // older records of a sender may come after newer ones
	inThis                     map[uint64]bool      // received by this process
	again                      int                  // deliveries after the first
	left                       int                  // records in the queue at Close
	unnoted                    int                  // dropped, and the process died before it wrote so
	head                       []uint64             // the first record in the queue that no process has noted as received
}

// A reception has the last records that a process has received from a sender: the newest one, and the
// last of those that are older.
type reception struct{ newest, older uint64 }

// NewLedger returns an empty ledger.
func NewLedger() *Ledger {
	m := func() map[uint64]bool { return map[uint64]bool{} }
	return &Ledger{tried: m(), sent: m(), acking: m(), acked: m(), dropped: m(), dropping: m(), delivered: map[uint64]int{}}
}

// Restart begins the history of the next process: order is checked within a process.
func (l *Ledger) Restart() {
	l.order, l.inThis, l.dropping, l.fresh = map[uint64]reception{}, map[uint64]bool{}, map[uint64]bool{}, false
}

// Enter adds a line. It returns an error if the line contradicts a guarantee.
func (l *Ledger) Enter(line string) error {
	words := strings.Fields(line)
	if len(words) == 0 || words[0] == "E" {
		return fmt.Errorf("the process failed: %q", line)
	}
	l.fresh = l.fresh || words[0] == "F"
	for _, word := range words[1:] {
		id, err := strconv.ParseUint(word, 16, 64)
		if err != nil {
			return fmt.Errorf("line %q: %w", line, err)
		}
		switch words[0] {
		case "T":
			l.tried[id], l.dropping[id] = true, true
		case "S":
			l.sent[id] = true
			delete(l.dropping, id)
		case "B":
			l.acking[id] = true
		case "A":
			l.acked[id] = true
		case "D":
			switch {
			case !l.tried[id] || l.dropped[id]:
				return fmt.Errorf("record %x was dropped twice, or never sent", id)
			case l.inThis[id] || l.acked[id]:
				return fmt.Errorf("record %x was dropped and received by one process", id)
			}
			l.dropped[id] = true
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
	late := any && id < last.newest
	switch {
	case !l.tried[id]:
		return fmt.Errorf("record %x was received and never sent", id)
	case l.acked[id]:
		return fmt.Errorf("record %x came back after it was acknowledged", id)
	case l.dropped[id]:
		return fmt.Errorf("record %x was received after it was dropped", id)
	case l.inThis[id]:
		return fmt.Errorf("record %x was received twice by one process", id)
	case late && !l.fresh:
		return fmt.Errorf("record %x was received after %x", id, last.newest)
	case late && id < last.older:
		return fmt.Errorf("record %x was received after %x, which is not fresh either", id, last.older)
	case late:
		last.older = id
	default:
		last.newest = id
	}
	l.order[sender], l.inThis[id] = last, true
	if l.delivered[id]++; l.delivered[id] > 1 {
		l.again++
	}
	return nil
}

// lost returns the lost records: sent, without an acknowledgement in progress, not dropped and not left in the end.
func (l *Ledger) lost(left map[uint64]bool) (ids []uint64) {
	for id := range l.sent {
		if !l.acking[id] && !l.dropped[id] && !left[id] {
			ids = append(ids, id)
		}
	}
	return ids
}

// Close receives all records left in the queue in dir, and returns an error if one
// contradicts a guarantee, or if records were lost.
func (l *Ledger) Close(dir string) error {
	left, err := l.receiveAll(dir)
	if err != nil {
		return err
	}
	if lost := len(l.lost(left)); lost > 0 {
		return fmt.Errorf("%d of %d records were lost", lost, len(l.sent))
	}
	l.left = len(left)
	return nil
}

// Audit accounts for the records that a process has dropped which was killed: it receives those that
// are left in the queue in dir, which stay there. A send drops one record at most for each of its own,
// and returns after this was noted: so at most as many records may be missing as the sends in
// progress had. A record that they have dropped is older than all of its sender that are left, but
// for those that were received, the last of which may not be noted.
func (l *Ledger) Audit(dir string) error {
	most := len(l.dropping)
	left, err := l.receiveAll(dir)
	if err != nil {
		return err
	}
	return l.allow(l.lost(left), left, most)
}

// allow returns an error unless the lost records were dropped by sends in progress, which had most
// records.
func (l *Ledger) allow(lost []uint64, left map[uint64]bool, most int) error {
	if len(lost) > most {
		return fmt.Errorf("%d records are missing, and sends of %d were in progress", len(lost), most)
	}
	oldest := map[uint64]uint64{} // by sender
	for id := range left {
		if first, ok := oldest[id>>32]; l.delivered[id] < 2 && !slices.Contains(l.head, id) && (!ok || id < first) {
			oldest[id>>32] = id
		}
	}
	for _, id := range lost {
		if first, ok := oldest[id>>32]; ok && id > first {
			return fmt.Errorf("record %x is missing, and %x is left, which is older", id, first)
		}
		l.dropped[id] = true
	}
	l.unnoted += len(lost)
	return nil
}

// receiveAll returns the records in the queue in dir, without removing them.
func (l *Ledger) receiveAll(dir string) (map[uint64]bool, error) {
	c, err := spill.OpenDurable[[]byte](dir, nil)
	if err != nil {
		return nil, err
	}
	l.Restart()
	l.head = nil
	left := map[uint64]bool{}
	for {
		d, err := c.TryRecv()
		if err == sluice.ErrEmpty {
			break
		}
		if err != nil {
			return nil, errors.Join(err, c.Shutdown())
		}
		id := binary.BigEndian.Uint64(d.Value)
		err = l.receive(id)
		if err == nil && !bytes.Equal(d.Value, Content(id)) {
			err = fmt.Errorf("record %x has changed", id)
		}
		if err != nil {
			return nil, errors.Join(err, c.Shutdown())
		}
		if left[id] = true; l.delivered[id] == 1 && l.head == nil {
			l.head = []uint64{id}
		}
	}
	return left, c.Shutdown()
}

// Dropped returns how many records were dropped.
func (l *Ledger) Dropped() int { return len(l.dropped) }

// Idle reports whether no record was sent, or none was acknowledged.
func (l *Ledger) Idle() bool { return len(l.sent) == 0 || len(l.acked) == 0 }

func (l *Ledger) String() string {
	s := fmt.Sprintf("%d records sent, %d acknowledged, %d left, 0 lost, %d redeliveries, %d sends interrupted",
		len(l.sent), len(l.acked), l.left, l.again, len(l.tried)-len(l.sent))
	if len(l.dropped) > 0 {
		s += fmt.Sprintf(", %d dropped, %d of them when the process died", len(l.dropped), l.unnoted)
	}
	return s
}
