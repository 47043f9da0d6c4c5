package frame

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/iotest"
)

const limit = 20 // of a line in tests, in bytes

// read returns all lines of a stream, marked with their errors.
func read(r io.Reader, text bool) (got []string, err error) {
	lines := NewReader(r, limit, text)
	for {
		line, err := lines.Next()
		switch {
		case err == nil:
			got = append(got, string(line))
		case errors.Is(err, ErrTooLong):
			got = append(got, "long")
		case errors.Is(err, ErrTruncated):
			got = append(got, "cut")
		default:
			return got, err
		}
	}
}

func TestNext(t *testing.T) {
	long := strings.Repeat("x", 3*limit)
	for _, test := range []struct {
		name, stream string
		text         bool
		want         []string
	}{
		{"nothing", "", false, nil},
		{"line feeds", "one\ntwo\n", false, []string{"one", "two"}},
		{"ends as other systems write them", "one\r\ntwo\x00\nthree\x00\r\n", false, []string{"one", "two", "three"}},
		{"empty lines", "\n\r\none\n\n", false, []string{"one"}},
		{"octet counts", "4 <1>a5 <1>bc", false, []string{"<1>a", "<1>bc"}},
		{"octet counts and line feeds", "4 <1>a<1>b\n5 <1>c\n<1>d\n", false, []string{"<1>a", "<1>b", "<1>c", "<1>d"}},
		{"a line feed within a count", "6 <1>a\nb<1>c\n", false, []string{"<1>a\nb", "<1>c"}},
		{"text that begins with a number", "10.0.0.1 - -\n7 up\n0 <1>\n123456789", true, []string{"10.0.0.1 - -", "7 up", "0 <1>", "123456789"}},
		{"a number that is too large", "1234567890 <1>a\n<1>b\n", false, []string{"1234567890 <1>a", "<1>b"}},
		{"the last line of a text", "one\ntwo", true, []string{"one", "two"}},
		{"half a line", "one\ntw", false, []string{"one", "cut"}},
		{"half a count", "4 <1>a1", false, []string{"<1>a", "cut"}},
		{"half a counted line", "9 <1>a", false, []string{"cut"}},
		{"just not too long", long[:limit] + "\nok\n", false, []string{long[:limit], "ok"}},
		{"just not too long, but for its end", long[:limit] + "\r\x00\r\nok\n", false, []string{long[:limit], "ok"}},
		{"too long", long + "\nok\n", false, []string{"long", "ok"}},
		{"too long by one", long[:limit+1] + "\nok\n", false, []string{"long", "ok"}},
		{"too long at the end", long, true, []string{"long"}},
		{"a count that is too long", "60 <1>" + long[3:] + "4 <1>a", false, []string{"long", "<1>a"}},
		{"a count that never comes", "999999999 <1>a", false, []string{"long"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			got, err := read(strings.NewReader(test.stream), test.text)
			if err != io.EOF || !slices.Equal(got, test.want) {
				t.Errorf("got %q, %v, want %q", got, err, test.want)
			}
			// The result must not depend on how the stream arrives.
			slowly, err := read(iotest.OneByteReader(strings.NewReader(test.stream)), test.text)
			if err != io.EOF || !slices.Equal(slowly, test.want) {
				t.Errorf("byte by byte: got %q, %v, want %q", slowly, err, test.want)
			}
		})
	}
}

// TestEndless: an endless terminator fills the buffer and no more.
func TestEndless(t *testing.T) {
	nothing := strings.Repeat("\x00", 2*bufferBytes)
	got, err := read(strings.NewReader(nothing+"\nok\n"), false)
	if err != io.EOF || !slices.Equal(got, []string{"long", "ok"}) {
		t.Errorf("got %q, %v", got, err)
	}
}

// TestError: an error does not lose the lines before it.
func TestError(t *testing.T) {
	broken := errors.New("broken")
	got, err := read(io.MultiReader(strings.NewReader("one\ntwo\nth"), iotest.ErrReader(broken)), true)
	if err != broken || !slices.Equal(got, []string{"one", "two", "cut"}) {
		t.Errorf("got %q, %v", got, err)
	}
	got, err = read(iotest.DataErrReader(strings.NewReader("one\ntwo")), true)
	if err != io.EOF || !slices.Equal(got, []string{"one", "two"}) {
		t.Errorf("io.EOF together with the last bytes: got %q, %v", got, err)
	}
}

// TestWaits: a reader reads more only when it has no complete line left: before
// that, its events are sent.
func TestWaits(t *testing.T) {
	chunks := []string{"one\ntwo\nthr", "ee\n4 <1>a", "four\n"}
	whole := [][]string{{"one", "two"}, {"three", "<1>a"}, {"four"}}
	var got []string
	reads := 0
	lines := NewReader(readerFunc(func(p []byte) (int, error) {
		if reads > 0 && !slices.Equal(got, slices.Concat(whole[:reads]...)) {
			t.Errorf("before read %d it has returned %q", reads, got)
		}
		if reads == len(chunks) {
			return 0, io.EOF
		}
		reads++
		return copy(p, chunks[reads-1]), nil
	}), limit, false)
	for {
		line, err := lines.Next()
		if err != nil {
			break
		}
		got = append(got, string(line))
	}
	if len(got) != 5 {
		t.Errorf("got %q", got)
	}
}

type readerFunc func(p []byte) (int, error)

func (f readerFunc) Read(p []byte) (int, error) { return f(p) }

// TestMemory: a line without an end uses no more memory than the buffer.
func TestMemory(t *testing.T) {
	lines := NewReader(io.LimitReader(endless{}, 64<<20), limit, false)
	allocated := testing.AllocsPerRun(1, func() {
		for {
			line, err := lines.Next()
			if len(line) > limit {
				t.Fatalf("a line of %d bytes", len(line))
			}
			if err == io.EOF {
				return
			}
		}
	})
	if allocated > 0 || lines.r.Size() > bufferBytes+limit {
		t.Errorf("%v allocations, and a buffer of %d bytes", allocated, lines.r.Size())
	}
}

type endless struct{}

func (endless) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = 'x'
	}
	return len(p), nil
}

// FuzzFraming frames lines and cuts them again, in pieces of any size; it also
// reads the raw input as a stream.
func FuzzFraming(f *testing.F) {
	f.Add([]byte("<1>one\n<2>two"), byte(3))
	f.Add([]byte("99 <1>\n\n12345678901234567890 <"), byte(1))
	f.Add([]byte("\x00\xff\n21 <<<<"), byte(7))
	f.Fuzz(func(t *testing.T, data []byte, piece byte) {
		whole, err := read(bytes.NewReader(data), false)
		if err != io.EOF {
			t.Fatal(err)
		}
		pieces, err := read(inPieces(data, piece), false)
		if err != io.EOF || !slices.Equal(pieces, whole) {
			t.Errorf("whole %q, in pieces %q, %v", whole, pieces, err)
		}
		for _, line := range whole {
			if len(line) > limit {
				t.Errorf("a line of %d bytes: %q", len(line), line)
			}
		}
		var framed []byte
		var want []string
		for i, line := range bytes.Split(data, []byte("\n")) {
			line = append([]byte("<"), trim(line)...)
			if len(line) > limit {
				continue
			}
			want = append(want, string(line))
			if i%2 == 0 {
				framed = append(append(strconv.AppendInt(framed, int64(len(line)), 10), ' '), line...)
			} else {
				framed = append(append(framed, line...), '\n')
			}
		}
		if got, err := read(inPieces(framed, piece), false); err != io.EOF || !slices.Equal(got, want) {
			t.Errorf("framed %q, got %q, %v", want, got, err)
		}
	})
}

// inPieces reads data a few bytes at a time.
func inPieces(data []byte, piece byte) io.Reader {
	r := bytes.NewReader(data)
	return readerFunc(func(p []byte) (int, error) { return r.Read(p[:min(len(p), 1+int(piece))]) })
}

func BenchmarkNext(b *testing.B) {
	for _, framing := range []string{"line feeds", "octet counts"} {
		b.Run(framing, func(b *testing.B) {
			line := "<134>1 " + strings.Repeat("x", 193)
			one := line + "\n"
			if framing == "octet counts" {
				one = fmt.Sprint(len(line), " ", line)
			}
			text := strings.Repeat(one, 1000)
			b.ReportAllocs()
			for n := 0; n < b.N; {
				lines := NewReader(strings.NewReader(text), 8<<10, false)
				for n < b.N {
					if _, err := lines.Next(); err != nil {
						break
					}
					n++
				}
			}
		})
	}
}
