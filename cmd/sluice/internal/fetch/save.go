package fetch

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/sluice-go/sluice/cmd/sluice/internal/capture"
)

// Vacant returns an error unless dir is an empty folder or does not exist.
func Vacant(dir string) error {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err == nil && len(entries) > 0 {
		err = &capture.FileError{Name: dir, Err: errors.New("the folder is not empty: name a new one")}
	}
	return err
}

// Save writes what Watch has read, as the service sent it, to dir, which must be empty or
// not exist. capture.Open(dir) returns the same capture. If Save fails, no file remains.
func (s *Service) Save(dir string) error {
	if err := Vacant(dir); err != nil {
		return err
	}
	if len(s.files) == 0 {
		return &capture.FileError{Name: dir, Err: errors.New("nothing was read that could be saved")}
	}
	header, err := json.MarshalIndent(s.header(), "", "  ")
	if err != nil {
		return err
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	for _, file := range append([]capture.File{{Name: capture.HeaderFile, Data: append(header, '\n')}}, s.files...) {
		path := filepath.Join(dir, file.Name)
		defer func() {
			if err != nil {
				_ = os.Remove(path) // it was not there before
			}
		}()
		if err = os.WriteFile(path, file.Data, 0o644); err != nil {
			return err
		}
	}
	return nil
}
