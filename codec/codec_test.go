package codec_test

import (
	"bytes"
	"errors"
	"net/netip"
	"net/url"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/sluice-go/sluice/codec"
)

type event struct {
	Host string
	N    int
}

type line string

type chunk []byte

// onlyWritten can be encoded as binary, but not decoded.
type onlyWritten struct{ N int }

func (onlyWritten) AppendBinary(b []byte) ([]byte, error) { return append(b, "half"...), nil }

// fragile fails to be encoded and decoded.
type fragile struct{}

var errFragile = errors.New("fragile")

func (fragile) AppendBinary(b []byte) ([]byte, error) { return b, errFragile }
func (*fragile) UnmarshalBinary([]byte) error         { return errFragile }

// byDefault returns the default codec of a type that has one.
func byDefault[T any](t *testing.T) codec.Codec[T] {
	t.Helper()
	c, err := codec.Default[T]()
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// check encodes and decodes v by the default codec, which must have the given name.
func check[T any](t *testing.T, name string, v T, form string) {
	t.Helper()
	c := byDefault[T](t)
	encode := func(b []byte) ([]byte, error) { return c.Append(b, v) }
	decode := func(b []byte) (any, error) { return c.Decode(b) }
	checkForm(t, c.Name(), name, v, form, encode, decode)
}

// checkForm is the part of check that is compiled once, and not for each type.
func checkForm(t *testing.T, got, want string, v any, form string, encode func([]byte) ([]byte, error), decode func([]byte) (any, error)) {
	t.Helper()
	if got != want {
		t.Errorf("%T: the default is %q, want %q", v, got, want)
	}
	b, err := encode([]byte("before"))
	if err != nil {
		t.Errorf("%T: %v", v, err)
		return
	}
	rest, found := bytes.CutPrefix(b, []byte("before"))
	if !found {
		t.Errorf("%T: Append changed the bytes before it: %q", v, b)
	}
	if form != "" && string(rest) != form {
		t.Errorf("%T: encoded as %q, want %q", v, rest, form)
	}
	again, err := decode(rest)
	if err != nil {
		t.Errorf("%T: %v", v, err)
	}
	clear(b) // as its owner may
	if !reflect.DeepEqual(again, v) {
		t.Errorf("%T: %v came back as %v", v, v, again)
	}
}

func TestDefault(t *testing.T) {
	at := time.Date(2026, 11, 21, 10, 0, 0, 7, time.UTC)
	addr, page := netip.MustParseAddr("::1"), &url.URL{Scheme: "http", Host: "a.example"}
	check(t, "raw", []byte{0, 0xff, '"'}, "\x00\xff\"")
	check(t, "raw", []byte(nil), "")
	check(t, "raw", "\xff\x00 no JSON", "\xff\x00 no JSON")
	check(t, "raw", "", "")
	check(t, "binary", at, "")
	check(t, "binary", addr, "")
	check(t, "binary", &addr, "")
	check(t, "binary", *page, "http://a.example")
	check(t, "binary", page, "http://a.example")
	check(t, "json", line("a"), `"a"`)
	check(t, "json", chunk("a"), `"YQ=="`)
	check(t, "json", event{"a", 7}, `{"Host":"a","N":7}`)
	check(t, "json", &event{"a", 7}, `{"Host":"a","N":7}`)
	check(t, "json", (*event)(nil), "null")
	check(t, "json", uint64(1)<<63+1, "9223372036854775809")
	check(t, "json", struct{}{}, "{}")
	check(t, "json", onlyWritten{3}, `{"N":3}`)
	check(t, "json", &onlyWritten{3}, `{"N":3}`)
	check[any](t, "json", "a", `"a"`)
}

// JSON works for types with another default.
func TestJSON(t *testing.T) {
	c := codec.JSON[string]()
	b, err := c.Append(nil, "a")
	if err != nil || string(b) != `"a"` || c.Name() != "json" {
		t.Errorf("%s: %s, %v", c.Name(), b, err)
	}
}

func TestErrors(t *testing.T) {
	fails := func(what string, b []byte, err error, want string) {
		t.Helper()
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v, want one with %q", what, err, want)
		}
		if string(b) != "before" {
			t.Errorf("%s: left %q", what, b)
		}
	}
	before := []byte("before")
	b, err := byDefault[*time.Time](t).Append(before, nil)
	fails("a nil pointer", b, err, "nil pointer")
	b, err = byDefault[func()](t).Append(before, func() {})
	fails("a func", b, err, "unsupported type")
	b, err = byDefault[fragile](t).Append(before, fragile{})
	fails("its own error", b, err, "fragile")

	_, err = byDefault[fragile](t).Decode(nil)
	fails("reading it", before, err, "fragile")
	_, err = byDefault[*fragile](t).Decode(nil)
	fails("reading a pointer to it", before, err, "fragile")
	_, err = byDefault[event](t).Decode([]byte(`{"N":1`))
	fails("reading half of it", before, err, "unexpected end")
	_, err = byDefault[event](t).Decode([]byte(`{} {}`))
	fails("reading two", before, err, "after top-level value")
}

// Decode of raw bytes returns a copy.
func TestDecodeCopies(t *testing.T) {
	b := []byte("abc")
	v, err := byDefault[[]byte](t).Decode(b)
	b[0] = 'x'
	if err != nil || string(v) != "abc" {
		t.Errorf("the value changed with the buffer: %q, %v", v, err)
	}
}
