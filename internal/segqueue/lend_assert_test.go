//go:build race || sluicecheck

package segqueue

import (
	"strings"
	"testing"

	"github.com/sluice-go/sluice/internal/engine"
)

// TestLendAsserts: the use of a slice that was given away or returned is found when the next
// sender gets it.
func TestLendAsserts(t *testing.T) {
	run := func(misuse func(given []int)) (message any) {
		e := lending(engine.Config[int]{Limit: 4 * lendSize}, 0)
		defer func() {
			message = recover()
			if (e.send.word.Load()|e.recv.word.Load())&locked != 0 {
				t.Error("the panic has left a lock taken: a deferred Close would hang")
			}
		}()
		s := lendingSender{e: e}
		loan := engine.Loan[int]{}
		var given [][]int
		for i := range 12 {
			if i == 6 {
				misuse(given[4]) // its receiver has given it back with the next call
			}
			if s.vs == nil {
				s.vs = make([]int, 0, lendSize)
			}
			given = append(given, s.vs[:cap(s.vs)])
			if _, lent, _ := s.send(engine.NoWait{}, lendSize); !lent {
				t.Error("not lent")
			}
			if _, err := e.RecvLent(engine.NoWait{}, make([]int, lendSize), &loan); err != nil {
				t.Error(err)
			}
			loan.Return()
		}
		return nil
	}
	if message := run(func([]int) {}); message != nil {
		t.Errorf("a panic: %v", message)
	}
	message, _ := run(func(given []int) { given[3] = 1 }).(string)
	if !strings.Contains(message, "changed after it was given away") {
		t.Errorf("a given slice was changed: %q", message)
	}
	twice := func() (message any) {
		defer func() { message = recover() }()
		e := lending(engine.Config[int]{Limit: 4 * lendSize}, 0)
		vs := make([]int, lendSize)
		e.TryLend(vs)
		if n, err := e.RecvBatch(engine.NoWait{}, make([]int, lendSize)); n != lendSize || err != nil {
			t.Error(n, err)
		}
		e.TryLend(vs)
		return nil
	}()
	if twice != "segqueue: a spare slice was given away" {
		t.Errorf("given twice: %v", twice)
	}
}
