package parse

import (
	"errors"
	"math"
	"testing"
	"unique"
)

// forms returns events with extreme values.
func forms() []Event {
	return []Event{
		{},
		{Tick: true},
		{Service: unique.Make(""), Status: 200},
		{Service: unique.Make("web"), Minute: math.MaxUint32, Status: math.MaxUint16, Bytes: math.MaxInt64, Read: math.MinInt64},
		{Service: unique.Make("web"), Minute: 1, Status: 404, Bytes: -1, Read: 1},
	}
}

// TestForm: events decode to what was encoded, individually and concatenated, and no part of an
// encoding decodes.
func TestForm(t *testing.T) {
	var batch []byte
	for _, want := range forms() {
		form := want.AppendForm(nil)
		var got Event
		if rest, err := got.CutForm(form); err != nil || len(rest) > 0 || got != want {
			t.Errorf("got %v, %v, want %v", got, err, want)
		}
		for n := range form {
			if _, err := got.CutForm(form[:n]); !errors.Is(err, errForm) {
				t.Errorf("%v, cut off after %d bytes: %v, %v", want, n, got, err)
			}
		}
		if err := got.UnmarshalBinary(append(form, 0)); !errors.Is(err, errForm) {
			t.Errorf("%v, with a trailing byte: %v", want, err)
		}
		batch = want.AppendForm(batch)
	}
	var got Event
	for _, want := range forms() {
		var err error
		if batch, err = got.CutForm(batch); err != nil || got != want {
			t.Errorf("got %v, %v, want %v", got, err, want)
		}
	}
	if len(batch) > 0 {
		t.Errorf("%d trailing bytes", len(batch))
	}
}

// TestFormTooLarge: a status that no event contains is invalid, and so is a
// name longer than the rest of the bytes.
func TestFormTooLarge(t *testing.T) {
	for at, wrong := range map[int]byte{22: 2, 23: 1, 24: 6, 27: 0xff} {
		form := Event{Service: unique.Make("mail")}.AppendForm(nil)
		form[at] = wrong
		var e Event
		if _, err := e.CutForm(form); !errors.Is(err, errForm) {
			t.Errorf("%q is %v", form, e)
		}
	}
}

// FuzzForm: any bytes either fail to decode, or decode to an event that
// survives a round trip.
func FuzzForm(f *testing.F) {
	for _, e := range forms() {
		f.Add(e.AppendForm(nil))
	}
	f.Fuzz(func(t *testing.T, form []byte) {
		var e, again Event
		if _, err := e.CutForm(form); err != nil {
			return
		}
		if _, err := again.CutForm(e.AppendForm(nil)); err != nil || again != e {
			t.Errorf("%q is %v, then %v, %v", form, e, again, err)
		}
	})
}

// TestCutAllocates: a run of lines of one service does not allocate.
func TestCutAllocates(t *testing.T) {
	e := Event{Service: unique.Make("web"), Minute: 29_000_000, Status: 200, Bytes: 1000, Read: 1e9}
	form, into := e.AppendForm(nil), e
	if n := testing.AllocsPerRun(100, func() {
		if _, err := into.CutForm(form); err != nil {
			t.Error(err)
		}
	}); n > 0 {
		t.Errorf("%v allocations", n)
	}
}
