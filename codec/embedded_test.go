package codec_test

import (
	"encoding"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/sluice-go/sluice/codec"
)

// Structs that embed what says how it is written.
type (
	stamped struct {
		time.Time
		Host string
	}
	stampedBy struct { // by way of a pointer
		*time.Time
		//lint:ignore U1000 it is to be lost
		host string
	}
	deeper struct {
		stamped
	}
	justTime  struct{ time.Time }
	justTimes struct {
		justTime
		_ struct{}
	}
	answers struct {
		encoding.BinaryAppender
		encoding.BinaryUnmarshaler
	}
	itself struct{ *itself } // has its own methods, of which no end is found
	named  struct {
		At   time.Time
		Host string
	}
	// own says by itself how it is written: all of it.
	own struct {
		time.Time
		Host string
	}
	// forJSON has methods for JSON alone.
	forJSON  struct{}
	withJSON struct {
		forJSON
		Host string
	}
	withText struct {
		plainText
		Host string
	}
	plainText struct{}
	unseen    struct {
		forJSON
		//lint:ignore U1000 JSON does not write it
		host    string
		Ignored int `json:"-"`
	}
	listOf struct {
		N    int
		List []map[string]*[2]withJSON
	}
	node struct {
		Next *node
		V    withJSON
	}
	ring   struct{ Next *ring }
	hidden struct {
		//lint:ignore U1000 JSON does not write it
		v       withJSON
		Ignored withJSON `json:"-"`
		Any     any
	}
	wrapped struct{ V listOf }
)

func (o own) AppendBinary(b []byte) ([]byte, error) { return append(b, o.Host...), nil }
func (o *own) UnmarshalBinary(b []byte) error       { o.Host = string(b); return nil }

func (itself) AppendBinary(b []byte) ([]byte, error) { return append(b, "it"...), nil }
func (*itself) UnmarshalBinary([]byte) error         { return nil }

func (forJSON) MarshalJSON() ([]byte, error) { return []byte("1"), nil }
func (forJSON) UnmarshalJSON([]byte) error   { return nil }
func (plainText) UnmarshalText([]byte) error { return nil }

// MarshalJSON makes wrapped something that is not looked into.
func (wrapped) MarshalJSON() ([]byte, error) { return []byte("2"), nil }

// What would lose fields without an error is refused.
func TestDefaultLoses(t *testing.T) {
	refused := func(err error, of, field string) {
		t.Helper()
		want := "a codec_test." + of + " may be written as the "
		if err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "its field "+field+" be lost") {
			t.Errorf("error %v, want %q, and the field %s", err, want, field)
		}
	}
	_, err := codec.Default[stamped]()
	refused(err, "stamped", "Host")
	_, err = codec.Default[*stamped]()
	refused(err, "stamped", "Host")
	_, err = codec.Default[stampedBy]()
	refused(err, "stampedBy", "host")
	_, err = codec.Default[deeper]()
	refused(err, "stamped", "Host")
	_, err = codec.Default[answers]()
	refused(err, "answers", "BinaryUnmarshaler")
	_, err = codec.Default[own]()
	refused(err, "own", "Host")
	_, err = codec.Default[withJSON]()
	refused(err, "withJSON", "Host")
	_, err = codec.Default[withText]()
	refused(err, "withText", "Host")
	_, err = codec.Default[[]listOf]()
	refused(err, "withJSON", "Host")
	_, err = codec.Default[map[withText]int]()
	refused(err, "withText", "Host")
	_, err = codec.Default[*node]()
	refused(err, "withJSON", "Host")
}

// What loses nothing, or is not for a codec to know, is not refused.
func TestDefaultKeeps(t *testing.T) {
	at := time.Date(2026, 11, 21, 10, 0, 0, 7, time.UTC)
	check(t, "binary", justTime{at}, "")
	check(t, "binary", justTimes{justTime: justTime{at}}, "")
	check(t, "json", named{at, "a"}, `{"At":"2026-11-21T10:00:00.000000007Z","Host":"a"}`)
	check(t, "json", []named{{at, "a"}}, "")
	check(t, "json", unseen{}, "1")
	check(t, "json", ring{&ring{}}, "")
	check(t, "json", map[netip.Addr]any{}, "{}")
	check(t, "binary", itself{}, "it")
	byDefault[hidden](t)
	byDefault[wrapped](t)
}

// The reason: what is refused would be written, and read, and not be the same.
func TestLoss(t *testing.T) {
	v := stamped{time.Date(2026, 11, 21, 10, 0, 0, 7, time.UTC), "a"}
	for _, c := range []codec.Codec[stamped]{codec.JSON[stamped](), codec.Binary[stamped]()} {
		b, err := c.Append(nil, v)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := c.Decode(b); err != nil || got.Host != "" {
			t.Errorf("%s: %+v came back as %+v, %v: it need not be refused", c.Name(), v, got, err)
		}
	}
}

// Whoever knows that the methods write all of it says so.
func TestBinary(t *testing.T) {
	c := codec.Binary[own]()
	b, err := c.Append([]byte("before"), own{Host: "a"})
	if err != nil || string(b) != "beforea" || c.Name() != "binary" {
		t.Errorf("%s: %q, %v", c.Name(), b, err)
	}
	if v, err := c.Decode([]byte("a")); err != nil || v.Host != "a" {
		t.Errorf("it came back as %+v, %v", v, err)
	}
}
