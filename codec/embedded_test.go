package codec_test

import (
	"encoding"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/sluice-go/sluice/codec"
)

// Structs with embedded fields whose methods encode them.
type (
	stamped struct {
		time.Time
		Host string
	}
	stampedBy struct { // through a pointer
		*moment
		//lint:ignore U1000 a test of lost fields
		host string
	}
	deeper struct {
		stampedBy
	}
	justMoment  struct{ moment }
	justMoments struct {
		justMoment
		_ struct{}
	}
	answers struct {
		encoding.BinaryAppender
		encoding.BinaryUnmarshaler
	}
	itself struct{ *itself } // has its own methods, and embeds itself
	named  struct {
		At   time.Time
		Host string
	}
	// own has methods of its own, which encode all of it.
	own struct {
		//lint:ignore U1000 the methods of own encode it
		moment
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

// A moment is encoded by its methods, like a time.Time, but has few others, which the compiler repeats
// for each struct that embeds it.
type moment byte

func (m moment) AppendBinary(b []byte) ([]byte, error) { return append(b, byte(m)), nil }
func (m *moment) UnmarshalBinary(b []byte) error       { *m = moment(b[0]); return nil }

func (o own) AppendBinary(b []byte) ([]byte, error) { return append(b, o.Host...), nil }
func (o *own) UnmarshalBinary(b []byte) error       { o.Host = string(b); return nil }

func (itself) AppendBinary(b []byte) ([]byte, error) { return append(b, "it"...), nil }
func (*itself) UnmarshalBinary([]byte) error         { return nil }

func (forJSON) MarshalJSON() ([]byte, error) { return []byte("1"), nil }
func (forJSON) UnmarshalJSON([]byte) error   { return nil }
func (plainText) UnmarshalText([]byte) error { return nil }

// MarshalJSON makes wrapped opaque to JSON.
func (wrapped) MarshalJSON() ([]byte, error) { return []byte("2"), nil }

// Default returns an error for types whose encoding silently loses fields.
func TestDefaultLoses(t *testing.T) {
	refused := func(err error, of, field string) {
		t.Helper()
		want := "encoding a codec_test." + of + " may encode only the embedded "
		if err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "lose field "+field) {
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
	refused(err, "stampedBy", "host")
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

// Default accepts types whose encoding loses nothing, or loses fields that a codec cannot see.
func TestDefaultKeeps(t *testing.T) {
	at := time.Date(2026, 11, 21, 10, 0, 0, 7, time.UTC)
	check(t, "binary", justMoment{7}, "\x07")
	check(t, "binary", justMoments{justMoment: justMoment{7}}, "\x07")
	check(t, "json", named{at, "a"}, `{"At":"2026-11-21T10:00:00.000000007Z","Host":"a"}`)
	check(t, "json", []named{{at, "a"}}, "")
	check(t, "json", unseen{}, "1")
	check(t, "json", ring{&ring{}}, "")
	check(t, "json", map[netip.Addr]any{}, "{}")
	check(t, "binary", itself{}, "it")
	byDefault[hidden](t)
	byDefault[wrapped](t)
}

// TestLoss shows that the rejected types would not survive encoding and decoding.
func TestLoss(t *testing.T) {
	v := stamped{time.Date(2026, 11, 21, 10, 0, 0, 7, time.UTC), "a"}
	for _, c := range []codec.Codec[stamped]{codec.JSON[stamped](), codec.Binary[stamped]()} {
		b, err := c.Append(nil, v)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := c.Decode(b); err != nil || got.Host != "" {
			t.Errorf("%s: %+v came back as %+v, %v: Default need not reject it", c.Name(), v, got, err)
		}
	}
}

// Binary accepts a type that Default rejects.
func TestBinary(t *testing.T) {
	c := codec.Binary[own]()
	b, err := c.Append([]byte("before"), own{Host: "a"})
	if err != nil || string(b) != "beforea" || c.Name() != "binary" {
		t.Errorf("%s: %q, %v", c.Name(), b, err)
	}
	if v, err := c.Decode([]byte("a")); err != nil || v.Host != "a" {
		t.Errorf("decoded as %+v, %v", v, err)
	}
}
