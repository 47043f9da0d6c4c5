package profile

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"unicode"

	pprof "github.com/google/pprof/profile"
)

// A FileError reports a file that cannot be read.
type FileError struct {
	Name string
	Err  error
}

// Error returns one line, whatever the name of the file contains.
func (e *FileError) Error() string {
	return strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return '?'
		}
		return r
	}, e.Name+": "+e.Err.Error())
}

func (e *FileError) Unwrap() error { return e.Err }

// errForeign reports a file of another type: an error for a named file, ignored
// in a folder.
var errForeign = errors.New("unknown file type (want a pprof profile, a goroutine text with debug=2, an execution trace, or " +
	"metrics): 'sluice doctor -save DIR HOST:PORT' saves those of a service")

// errPage reports a saved web page, such as the index of net/http/pprof.
var errPage = errors.New("a web page, not a profile: fetch the profile itself, such as /debug/pprof/profile?seconds=5")

// webPage reports whether head begins a web page.
func webPage(head []byte) bool {
	return strings.HasPrefix(http.DetectContentType(head), "text/html")
}

// Open reads saved files, and the files in saved folders, as one capture. It
// detects the type of a file by its content, and uses names only for three
// purposes:
//
//   - a trace is a glimpse if its name, without extension, is "glimpse";
//   - an empty contention profile is a mutex profile if its name contains
//     "mutex", and a block profile if it contains "block";
//   - of two files of the same kind without timestamps, the one whose name,
//     without extension, ends with "-before" is the earlier one.
//
// The error is a *FileError or an error of the file system.
func Open(paths ...string) (*Capture, error) {
	var parts parts
	for _, path := range paths {
		if err := parts.open(path); err != nil {
			return nil, err
		}
	}
	c, err := parts.capture()
	if errors.Is(err, errNothing) { // only the header of a saved capture
		return nil, &FileError{strings.Join(paths, " "), err}
	}
	if err != nil {
		return nil, err
	}
	if c.Target == "" {
		c.Target = strings.Join(paths, " ")
	}
	return c, nil
}

func (p *parts) open(path string) error {
	info, err := os.Stat(path)
	if err != nil {
		return err
	}
	if !info.IsDir() {
		return p.openFile(path, info)
	}
	entries, err := os.ReadDir(path)
	if err != nil {
		return err
	}
	found := len(p.files)
	for _, entry := range entries {
		if !entry.Type().IsRegular() || strings.HasPrefix(entry.Name(), ".") {
			continue
		}
		info, err := entry.Info()
		if err != nil {
			return err
		}
		if err := p.openFile(filepath.Join(path, entry.Name()), info); err != nil && !errors.Is(err, errForeign) {
			return err
		}
	}
	if found == len(p.files) {
		return &FileError{path, errNothing}
	}
	return nil
}

func (p *parts) openFile(path string, info os.FileInfo) error {
	if !info.Mode().IsRegular() {
		return &FileError{path, errors.New("not a regular file")}
	}
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	if err := p.read(path, f); err != nil {
		return &FileError{path, err}
	}
	return nil
}

// sniffed is the number of bytes used to detect the type of a file.
const sniffed = 4096

// read reads one file.
func (p *parts) read(name string, r io.Reader) error {
	in := bufio.NewReaderSize(r, sniffed)
	head, err := in.Peek(sniffed)
	if err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	if len(head) == 0 {
		return errEmpty
	}
	text, err := looksLikeText(head)
	switch {
	case err != nil:
		return err
	case text:
		g, err := readGoroutineText(in)
		return p.put(part{name: name, kind: KindGoroutineText, goroutines: g}, err)
	case traceHead(head):
		t, procs, err := readTrace(in, p.due)
		return p.put(part{name: name, kind: kindOfTrace(name), trace: t, procs: procs}, err)
	case bytes.HasPrefix(head, []byte(packedMagic)):
		return p.readCompressed(name, in)
	case head[0] == '{':
		return p.readJSON(name, in)
	case webPage(head):
		return errPage
	case bytes.HasPrefix(head, []byte("# HELP ")), bytes.HasPrefix(head, []byte("# TYPE ")), bytes.HasPrefix(head, []byte("go_")):
		reading, err := readReading(in)
		return p.put(part{name: name, kind: KindMetrics, reading: reading}, err)
	case countMessages(head) == nil || len(head) == sniffed && errors.Is(countMessages(head), errTruncated):
		return p.readPacked(name, in)
	}
	return errForeign
}

// packedMagic begins a gzip file.
const packedMagic = "\x1f\x8b"

// readCompressed reads a gzip file: a profile in pprof format, which is always
// compressed, or any other file that was compressed afterwards.
func (p *parts) readCompressed(name string, in *bufio.Reader) error {
	packed, err := in.Peek(sniffed)
	if err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	if z, err := gzip.NewReader(bytes.NewReader(packed)); err == nil {
		head := make([]byte, sniffed/4)
		n, _ := io.ReadFull(z, head) // fewer bytes are enough
		if text, err := looksLikeText(head[:n]); text || err != nil || traceHead(head[:n]) || n > 0 && head[0] == '{' {
			return p.readUnpacked(name, in)
		}
	}
	return p.readPacked(name, in)
}

// readUnpacked reads a compressed file that is not a profile in pprof format.
func (p *parts) readUnpacked(name string, in io.Reader) error {
	z, err := gzip.NewReader(in)
	if err != nil {
		return unpacking(err)
	}
	return p.read(strings.TrimSuffix(name, ".gz"), z)
}

// traceHead reports whether head begins an execution trace.
func traceHead(head []byte) bool {
	return bytes.HasPrefix(head, []byte("go 1.")) && bytes.Contains(head[:min(len(head), 16)], []byte(" trace\x00"))
}

// readPacked reads a profile in pprof format.
func (p *parts) readPacked(name string, r io.Reader) error {
	data, err := io.ReadAll(io.LimitReader(r, maxProfile+1))
	if err != nil {
		return err
	}
	if len(data) > maxProfile {
		return fmt.Errorf("larger than %d MB", maxProfile>>20)
	}
	raw, err := unpack(data)
	if err != nil {
		return err
	}
	parsed, err := parseProfile(raw)
	if err != nil {
		return err
	}
	return p.profile(name, parsed)
}

// profile adds a profile as its kind.
func (p *parts) profile(name string, parsed *pprof.Profile) error {
	kind, err := kindOf(parsed)
	if err != nil {
		return err
	}
	if kind == "" {
		if kind = kindByName(name); kind == "" {
			return errors.New("an empty mutex or block profile of unknown kind: name it mutex or block")
		}
	}
	file := part{name: name, kind: kind, at: timeOf(parsed)}
	switch kind {
	case KindCPU:
		file.cpu, err = readCPU(parsed)
	case KindMutex, KindBlock:
		file.contentions, err = readContentions(parsed)
	case KindGoroutine, KindLeak:
		file.goroutines, err = readGoroutines(parsed)
	}
	return p.put(file, err)
}

func kindByName(name string) Kind {
	base := strings.ToLower(filepath.Base(name))
	for _, kind := range []Kind{KindMutex, KindBlock} {
		if strings.Contains(base, string(kind)) {
			return kind
		}
	}
	return ""
}

// readJSON reads metrics, or the header of a saved capture.
func (p *parts) readJSON(name string, r io.Reader) error {
	text, err := io.ReadAll(io.LimitReader(r, maxMetrics+1))
	if err != nil {
		return err
	}
	var header Header
	if json.Unmarshal(text, &header) == nil && header.Format != "" {
		if kind := kindOfFigures(header.Format); kind != "" {
			t, procs, err := readFigures(text)
			return p.put(part{name: name, kind: kind, trace: t, procs: procs}, err)
		}
		if header.Format != headerFormat {
			return fmt.Errorf("unsupported format %.40q (want %q)", header.Format, headerFormat)
		}
		if !(header.GOMAXPROCS >= 0 && header.GOMAXPROCS <= maxCores && header.CPUs >= 0 && header.CPUs <= maxCores) {
			return fmt.Errorf("implausible GOMAXPROCS %d on %d CPUs", header.GOMAXPROCS, header.CPUs)
		}
		if m := header.Machine; m != nil && !(m.CPUs > 0 && m.CPUs <= maxCores && m.Busy >= 0 && m.Busy <= float64(m.CPUs)) {
			return fmt.Errorf("implausible use of %v cores of %d CPUs", m.Busy, m.CPUs)
		}
		p.header = &header
		return nil
	}
	if flow, ok := readFlow(text); ok {
		return p.put(part{name: name, kind: KindFlow, at: flow.Time, flow: flow}, nil)
	}
	reading, err := readReading(bytes.NewReader(text))
	if errors.Is(err, errNoMetrics) {
		return errForeign
	}
	return p.put(part{name: name, kind: KindMetrics, reading: reading}, err)
}
