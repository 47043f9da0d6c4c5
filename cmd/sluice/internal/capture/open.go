package capture

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/sluice-go/sluice/cmd/sluice/internal/format"
	"github.com/sluice-go/sluice/livepage"
)

// A File is a file as a service sent it, or as it was saved.
type File struct {
	Name string
	Data []byte
}

// The name and the format of the file with the Header in a saved capture.
const (
	HeaderFile   = "capture.json"
	HeaderFormat = "sluice capture 1"
)

// A Header is the content of capture.json, beside the files of a saved capture. Zero
// values are unknown.
type Header struct {
	Format  string    `json:"format"`
	Target  string    `json:"target"` // without user and password
	Start   time.Time `json:"start,omitzero"`
	Machine *Machine  `json:"machine,omitempty"`
	Missing []Missing `json:"missing,omitempty"`
}

// A FileError reports a file that cannot be read.
type FileError struct {
	Name string
	Err  error
}

// Error returns one line, whatever the name of the file contains.
func (e *FileError) Error() string { return format.Clean(e.Name) + ": " + format.Clean(e.Err.Error()) }

func (e *FileError) Unwrap() error { return e.Err }

var (
	errEmpty   = errors.New("empty file: the service sent nothing; fetch it again")
	errForeign = errors.New("unknown file type (want a pprof profile, a text with goroutines, or an execution trace)")
	errPage    = errors.New("a web page, not a profile: fetch the profile itself, such as /debug/pprof/profile?seconds=5")
)

// Open reads saved files, and the files in saved folders, as one capture of one process.
// It detects the type of a file by its content. Names only decide the order of files of
// the same kind without times: those whose names, without extension, end with "before" come
// first, and those that end with "after" last. The others keep the order in which they are
// named; in a folder it is the order of names, in which 9 is before 10.
//
// Missing names the files that cannot be read. Open fails with a *FileError if nothing can be read,
// or with an error of the file system if a named file does not exist.
//
// A trace is not read. Its file must stay in place as long as the Capture is in use.
func Open(names ...string) (*Capture, error) {
	r := reader{budget: budget{maxBuilt}}
	for _, name := range names {
		info, err := os.Stat(name)
		if err != nil {
			return nil, err
		}
		if !info.IsDir() {
			r.file(name, name)
			continue
		}
		r.folder = true
		entries, err := os.ReadDir(name)
		if err != nil {
			return nil, err
		}
		var files []string
		for _, entry := range entries {
			if !strings.HasPrefix(entry.Name(), ".") {
				files = append(files, entry.Name())
			}
		}
		if len(files) > maxFiles {
			return nil, &FileError{name, fmt.Errorf("a folder with %d files (at most %d): name those of one capture", len(files), maxFiles)}
		}
		slices.SortStableFunc(files, func(a, b string) int { return strings.Compare(ordered(a), ordered(b)) })
		for _, file := range files {
			r.file(filepath.Join(name, file), file)
		}
	}
	return r.capture(strings.Join(names, " "))
}

// Read is Open for what a service sent just now: h, which may be nil, and files with the
// names that they have in a saved folder.
func Read(h *Header, files []File) (*Capture, error) {
	r := reader{budget: budget{maxBuilt}, header: h}
	for _, f := range files {
		r.add(f.Name, input{f.Name, int64(len(f.Data)), func() (io.ReadCloser, error) {
			return io.NopCloser(bytes.NewReader(f.Data)), nil
		}})
	}
	c, err := r.capture("the service")
	if err == nil {
		c.Live = true
	}
	return c, err
}

var number = regexp.MustCompile("[0-9]+")

// ordered pads the numbers in a name, so that 9 is before 10.
func ordered(name string) string {
	return number.ReplaceAllStringFunc(name, func(n string) string { return fmt.Sprintf("%20s", n) })
}

// An input is a file that can be opened any number of times.
type input struct {
	name string
	size int64
	open func() (io.ReadCloser, error)
}

// read calls f with the content.
func (in input) read(f func(io.Reader) error) error {
	r, err := in.open()
	if err == nil {
		defer r.Close()
		err = f(r)
	}
	if errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF) {
		return errTruncated
	}
	return err
}

// readAll returns the content of at most limit bytes. It reads it twice, so that no more
// is allocated than it has bytes.
func (in input) readAll(limit int64) (data []byte, err error) {
	size := int64(0)
	if err := in.read(func(r io.Reader) (err error) {
		size, err = io.Copy(io.Discard, io.LimitReader(r, limit+1))
		return err
	}); err != nil {
		return nil, err
	}
	if size > limit {
		return nil, fmt.Errorf("larger than %d MB when unpacked", limit>>20)
	}
	data = make([]byte, size)
	return data, in.read(func(r io.Reader) error {
		_, err := io.ReadFull(r, data)
		return err
	})
}

// unpacked returns the content of a gzip file.
func (in input) unpacked() input {
	open := in.open
	in.open = func() (io.ReadCloser, error) {
		f, err := open()
		if err != nil {
			return nil, err
		}
		z, err := gzip.NewReader(f)
		if err != nil {
			f.Close()
			return nil, err
		}
		return struct {
			io.Reader
			io.Closer
		}{z, f}, nil
	}
	return in
}

// A reader reads files.
type reader struct {
	header *Header
	parts  []part
	failed []*FileError
	budget budget
	folder bool // a folder was named: its files were not
}

func (r *reader) fail(name string, err error) {
	r.failed = append(r.failed, &FileError{name, err})
}

// file adds a file, under the given name if it fails.
func (r *reader) file(path, name string) {
	info, err := os.Stat(path)
	if err == nil && !info.Mode().IsRegular() {
		err = errors.New("not a regular file")
	}
	if err != nil {
		r.fail(name, err)
		return
	}
	r.add(name, input{path, info.Size(), func() (io.ReadCloser, error) { return os.Open(path) }})
}

// add reads one file. It may take half of what is left of the budget: one file must not
// leave nothing to the others.
func (r *reader) add(name string, in input) {
	share := budget{r.budget.left / 2}
	parts, err := r.read(in, &share, 0)
	if err != nil {
		r.fail(name, err)
		return
	}
	r.budget.left -= r.budget.left/2 - max(0, share.left)
	r.parts = append(r.parts, parts...)
}

const (
	sniffed  = 4096 // bytes to detect the type of a file
	maxGzips = 2    // one around another: a profile is one itself, and may be compressed once more
)

// read reads a file by its type.
func (r *reader) read(in input, b *budget, gzips int) ([]part, error) {
	var head []byte
	if err := in.read(func(f io.Reader) (err error) {
		head, err = io.ReadAll(io.LimitReader(f, sniffed))
		return err
	}); err != nil {
		return nil, err
	}
	switch {
	case len(head) == 0:
		return nil, errEmpty
	case bytes.HasPrefix(head, []byte("\x1f\x8b")) && gzips < maxGzips:
		return r.read(in.unpacked(), b, gzips+1)
	case bytes.HasPrefix(head, []byte("go 1.")) && bytes.Contains(head[:min(len(head), 16)], []byte(" trace\x00")):
		return []part{{name: in.name, kind: kindTrace, trace: &Trace{in.name, in.size, in.open}}}, nil
	case notText(head):
		p, err := readProfile(in, b)
		if !errors.Is(err, errNoProfile) {
			return []part{p}, err
		}
	}
	return r.text(in, head, b)
}

// notText reports whether head has characters that no text has, and is not in UTF-16,
// which begins with its mark.
func notText(head []byte) bool {
	utf16 := bytes.HasPrefix(head, []byte("\xff\xfe")) || bytes.HasPrefix(head, []byte("\xfe\xff"))
	return !utf16 && bytes.ContainsFunc(head, func(c rune) bool { return c < ' ' && !strings.ContainsRune("\t\n\r\f\x1b", c) })
}

// text reads JSON or a text with goroutines.
func (r *reader) text(in input, head []byte, b *budget) ([]part, error) {
	refused := errForeign
	start := bytes.ToLower(bytes.TrimLeft(head, "\xef\xbb\xbf \t\r\n"))
	switch {
	case bytes.HasPrefix(start, []byte("{")):
		parts, err := r.json(in, b)
		if err == nil {
			return parts, nil
		}
		refused = err // it may be a log with a value on each line
	case bytes.HasPrefix(start, []byte("<!doctype html")), bytes.HasPrefix(start, []byte("<html")):
		refused = errPage
	}
	found := newTexts(b)
	if err := in.read(found.read); err != nil && len(found.dumps) == 0 {
		return nil, err
	}
	var parts []part
	for _, d := range found.dumps {
		parts = append(parts, part{name: in.name, kind: kindDump, dump: d})
	}
	if found.leaks != nil {
		parts = append(parts, part{name: in.name, kind: kindLeak, profile: found.leaks})
	}
	if len(parts) > 0 {
		return parts, nil
	}
	return nil, cmp.Or(found.other, refused)
}

// json reads the header of a saved capture, or a map of named channels.
func (r *reader) json(in input, b *budget) ([]part, error) {
	text, err := in.readAll(maxJSON)
	if err != nil {
		return nil, err
	}
	// A value between commas needs less than 100 bytes, and a struct of a map 600.
	objects := bytes.Count(text, []byte("{")) + bytes.Count(text, []byte("["))
	if err := b.take(bytes.Count(text, []byte(","))+6*objects, 100); err != nil {
		return nil, err
	}
	text = bytes.TrimPrefix(text, []byte("\xef\xbb\xbf"))
	var h Header
	if json.Unmarshal(text, &h) == nil && h.Format != "" {
		if h.Format != HeaderFormat {
			return nil, fmt.Errorf("unsupported format %.40q (want %q)", h.Format, HeaderFormat)
		}
		if m := h.Machine; m != nil && !(m.CPUs > 0 && m.CPUs <= maxCores && m.Busy >= 0 && m.Busy <= float64(m.CPUs)) {
			return nil, fmt.Errorf("implausible use of %v cores of %d CPUs", m.Busy, m.CPUs)
		}
		r.header = &h
		return nil, nil
	}
	var page struct{ Stages, Channels, Edges json.RawMessage }
	if json.Unmarshal(text, &page) != nil || page.Stages == nil || page.Channels == nil || page.Edges == nil {
		return nil, errForeign
	}
	flow := &livepage.Flow{}
	if err := json.Unmarshal(text, flow); err != nil {
		return nil, fmt.Errorf("invalid map of channels: %w", err)
	}
	return []part{{name: in.name, kind: kindFlow, at: flow.Time, flow: flow}}, nil
}
