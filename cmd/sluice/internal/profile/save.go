package profile

import (
	"bytes"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"
)

// Header is the content of capture.json, in addition to the profiles. Zero
// values are unknown.
type Header struct {
	Format     string    `json:"format"`
	Target     string    `json:"target"` // without user and password
	Start      time.Time `json:"start,omitzero"`
	GoVersion  string    `json:"go,omitempty"`
	GOMAXPROCS int       `json:"gomaxprocs,omitempty"`
	CPUs       int       `json:"cpus,omitempty"`
	Machine    *Machine  `json:"machine,omitempty"`
	Missing    []Missing `json:"missing,omitempty"`
}

// missed reports whether the header says why a kind is missing.
func (h *Header) missed(kind Kind) bool {
	return h != nil && slices.ContainsFunc(h.Missing, func(m Missing) bool { return m.Kind == kind })
}

const headerFormat = "sluice capture 1"

// headerFile is the name of the file with the Header.
const headerFile = "capture.json"

// A File is a file as the service sent it.
type File struct {
	Name string
	Data []byte
}

// take parses and keeps the content of a page.
func (s *Service) take(file string, data []byte) error {
	if err := s.parts.read(file, bytes.NewReader(data)); err != nil {
		return err
	}
	s.files = append(s.files, File{file, data})
	return nil
}

// Vacant returns an error unless dir is an empty folder or does not exist.
func Vacant(dir string) error {
	if filepath.Clean(dir) == "." { // the folder is replaced, and this is the working directory
		return &FileError{dir, errors.New("the current folder cannot be replaced: name a new one")}
	}
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	if len(entries) > 0 {
		return &FileError{dir, errors.New("the folder is not empty: name a new one")}
	}
	return nil
}

// Save writes the files of the capture to dir, which must be empty or not
// exist. Open(dir) returns the same capture. If Save fails, dir is as it was
// before.
func (s *Service) Save(dir string) error {
	if err := Vacant(dir); err != nil {
		return err
	}
	header, err := json.MarshalIndent(s.header(), "", "  ")
	if err != nil {
		return err
	}
	dir = filepath.Clean(dir)
	parent := filepath.Dir(dir)
	if err := os.MkdirAll(parent, 0o755); err != nil {
		return err
	}
	staging, err := os.MkdirTemp(parent, ".saving-")
	if err != nil {
		return err
	}
	err = writeAll(staging, append([]File{{headerFile, append(header, '\n')}}, s.files...))
	if err == nil {
		err = os.Chmod(staging, 0o755)
	}
	if err == nil {
		err = moveInto(staging, dir)
	}
	if err != nil {
		return errors.Join(err, os.RemoveAll(staging))
	}
	return nil
}

func writeAll(dir string, files []File) error {
	for _, file := range files {
		if err := write(filepath.Join(dir, file.Name), file.Data); err != nil {
			return err
		}
	}
	return nil
}

// moveInto renames a folder. It removes an empty folder of the new name first,
// because not every system replaces it; a folder that is no longer empty
// remains.
func moveInto(from, to string) error {
	if err := os.Remove(to); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return os.Rename(from, to)
}

// write creates a file, which must not exist.
func write(path string, data []byte) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, fs.FileMode(0o644))
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	return errors.Join(err, f.Close())
}
