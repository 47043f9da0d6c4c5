package report

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// Fresh creates the directory of a new run, and holds it until release is called:
// dir itself or, if that has an earlier run, the first of dir-2, dir-3 … that does
// not exist. It never returns a directory with a run.
func Fresh(dir string) (path string, release func(), err error) {
	if err := Prepare(dir); err != nil {
		return "", nil, err
	}
	for n := 1; ; n++ {
		path = runDir(dir, n)
		if n > 1 {
			err := os.Mkdir(path, 0o777)
			switch _, read := Read(path); {
			case err == nil:
			case !errors.Is(err, fs.ErrExist):
				return "", nil, fmt.Errorf("cannot create the directory for the report: %w", err)
			case read != nil:
				continue // not a run of the lab
			}
		}
		release, err := Hold(path) // fails if another run is writing there
		if err != nil {
			return "", nil, err
		}
		if _, err := Read(path); errors.Is(err, fs.ErrNotExist) {
			return path, release, nil
		}
		release()
	}
}

// runDir returns the directory of the n-th run, from 1.
func runDir(dir string, n int) string {
	dir = filepath.Clean(dir)
	if n == 1 {
		return dir
	}
	return dir + "-" + strconv.Itoa(n)
}

// Newest returns the directory of the newest run that [Fresh] created for dir: the
// one with the largest number. Without any run it returns dir.
func Newest(dir string) string {
	dir = filepath.Clean(dir)
	newest := 1
	entries, err := os.ReadDir(filepath.Dir(dir))
	if err != nil {
		return dir
	}
	for _, entry := range entries {
		rest, ok := strings.CutPrefix(entry.Name(), filepath.Base(dir)+"-")
		if n, err := strconv.Atoi(rest); ok && err == nil && n > newest {
			if _, err := Read(runDir(dir, n)); err == nil {
				newest = n
			}
		}
	}
	return runDir(dir, newest)
}
