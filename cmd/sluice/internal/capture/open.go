package capture

import (
	"bufio"
	"bytes"
	"cmp"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
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
func (e *FileError) Error() string {
	err := e.Err
	if path := new(fs.PathError); errors.As(err, &path) {
		err = path.Err // the name is there
	}
	return format.Clean(e.Name) + ": " + format.Clean(err.Error())
}

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
	r := reader{parts: map[kind][]part{}, budget: budget{maxBuilt}}
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
		if len(entries) > maxFiles {
			return nil, &FileError{name, fmt.Errorf("a folder with %d files (at most %d): name those of one capture", len(entries), maxFiles)}
		}
		slices.SortStableFunc(entries, func(a, b os.DirEntry) int { return strings.Compare(padded(a.Name()), padded(b.Name())) })
		for _, entry := range entries {
			if !strings.HasPrefix(entry.Name(), ".") {
				r.file(filepath.Join(name, entry.Name()), entry.Name())
			}
		}
	}
	return r.capture(strings.Join(names, " "))
}

// Read is Open for what a service sent just now: h, which may be nil, and files with the
// names that they have in a saved folder.
func Read(h *Header, files []File) (*Capture, error) {
	r := reader{parts: map[kind][]part{}, budget: budget{maxBuilt}, header: h}
	for _, f := range files {
		r.add(f.Name, &Trace{f.Name, int64(len(f.Data)), func() (io.ReadCloser, error) {
			return unpacked(io.NopCloser(bytes.NewReader(f.Data)), nil)
		}})
	}
	c, err := r.capture("the service")
	if err == nil {
		c.Live = true
	}
	return c, err
}

var number = regexp.MustCompile("[0-9]+")

// padded pads the numbers in a name, so that 9 is before 10.
func padded(name string) string {
	return number.ReplaceAllStringFunc(name, func(n string) string { return fmt.Sprintf("%20s", n) })
}

// unpacked returns the content of an opened file, which may be in the form of gzip, and
// once more so: a profile is.
func unpacked(f io.ReadCloser, err error) (io.ReadCloser, error) {
	if err != nil {
		return nil, err
	}
	r := bufio.NewReader(f)
	for range 2 {
		if magic, _ := r.Peek(2); string(magic) != "\x1f\x8b" {
			break
		}
		z, err := gzip.NewReader(r)
		if err != nil {
			f.Close()
			return nil, err
		}
		r = bufio.NewReader(z)
	}
	return struct {
		io.Reader
		io.Closer
	}{r, f}, nil
}

// A reader reads files.
type reader struct {
	header *Header
	parts  map[kind][]part
	failed []*FileError
	budget budget
	folder bool // a folder was named: its files were not
}

// file adds a file, under the given name if it fails.
func (r *reader) file(path, name string) {
	info, err := os.Stat(path)
	if err == nil && !info.Mode().IsRegular() {
		err = errors.New("not a regular file")
	}
	if err != nil {
		r.failed = append(r.failed, &FileError{name, err})
		return
	}
	r.add(name, &Trace{path, info.Size(), func() (io.ReadCloser, error) { return unpacked(os.Open(path)) }})
}

// add reads one file, which may be a trace. It may take half of what is left of the
// budget: one file must not leave nothing to the others.
func (r *reader) add(name string, file *Trace) {
	share := budget{r.budget.left / 2}
	parts, err := r.read(file, &share)
	if errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF) {
		err = errTruncated
	}
	if err != nil {
		r.failed = append(r.failed, &FileError{name, err})
		return
	}
	r.budget.left -= r.budget.left/2 - max(0, share.left)
	for _, p := range parts {
		p.name = file.Name
		r.parts[p.kind] = append(r.parts[p.kind], p)
	}
}

// read reads a file by its type.
func (r *reader) read(file *Trace, b *budget) ([]part, error) {
	f, err := file.Open()
	if err != nil {
		return nil, err
	}
	defer f.Close()
	content := bufio.NewReader(f)
	head, err := content.Peek(content.Size())
	start := bytes.ToLower(bytes.TrimLeft(head, "\xef\xbb\xbf \t\r\n"))
	refused, text := errForeign, io.Reader(content)
	switch {
	case len(head) == 0 && errors.Is(err, io.EOF):
		return nil, errEmpty
	case bytes.HasPrefix(head, []byte("go 1.")) && bytes.Contains(head[:min(len(head), 16)], []byte(" trace\x00")):
		return []part{{kind: kindTrace, trace: file}}, nil
	case notText(head):
		data, err := readAll(content, maxPacked)
		if err != nil {
			return nil, err
		}
		p, err := decode(data, b)
		if !errors.Is(err, errNoProfile) {
			return []part{p}, err
		}
		text = bytes.NewReader(data)
	case bytes.HasPrefix(start, []byte("{")):
		data, err := readAll(content, maxJSON)
		var parts []part
		if err == nil {
			parts, err = r.json(data, b)
		}
		if err == nil {
			return parts, nil
		}
		refused, text = err, io.MultiReader(bytes.NewReader(data), content) // it may be a log with a value on each line
	case bytes.HasPrefix(start, []byte("<!doctype html")), bytes.HasPrefix(start, []byte("<html")):
		refused = errPage
	}
	found := newTexts(b)
	err = found.read(text)
	if len(found.parts) > 0 {
		return found.parts, nil
	}
	return nil, cmp.Or(err, found.other, refused)
}

// readAll returns the content of at most limit bytes, or the beginning of a larger one.
func readAll(r io.Reader, limit int64) ([]byte, error) {
	data, err := io.ReadAll(io.LimitReader(r, limit+1))
	if int64(len(data)) > limit {
		err = fmt.Errorf("larger than %d MB when unpacked", limit>>20)
	}
	return data, err
}

// notText reports whether head has characters that no text has, and is not in UTF-16,
// which begins with its mark.
func notText(head []byte) bool {
	utf16 := bytes.HasPrefix(head, []byte("\xff\xfe")) || bytes.HasPrefix(head, []byte("\xfe\xff"))
	return !utf16 && bytes.ContainsFunc(head, func(c rune) bool { return c < ' ' && !strings.ContainsRune("\t\n\r\f\x1b", c) })
}

// json reads the header of a saved capture, or a map of named channels.
func (r *reader) json(text []byte, b *budget) ([]part, error) {
	// A value between commas needs less than 100 bytes, and a struct of a map 600.
	objects := bytes.Count(text, []byte("{")) + bytes.Count(text, []byte("["))
	if b.take(bytes.Count(text, []byte(","))+6*objects, 100); b.left < 0 {
		return nil, errCost
	}
	text = bytes.TrimPrefix(text, []byte("\xef\xbb\xbf"))
	var page struct {
		Header
		Stages, Channels, Edges json.RawMessage
	}
	err := json.Unmarshal(text, &page)
	switch h := &page.Header; {
	case err == nil && h.Format == HeaderFormat:
		if m := h.Machine; m != nil && !(m.CPUs > 0 && m.CPUs <= maxCores && m.Busy >= 0 && m.Busy <= float64(m.CPUs)) {
			return nil, fmt.Errorf("implausible use of %v cores of %d CPUs", m.Busy, m.CPUs)
		}
		r.header = h
		return nil, nil
	case err == nil && h.Format != "":
		return nil, fmt.Errorf("unsupported format %.40q (want %q)", h.Format, HeaderFormat)
	case err != nil || page.Stages == nil || page.Channels == nil || page.Edges == nil:
		return nil, errForeign
	}
	flow := &livepage.Flow{}
	if err := json.Unmarshal(text, flow); err != nil {
		return nil, fmt.Errorf("invalid map of channels: %w", err)
	}
	return []part{{kind: kindFlow, at: flow.Time, flow: flow}}, nil
}
