package compare

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// A file is an input. It is read as often as needed, and never held.
type file struct {
	path string
	info fs.FileInfo
}

func open(path string) (file, error) {
	info, err := os.Stat(path)
	if err != nil {
		return file{}, err
	}
	if info.IsDir() {
		dir := path
		path = filepath.Join(dir, resultsFile)
		if info, err = os.Stat(path); errors.Is(err, fs.ErrNotExist) {
			return file{}, fmt.Errorf("%s has no %s: not a directory of sluice lab", dir, resultsFile)
		} else if err != nil {
			return file{}, err
		}
	}
	if !info.Mode().IsRegular() {
		// A pipe can be read only once, and cannot be compared with the other
		// file.
		return file{}, fmt.Errorf("%s is not a regular file", path)
	}
	f := file{path, info}
	return f, f.read(func(text io.Reader) error {
		in := bufio.NewReader(text)
		for {
			switch b, err := in.ReadByte(); {
			case err == io.EOF:
				return fmt.Errorf("%s is empty", path)
			case err != nil:
				return err
			case len(bytes.TrimSpace([]byte{b})) > 0:
				return nil
			}
		}
	})
}

// read calls use with the text of the file, from its beginning.
func (f file) read(use func(text io.Reader) error) error {
	in, err := os.Open(f.path)
	if err != nil {
		return err
	}
	defer func() { _ = in.Close() }()
	return use(in)
}

// identical reports whether two files have the same text.
func identical(a, b file) (same bool, err error) {
	if a.info.Size() != b.info.Size() {
		return false, nil
	}
	err = a.read(func(as io.Reader) error {
		return b.read(func(bs io.Reader) error {
			same, err = equal(as, bs)
			return err
		})
	})
	return same, err
}

// equal reports whether two readers have the same text left.
func equal(a, b io.Reader) (bool, error) {
	const part = 64 << 10
	parts := [2][]byte{make([]byte, part), make([]byte, part)}
	for {
		n, errA := io.ReadFull(a, parts[0])
		m, errB := io.ReadFull(b, parts[1])
		for _, err := range []error{errA, errB} {
			if err != nil && err != io.EOF && err != io.ErrUnexpectedEOF {
				return false, err
			}
		}
		if !bytes.Equal(parts[0][:n], parts[1][:m]) {
			return false, nil
		}
		if errA != nil {
			return true, nil
		}
	}
}

// eachLine calls use with each line of text without its end. A line that is longer than
// the buffer of a bufio.Reader is left out. use must not keep the line.
func eachLine(text io.Reader, use func(line []byte) error) error {
	in := bufio.NewReader(text)
	for long := false; ; {
		line, err := in.ReadSlice('\n')
		switch {
		case err == bufio.ErrBufferFull:
			long = true
			continue
		case err != nil && err != io.EOF:
			return err
		case !long && len(line) > 0:
			if err := use(bytes.TrimRight(line, "\r\n")); err != nil {
				return err
			}
		}
		if long = false; err == io.EOF {
			return nil
		}
	}
}
