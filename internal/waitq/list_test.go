package waitq

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/sluice-go/sluice/internal/park"
	"github.com/sluice-go/sluice/internal/selection"
)

// check asserts that l holds the given nodes, in both directions.
func check(t *testing.T, l *List[int], want []*Node[int], when string) {
	t.Helper()
	var got, back []*Node[int]
	for n := l.First(); n != nil; n = n.Next() {
		got = append(got, n)
	}
	for n := l.last; n != nil; n = n.prev {
		back = append(back, n)
	}
	slices.Reverse(back)
	if !slices.Equal(got, want) || !slices.Equal(back, want) || l.Len() != len(want) {
		t.Fatalf("%s: %d forward, %d backward, Len %d, want %d in order", when, len(got), len(back), l.Len(), len(want))
	}
}

// TestListAgainstSlice walks at random, and compares each state with a slice.
func TestListAgainstSlice(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 2))
	var l List[int]
	var want []*Node[int]
	for range 5000 {
		op := "Push"
		switch k := rnd.IntN(6); {
		case k < 2:
			n := l.Get()
			l.Push(n)
			want = append(want, n)
		case k == 2:
			op = "PushFront"
			n := l.Get()
			l.PushFront(n)
			want = slices.Insert(want, 0, n)
		case len(want) == 0:
			continue
		case k == 3:
			op = "Pop"
			n := l.Pop()
			if n != want[0] || n.Queued() || n.next != nil || n.prev != nil {
				t.Fatal("Pop did not remove the first node")
			}
			want = want[1:]
			l.Put(n)
		default:
			op = "Remove"
			i := rnd.IntN(len(want))
			n := want[i]
			if !n.Queued() {
				t.Fatal("a node in the list is not queued")
			}
			l.Remove(n)
			if n.Queued() || n.next != nil || n.prev != nil {
				t.Fatal("Remove left a link")
			}
			want = slices.Delete(want, i, i+1)
			l.Put(n)
		}
		check(t, &l, want, op)
	}
}

// TestListReusesNodes: a node comes back without what it held, and at most maxFree are kept.
func TestListReusesNodes(t *testing.T) {
	var l List[int]
	n := l.Get()
	n.Value = 5
	n.Since.Begin()
	l.Put(n)
	if again := l.Get(); again != n || again.Value != 0 || again.Since.At() != 0 || again.next != nil {
		t.Fatal("a node was not reused, or is not as new")
	}
	l.Put(n)
	var nodes []*Node[int]
	for range maxFree + 10 {
		nodes = append(nodes, l.Get())
	}
	for _, n := range nodes {
		l.Put(n)
	}
	kept := 0
	for n := l.free; n != nil; n = n.next {
		kept++
	}
	if kept != maxFree || int(l.frees) != maxFree {
		t.Errorf("%d unused nodes are kept, and counted as %d, want %d", kept, l.frees, maxFree)
	}
	if allocs := testing.AllocsPerRun(100, func() {
		n := l.Get()
		l.Push(n)
		l.Put(l.Pop())
	}); allocs != 0 {
		t.Errorf("a wait allocates %v times", allocs)
	}
}

// TestListAges: the age of a Select is the age of its call, and Ages fills a slice without growing it.
func TestListAges(t *testing.T) {
	var l List[int]
	if l.Oldest(100) != 0 {
		t.Error("an empty list has an age")
	}
	at := park.Now()
	state := new(selection.State)
	state.Since().Continue(at)
	l.Push(&Node[int]{Select: state})
	for i := range 3 {
		n := l.Get()
		n.Since.Continue(at + time.Duration(i+1))
		l.Push(n)
	}
	if got := l.Oldest(at + 10); got != 10 {
		t.Errorf("the oldest has waited %d, want 10", got)
	}
	got := l.Ages(append(make([]time.Duration, 0, 4), 77), at+10)
	if want := []time.Duration{77, 10, 9, 8}; !slices.Equal(got, want) {
		t.Errorf("ages %v, want %v", got, want)
	}
}
