package sim

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sluice-go/sluice"
)

// warm is how many values are handed off before the one whose lines are compared.
const warm = 100

// TestHandOffLines: a value that is handed to the only receiver that waits, until that
// waits again, changes as many lines in the model as in the real channel, and neither of
// the two words.
func TestHandOffLines(t *testing.T) {
	real := handedOff(t)
	q := newSegqueue(1<<20, 1)
	lines := []*Line{&q.send.word, &q.recv.word, &q.senders.line, &q.receivers.line, &q.receivers.seat, &q.hand.Line}
	var model map[uintptr]bool
	send := func(c *Core) {
		q.Send(c)
		c.Spin(1e5) // until the receiver waits again
		c.turn()
	}
	sender := func(c *Core) {
		for range warm {
			send(c)
		}
		tail, head := q.send.word.word, q.recv.word.word
		before := contentsOf(lines)
		send(c)
		model = before.changed()
		if q.send.word.word != tail || q.recv.word.word != head || head&sideQuiet == 0 {
			t.Errorf("the words were %d and %d, and are %d and %d", tail, head, q.send.word.word, q.recv.word.word)
		}
		for {
			c.Spin(1)
			c.turn()
		}
	}
	if _, err := Run(Machine{Near: 40}, []Program{sender, loop(q.Recv)}, 2*warm*1e5); err != nil {
		t.Fatal(err)
	}
	if len(real) == 0 || len(real) != len(model) {
		t.Errorf("a hand-off changes %d lines, in the model %d: write them in the model's program", len(real), len(model))
	}
}

// handedOff returns the lines that a hand-off changes in a real channel.
func handedOff(t *testing.T) (lines map[uintptr]bool) {
	synctest.Test(t, func(t *testing.T) {
		ch := sluice.NewElastic[uint64](sluice.Unlimited, nil)
		go func() {
			for {
				if _, err := ch.Recv(context.Background()); err != nil {
					return
				}
			}
		}()
		value := uint64(0)
		send := func() {
			synctest.Wait()
			time.Sleep(time.Millisecond) // another moment at which the next wait begins
			value++
			if err := ch.Send(context.Background(), value); err != nil {
				t.Error(err)
			}
			synctest.Wait()
		}
		for range warm {
			send()
		}
		lines = changed(ch, send)
		ch.Close()
	})
	return lines
}
