package main

import (
	"context"
	"crypto/sha256"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/sluice-go/sluice"
)

// walk sends the path of each file below the roots, and returns how many it sent.
func walk(stop context.Context, jobs sluice.Sender[string], roots []string) (sent int64, err error) {
	for _, root := range roots {
		err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
			switch {
			case err != nil:
				return err
			case stop.Err() != nil:
				return filepath.SkipAll // Send succeeds while there is room
			case !entry.Type().IsRegular():
				return nil
			}
			if jobs.Send(stop, path) != nil {
				return filepath.SkipAll // interrupted, or the pool ended: Run has the reason
			}
			sent++
			return nil
		})
		if err != nil {
			return sent, err
		}
	}
	return sent, nil
}

func hash(path string) ([]byte, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	h := sha256.New()
	_, err = io.Copy(h, file)
	return h.Sum(nil), err
}
