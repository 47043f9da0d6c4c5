package profile

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"time"
)

// Header is what capture.json says beside the profiles. Zero values are not
// known.
type Header struct {
	Format     string    `json:"format"`
	Target     string    `json:"target"` // without user and password
	Start      time.Time `json:"start,omitzero"`
	GoVersion  string    `json:"go,omitempty"`
	GOMAXPROCS int       `json:"gomaxprocs,omitempty"`
	CPUs       int       `json:"cpus,omitempty"`
	Missing    []Missing `json:"missing,omitempty"`
}

const headerFormat = "sluice capture 1"

// headerFile is where the Header of a saved capture is.
const headerFile = "capture.json"

// A File is one thing as the service sent it.
type File struct {
	Name string
	Data []byte
}

// Vacant reports by an error that dir is neither an empty folder nor a name that
// is free.
func Vacant(dir string) error {
	if filepath.Clean(dir) == "." { // a folder is replaced as a whole, and this one is stood in
		return &FileError{dir, errors.New("is the folder that you are in: name a new one")}
	}
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	if len(entries) > 0 {
		return &FileError{dir, errors.New("is not empty, and nothing is overwritten: name a new folder")}
	}
	return nil
}

// Save writes what the capture was made of to dir, which must be empty or not
// exist, so that Open(dir) gives the same capture again. The folder is there with
// all of it, or as it was before.
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
	beside, err := os.MkdirTemp(parent, ".saving-")
	if err != nil {
		return err
	}
	err = writeAll(beside, append([]File{{headerFile, append(header, '\n')}}, s.files...))
	if err == nil {
		err = os.Chmod(beside, 0o755)
	}
	if err == nil {
		err = moveInto(beside, dir)
	}
	if err != nil {
		return errors.Join(err, os.RemoveAll(beside))
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

// moveInto gives the folder from the name to. An empty folder of that name is removed
// first, for not every system replaces one; one that is not empty any more stays.
func moveInto(from, to string) error {
	if err := os.Remove(to); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return os.Rename(from, to)
}

// write makes a file that was not there.
func write(path string, data []byte) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, fs.FileMode(0o644))
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	return errors.Join(err, f.Close())
}
