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
	header, err := json.MarshalIndent(s.header, "", "  ")
	if err != nil {
		return err
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	files := append(s.all(), capture.File{Name: capture.HeaderFile, Data: append(header, '\n')})
	for i, file := range files {
		if err := os.WriteFile(filepath.Join(dir, file.Name), file.Data, 0o644); err != nil {
			for _, file := range files[:i+1] {
				_ = os.Remove(filepath.Join(dir, file.Name)) // it was not there before
			}
			return err
		}
	}
	return nil
}
