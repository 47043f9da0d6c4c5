package profile

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"unicode"

	pprof "github.com/google/pprof/profile"
)

// A FileError is a file that cannot be used, and why.
type FileError struct {
	Name string
	Err  error
}

// Error is one line, whatever names a file has in it.
func (e *FileError) Error() string {
	return strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return '?'
		}
		return r
	}, e.Name+": "+e.Err.Error())
}

func (e *FileError) Unwrap() error { return e.Err }

// errForeign is of files that are not for us: an error if the file was named,
// and none if it lies in a folder that was.
var errForeign = errors.New("is nothing that a Go service shows of itself: expected a pprof profile, a goroutine text (debug=2), an execution trace, or metrics")

// Open reads saved files, and the files in saved folders, as one capture. What a
// file is, its content says; only these things are taken from names:
//
//   - a profile of waits that is empty is a mutex profile if "mutex" is in its
//     name, a block profile if "block" is;
//   - of two files of the same kind, the one whose name without extension ends
//     with "-before" is the earlier one, if the files themselves do not say when
//     they were taken.
//
// The error is a *FileError unless it is of the file system.
func Open(paths ...string) (*Capture, error) {
	var parts parts
	for _, path := range paths {
		if err := parts.open(path); err != nil {
			return nil, err
		}
	}
	c, err := parts.capture()
	if errors.Is(err, errNothing) { // the header of a saved capture alone
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
		return &FileError{path, errors.New("is no regular file")}
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

// sniffed is how much of a file is looked at to tell what it is.
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
	case bytes.HasPrefix(head, []byte("go 1.")) && bytes.Contains(head[:min(len(head), 16)], []byte(" trace\x00")):
		t, procs, err := readTrace(in)
		return p.put(part{name: name, kind: KindTrace, trace: t, procs: procs}, err)
	case bytes.HasPrefix(head, []byte("\x1f\x8b")):
		return p.readPacked(name, in)
	case head[0] == '{':
		return p.readJSON(name, in)
	case bytes.HasPrefix(head, []byte("# HELP ")), bytes.HasPrefix(head, []byte("# TYPE ")), bytes.HasPrefix(head, []byte("go_")):
		reading, err := readReading(in)
		return p.put(part{name: name, kind: KindMetrics, reading: reading}, err)
	case countMessages(head) == nil || len(head) == sniffed && errors.Is(countMessages(head), errTruncated):
		return p.readPacked(name, in)
	}
	return errForeign
}

// readPacked reads a profile in the pprof format.
func (p *parts) readPacked(name string, r io.Reader) error {
	data, err := io.ReadAll(io.LimitReader(r, maxProfile+1))
	if err != nil {
		return err
	}
	if len(data) > maxProfile {
		return fmt.Errorf("is larger than %d MB", maxProfile>>20)
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

// profile files a profile by its kind.
func (p *parts) profile(name string, parsed *pprof.Profile) error {
	kind, err := kindOf(parsed)
	if err != nil {
		return err
	}
	if kind == "" {
		if kind = kindByName(name); kind == "" {
			return errors.New("is a mutex or a block profile, but an empty one: name it mutex or block")
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
		if header.Format != headerFormat {
			return fmt.Errorf("is of the format %.40q, and this program knows %q", header.Format, headerFormat)
		}
		if !(header.GOMAXPROCS >= 0 && header.GOMAXPROCS <= maxCores && header.CPUs >= 0 && header.CPUs <= maxCores) {
			return fmt.Errorf("says that GOMAXPROCS is %d on %d CPUs, which cannot be", header.GOMAXPROCS, header.CPUs)
		}
		p.header = &header
		return nil
	}
	reading, err := readReading(bytes.NewReader(text))
	if errors.Is(err, errNoMetrics) {
		return errForeign
	}
	return p.put(part{name: name, kind: KindMetrics, reading: reading}, err)
}
