package paced

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// Each duration lies in its bucket, and a bucket is at most 1/32 of its durations wide.
func TestBuckets(t *testing.T) {
	for b := range buckets {
		end := upper(b)
		begin := int64(0)
		if b > 0 {
			begin = upper(b-1) + 1
		}
		if bucket(begin) != b || bucket(end) != b || end < begin {
			t.Fatalf("bucket %d from %d to %d: they lie in %d and %d", b, begin, end, bucket(begin), bucket(end))
		}
		if width := end - begin + 1; width > 1 && width > begin>>precision {
			t.Errorf("bucket %d from %d to %d is too wide", b, begin, end)
		}
	}
	if bucket(-1) != 0 || bucket(math.MaxInt64) != buckets-1 {
		t.Errorf("out of range: bucket(-1) = %d, bucket(MaxInt64) = %d", bucket(-1), bucket(math.MaxInt64))
	}
}

func TestQuantiles(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	var h, first, second Histogram
	var all []int64
	for i := range 10_000 {
		ns := int64(math.Exp(20 * rng.Float64()))
		all = append(all, ns)
		half := &first
		if i%2 == 0 {
			half = &second
		}
		half.Record(ns)
	}
	h.Add(&first)
	h.Add(&second)
	if h.Count() != 10_000 {
		t.Fatalf("Count = %d", h.Count())
	}
	slices.Sort(all)
	for _, q := range []float64{0, 0.01, 0.5, 0.99, 0.999, 1} {
		exact := float64(all[max(0, int(math.Ceil(q*10_000))-1)])
		if got := h.Quantile(q); got < exact || got > exact*(1+1.0/32)+1 {
			t.Errorf("Quantile(%v) = %v, exactly %v", q, got, exact)
		}
	}
	if empty := new(Histogram).Quantile(0.5); !math.IsNaN(empty) {
		t.Errorf("an empty histogram has the median %v", empty)
	}
}

func TestRecordAllocatesNothing(t *testing.T) {
	var h Histogram
	if n := testing.AllocsPerRun(100, func() { h.Record(12345) }); n != 0 {
		t.Errorf("Record allocates %v times", n)
	}
}
