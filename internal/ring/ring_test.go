package ring

import (
	"math"
	"runtime"
	"testing"
	"weak"
)

// FuzzAgainstSlice compares a ring with a slice after the steps that a byte string
// encodes, with counters that are about to wrap.
func FuzzAgainstSlice(f *testing.F) {
	f.Add([]byte{0, 0, 0, 1, 2, 1, 3, 0, 1})
	f.Add([]byte("push and pop and push again, then shrink it all"))
	f.Fuzz(func(t *testing.T, ops []byte) {
		var r Ring[int]
		r.head, r.tail = math.MaxUint-2, math.MaxUint-2
		var model []int
		for i, op := range ops {
			switch {
			case op%4 == 0 || op%4 == 1 && len(model) == 0:
				r.Push(i)
				model = append(model, i)
			case op%4 == 1:
				if got := r.Pop(); got != model[0] {
					t.Fatalf("step %d: Pop = %d, want %d", i, got, model[0])
				}
				model = model[1:]
			case op%4 == 2:
				r.Grow(int(op) / 4)
				if r.Size()-r.Len() < int(op)/4 {
					t.Fatalf("step %d: %d slots free after Grow(%d)", i, r.Size()-r.Len(), op/4)
				}
			case op%8 == 3 && len(model) > 0:
				if got, last := r.PopLast(), len(model)-1; got != model[last] {
					t.Fatalf("step %d: PopLast = %d, want %d", i, got, model[last])
				}
				model = model[:len(model)-1]
			default:
				before := r.Size()
				r.Shrink(int(op) / 4)
				if r.Size() > before || r.Size() < before && r.Size() < int(op)/4 {
					t.Fatalf("step %d: Shrink(%d) took %d slots to %d", i, op/4, before, r.Size())
				}
			}
			if r.Len() != len(model) {
				t.Fatalf("step %d: Len = %d, want %d", i, r.Len(), len(model))
			}
			if size := r.Size(); size&(size-1) != 0 || size < r.Len() {
				t.Fatalf("step %d: %d slots for %d values", i, size, r.Len())
			}
		}
		for i, want := range model {
			if got := r.At(i); got != want {
				t.Fatalf("At(%d) = %d, want %d", i, got, want)
			}
		}
		for i, want := range model {
			if got := r.Pop(); got != want {
				t.Fatalf("value %d of the rest: %d, want %d", i, got, want)
			}
		}
	})
}

func TestGrowsByDoublingOnly(t *testing.T) {
	var r Ring[byte]
	sizes := map[int]bool{}
	for range 1000 {
		r.Push(1)
		sizes[r.Size()] = true
	}
	if len(sizes) != 11 || r.Size() != 1024 {
		t.Errorf("1000 values went through %d sizes and ended in %d slots, want 11 and 1024", len(sizes), r.Size())
	}
}

// A ring whose length oscillates around a power of two is not copied each time.
func TestShrinkHasHysteresis(t *testing.T) {
	var r Ring[int]
	for i := range 257 {
		r.Push(i)
	}
	if n := testing.AllocsPerRun(100, func() {
		for range 4 {
			r.Pop()
			r.Shrink(1)
		}
		for i := range 4 {
			r.Push(i)
		}
	}); n != 0 {
		t.Errorf("a swing of 4 around 256 allocates %v times", n)
	}
	for r.Len() > 0 {
		r.Pop()
		r.Shrink(8)
	}
	if r.Size() != 8 {
		t.Errorf("%d slots are left after the drain, want the floor of 8", r.Size())
	}
}

func TestPoppedValuesAreGarbage(t *testing.T) {
	var r Ring[*[64]byte]
	var kept []weak.Pointer[[64]byte]
	for range 10 {
		v := new([64]byte)
		kept = append(kept, weak.Make(v))
		r.Push(v)
	}
	for range 10 {
		r.Pop()
	}
	runtime.GC()
	for i, w := range kept {
		if w.Value() != nil {
			t.Errorf("value %d is alive after Pop", i)
		}
	}
	runtime.KeepAlive(&r)
}

func TestPopOfEmptyPanics(t *testing.T) {
	defer func() {
		if recover() == nil {
			t.Error("Pop of an empty ring returned")
		}
	}()
	new(Ring[int]).Pop()
}

// TestEnds: Oldest and Newest are the slots of the values that Pop and PopLast return, also across the
// wrap of the buffer.
func TestEnds(t *testing.T) {
	var r Ring[int]
	for n := range 100 {
		r.Push(n)
		r.Push(n + 1000)
		if *r.Newest() != n+1000 {
			t.Fatalf("Newest is %d, want %d", *r.Newest(), n+1000)
		}
		want := *r.Oldest()
		if v := r.Pop(); v != want {
			t.Fatalf("Oldest is %d, Pop returned %d", want, v)
		}
		if n%3 == 0 {
			want = *r.Newest()
			if v := r.PopLast(); v != want {
				t.Fatalf("Newest is %d, PopLast returned %d", want, v)
			}
		}
	}
	var empty Ring[int]
	for name, f := range map[string]func() *int{"Oldest": empty.Oldest, "Newest": empty.Newest} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s of an empty ring did not panic", name)
				}
			}()
			f()
		}()
	}
}
