package spill

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/sluice-go/sluice"
)

// A ledger has the known history of all records, over all processes.
type ledger struct {
	tried, sent, acking, acked map[uint64]bool // by record
	dropped                    map[uint64]bool
	dropping                   map[uint64]bool      // of this process: a send that may drop others began
	delivered                  map[uint64]int       // times
	order                      map[uint64]reception // by sender
	fresh                      bool                 // older records of a sender may come after newer ones
	inThis                     map[uint64]bool      // received by this process
	again                      int                  // deliveries after the first
	left                       int                  // records in the queue at close
	unnoted                    int                  // dropped, and the process died before it wrote so
	head                       []uint64             // the first record in the queue that no process has noted as received
}

// A reception has the last records that a process has received from a sender: the newest one, and the
// last of those that are older.
type reception struct{ newest, older uint64 }

// newLedger returns an empty ledger.
func newLedger() *ledger {
	m := func() map[uint64]bool { return map[uint64]bool{} }
	return &ledger{tried: m(), sent: m(), acking: m(), acked: m(), dropped: m(), dropping: m(), delivered: map[uint64]int{}}
}

// restart begins the history of the next process: order is checked within a process.
func (l *ledger) restart() {
	l.order, l.inThis, l.dropping, l.fresh = map[uint64]reception{}, map[uint64]bool{}, map[uint64]bool{}, false
}

// enter adds a line. It returns an error if the line contradicts a guarantee.
func (l *ledger) enter(line string) error {
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

func (l *ledger) receive(id uint64) error {
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
func (l *ledger) lost(left map[uint64]bool) (ids []uint64) {
	for id := range l.sent {
		if !l.acking[id] && !l.dropped[id] && !left[id] {
			ids = append(ids, id)
		}
	}
	return ids
}

// close receives all records left in the queue in dir, and returns an error if one
// contradicts a guarantee, or if records were lost.
func (l *ledger) close(dir string) error {
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

// audit accounts for the records that a process has dropped which was killed: it receives those that
// are left in the queue in dir, which stay there. A send drops one record at most for each of its own,
// and returns after this was noted: so at most as many records may be missing as the sends in
// progress had. A record that they have dropped is older than all of its sender that are left, but
// for those that were received, the last of which may not be noted.
func (l *ledger) audit(dir string) error {
	most := len(l.dropping)
	left, err := l.receiveAll(dir)
	if err != nil {
		return err
	}
	return l.allow(l.lost(left), left, most)
}

// allow returns an error unless the lost records were dropped by sends in progress, which had most
// records.
func (l *ledger) allow(lost []uint64, left map[uint64]bool, most int) error {
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
func (l *ledger) receiveAll(dir string) (map[uint64]bool, error) {
	c, err := OpenDurable[[]byte](dir, nil)
	if err != nil {
		return nil, err
	}
	l.restart()
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
		if err == nil && !bytes.Equal(d.Value, content(id)) {
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

// drops returns how many records were dropped.
func (l *ledger) drops() int { return len(l.dropped) }

// idle reports whether no record was sent, or none was acknowledged.
func (l *ledger) idle() bool { return len(l.sent) == 0 || len(l.acked) == 0 }

func (l *ledger) String() string {
	s := fmt.Sprintf("%d records sent, %d acknowledged, %d left, 0 lost, %d redeliveries, %d sends interrupted",
		len(l.sent), len(l.acked), l.left, l.again, len(l.tried)-len(l.sent))
	if len(l.dropped) > 0 {
		s += fmt.Sprintf(", %d dropped, %d of them when the process died", len(l.dropped), l.unnoted)
	}
	return s
}

// TestLedgerSees: the ledger detects each violation of a guarantee.
func TestLedgerSees(t *testing.T) {
	for says, lines := range map[string]string{
		"never sent":           "R 1",
		"came back":            "T 1;S 1;R 1;B 1;A 1;restart;R 1",
		"twice by one process": "T 1;R 1;R 1",
		"after":                "T 1 2;R 2;R 1",
		"not fresh either":     "F;T 1 2 3;R 3;R 2;R 1",
		"after 2":              "F;T 1 2;restart;R 2;R 1",
		"process failed":       "E full",
		"after it was dropped": "T 1;S 1;D 1;R 1",
		"dropped twice":        "T 1;D 1;D 1",
		"dropped and received": "T 1;R 1;D 1",
	} {
		l := newLedger()
		l.restart()
		var err error
		for _, line := range strings.Split(lines, ";") {
			if line == "restart" {
				l.restart()
			} else if err == nil {
				err = l.enter(line)
			}
		}
		if err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: %v, want %q", lines, err, says)
		}
	}
	l := newLedger()
	l.restart()
	for _, line := range strings.Split("F;T 1 2 3 4 5;R 4;R 1;R 5;R 2;R 3", ";") { // the backlog beside what is fresh
		if err := l.enter(line); err != nil {
			t.Fatal(err)
		}
	}
	l = newLedger()
	l.restart()
	for _, line := range strings.Split("T 1 2 3 4;S 1 2 3;R 1;B 1", ";") {
		if err := l.enter(line); err != nil {
			t.Fatal(err)
		}
	}
	lost := l.lost(map[uint64]bool{2: true})
	if len(lost) != 1 || lost[0] != 3 {
		t.Errorf("records %v are reported as lost, want 3", lost)
	}
	left := map[uint64]bool{2: true}
	for says, err := range map[string]error{
		"1 records are missing": l.allow(lost, left, 0),
		"2 is left":             l.allow(lost, left, 1),
	} {
		if err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%v, want %q", err, says)
		}
	}
	l.head = []uint64{2} // it may have been received
	if err := l.allow(lost, map[uint64]bool{2: true, 4: true}, 1); err != nil || l.drops() != 1 || len(l.lost(left)) != 0 {
		t.Errorf("a record that a send in progress has dropped: %v", err)
	}
}
