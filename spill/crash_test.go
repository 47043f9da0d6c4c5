package spill

import (
	"bufio"
	"bytes"
	"context"
	"encoding/binary"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/sluice-go/sluice"
)

var kills = flag.Int("spill.kills", 20, "how often TestCrash kills a process under load")

// childFolder is the variable that makes the test binary the process to be killed.
const childFolder = "SPILL_CRASH_FOLDER"

func TestMain(m *testing.M) {
	if dir := os.Getenv(childFolder); dir != "" {
		generation, err := strconv.ParseUint(os.Getenv("SPILL_CRASH_GENERATION"), 10, 16)
		if err == nil {
			err = load(dir, generation)
		}
		fmt.Println("E", err)
		os.Exit(1)
	}
	os.Exit(m.Run())
}

// The child keeps a ledger on its standard output, a line for each fact, written at
// once, as its letter and the numbers of records:
//
//	O  the queue is about to be opened; P it is open
//	T  a send begins; S it returned nil
//	R  a record was received; B its acknowledgement begins; A it returned nil
//	E  something failed
//
// So what is not in the ledger had not happened when the process was killed, or had
// and was not yet noted: between T and S, and between B and A, both may be.
func note(letter string, ids ...uint64) {
	line := []byte(letter)
	for _, id := range ids {
		line = strconv.AppendUint(append(line, ' '), id, 16)
	}
	_, _ = os.Stdout.Write(append(line, '\n'))
}

// A record's number has the generation of the process, its sender, and a count.
func recordID(generation, sender, n uint64) uint64 { return generation<<40 | sender<<32 | n }

// content is the record of a number: it is known by it, whatever its length.
func content(id uint64) []byte {
	rng := rand.New(rand.NewPCG(id, 9))
	v := binary.BigEndian.AppendUint64(nil, id)
	for range rng.IntN(1400) {
		v = append(v, byte(rng.Uint32()))
	}
	return v
}

// load is what the child does until it is killed: eight goroutines send, one by one
// and in batches, one receives, four acknowledge nine of ten records.
func load(dir string, generation uint64) error {
	note("O")
	c, err := OpenDurable(dir, &Options[[]byte]{Limit: 64 << 10, DiskLimit: 4 << 20})
	if err != nil {
		return err
	}
	note("P")
	ctx, cancel := context.WithCancelCause(context.Background())
	defer cancel(nil)
	for s := range uint64(8) {
		go func() { cancel(sendLoad(ctx, c, generation, s)) }()
	}
	acks := make(chan *Delivery[[]byte], 16)
	for range 4 {
		go func() {
			for d := range acks {
				id := binary.BigEndian.Uint64(d.Value)
				note("B", id)
				if err := d.Ack(); err != nil {
					cancel(err)
					return
				}
				note("A", id)
			}
		}()
	}
	for n := 0; ; n++ {
		d, err := c.Recv(ctx)
		if err != nil {
			return context.Cause(ctx)
		}
		id := binary.BigEndian.Uint64(d.Value)
		if !bytes.Equal(d.Value, content(id)) {
			return fmt.Errorf("record %x is not what was sent", id)
		}
		note("R", id)
		if n%10 != 3 {
			acks <- d
		}
	}
}

func sendLoad(ctx context.Context, c *Durable[[]byte], generation, sender uint64) error {
	for n := uint64(0); ; {
		var ids []uint64
		var values [][]byte
		for range 1 + sender%3*7 {
			id := recordID(generation, sender, n)
			n++
			ids, values = append(ids, id), append(values, content(id))
		}
		note("T", ids...)
		if len(ids) == 1 {
			if err := c.Send(ctx, values[0]); err != nil {
				return err
			}
		} else if _, err := c.SendBatch(ctx, values); err != nil {
			return err
		}
		note("S", ids...)
	}
}

// A ledger is what is known of all records over all processes.
type ledger struct {
	tried, sent, acking, acked map[uint64]bool
	delivered                  map[uint64]int // times
	order                      map[uint64]uint64
	inThis                     map[uint64]bool // received by this process
	again                      int             // deliveries that were not the first
}

func newLedger() *ledger {
	m := func() map[uint64]bool { return map[uint64]bool{} }
	return &ledger{tried: m(), sent: m(), acking: m(), acked: m(), delivered: map[uint64]int{}}
}

// restart is called before each process: order is checked within it.
func (l *ledger) restart() { l.order, l.inThis = map[uint64]uint64{}, map[uint64]bool{} }

// enter takes a line, and complains of what must not be.
func (l *ledger) enter(line string) error {
	words := strings.Fields(line)
	if len(words) == 0 || words[0] == "E" {
		return fmt.Errorf("the process says %q", line)
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

func (l *ledger) receive(id uint64) error {
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

// lost returns the records that must be somewhere and are not: sent, never about to
// be acknowledged, and not among what is left in the end.
func (l *ledger) lost(left map[uint64]bool) (n int) {
	for id := range l.sent {
		if !l.acking[id] && !left[id] {
			n++
		}
	}
	return n
}

// TestCrash kills processes under load, each at a random line of its ledger, the
// first ones before they have made the queue, and accounts for every record.
func TestCrash(t *testing.T) {
	dir := t.TempDir() + "/queue"
	l := newLedger()
	rng := rand.New(rand.NewPCG(uint64(*kills), 5))
	for generation := range *kills {
		lines := rng.IntN(1500)
		if generation%5 == 0 {
			lines = generation / 5 % 3 // about to open, or just open
		}
		if err := crash(dir, l, uint64(generation), lines); err != nil {
			t.Fatalf("process %d: %v", generation, err)
		}
	}
	c, err := OpenDurable[[]byte](dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	l.restart()
	left := map[uint64]bool{}
	for {
		d, err := c.TryRecv()
		if err == sluice.ErrEmpty {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		id := binary.BigEndian.Uint64(d.Value)
		if !bytes.Equal(d.Value, content(id)) {
			t.Fatalf("record %x is not what was sent", id)
		}
		if err := l.receive(id); err != nil {
			t.Fatal(err)
		}
		left[id] = true
	}
	if err := c.Shutdown(); err != nil {
		t.Fatal(err)
	}
	if lost := l.lost(left); lost > 0 {
		t.Errorf("%d of %d records were lost", lost, len(l.sent))
	}
	if len(l.sent) == 0 || len(l.acked) == 0 {
		t.Errorf("sent %d, acknowledged %d: nothing was tried", len(l.sent), len(l.acked))
	}
	t.Logf("%d kills: %d records sent, %d acknowledged, %d left, 0 lost, %d deliveries of what was not acknowledged, %d sends cut short",
		*kills, len(l.sent), len(l.acked), len(left), l.again, len(l.tried)-len(l.sent))
}

// crash runs a process until its ledger has so many lines, kills it, and reads the
// rest.
func crash(dir string, l *ledger, generation uint64, lines int) error {
	l.restart()
	child := exec.Command(os.Args[0])
	child.Env = append(os.Environ(), childFolder+"="+dir, fmt.Sprint("SPILL_CRASH_GENERATION=", generation))
	child.Stderr = os.Stderr
	out, err := child.StdoutPipe()
	if err != nil {
		return err
	}
	if err := child.Start(); err != nil {
		return err
	}
	var once sync.Once
	kill := func() { once.Do(func() { _ = child.Process.Kill() }) }
	defer func() {
		kill()
		_, _ = io.Copy(io.Discard, out)
		_ = child.Wait()
	}()
	read := bufio.NewScanner(out)
	for n := 0; read.Scan(); n++ {
		if err := l.enter(read.Text()); err != nil {
			return err
		}
		if read.Text() == "P" && generation%7 == 0 {
			if _, err := OpenDurable[[]byte](dir, nil); err == nil || !strings.Contains(err.Error(), "in use") {
				return fmt.Errorf("a second process could open the queue: %v", err)
			}
		}
		if n >= lines {
			kill()
		}
	}
	return read.Err()
}

// TestLedgerSees: the account finds each thing that must not be.
func TestLedgerSees(t *testing.T) {
	for says, lines := range map[string]string{
		"never sent":           "R 1",
		"came back":            "T 1;S 1;R 1;B 1;A 1;restart;R 1",
		"twice by one process": "T 1;R 1;R 1",
		"after":                "T 1 2;R 2;R 1",
		"process says":         "E full",
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
	for _, line := range strings.Split("T 1 2 3 4;S 1 2 3;R 1;B 1", ";") {
		if err := l.enter(line); err != nil {
			t.Fatal(err)
		}
	}
	if lost := l.lost(map[uint64]bool{2: true}); lost != 1 {
		t.Errorf("record 3 is lost, and %d are said to be", lost)
	}
}
