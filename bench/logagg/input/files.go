package input

import (
	"context"
	"errors"
	"io"
	"os"
)

// File returns the source that reads one file. It fails now if the file does
// not exist. Anything that can block, such as a named pipe, is opened and read
// like a Stream.
func File(path string) (Source, error) {
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return nil, err
	case info.IsDir():
		return nil, &os.PathError{Op: "read", Path: path, Err: errors.New("is a directory")}
	case !info.Mode().IsRegular():
		return Stream(path, &lazy{path: path}), nil
	}
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	return func(ctx context.Context, in *Intake) error {
		defer file.Close()
		return Text(path, file)(ctx, in)
	}, nil
}

// lazy is a file that is opened by the first read, because opening a named pipe
// waits for its writer. It is closed at its end.
type lazy struct {
	path string
	file *os.File
}

func (l *lazy) Read(p []byte) (n int, err error) {
	if l.file == nil {
		if l.file, err = os.Open(l.path); err != nil {
			return 0, err
		}
	}
	if n, err = l.file.Read(p); err != nil {
		l.file.Close()
	}
	return n, err
}

// Text returns the source that reads a text which never blocks for long, like a
// file.
func Text(name string, r io.Reader) Source {
	return func(ctx context.Context, in *Intake) error {
		s := &stream{in: in, name: name, r: r, text: true, before: func(bool) error { return ctx.Err() }}
		return ended(ctx, s.read(ctx))
	}
}

// Stream returns the source that reads a stream which cannot be interrupted,
// such as the standard input. When ctx is done, the reading goroutine is
// abandoned: its read may never return.
func Stream(name string, r io.Reader) Source {
	return func(ctx context.Context, in *Intake) error {
		out, into := io.Pipe()
		go func() {
			_, err := io.Copy(into, r)
			into.CloseWithError(err) // nil is io.EOF
		}()
		defer context.AfterFunc(ctx, func() { into.CloseWithError(ctx.Err()) })()
		defer out.Close()
		return Text(name, out)(ctx, in)
	}
}

// ended turns the error of a source that was told to end into nil.
func ended(ctx context.Context, err error) error {
	if ctx.Err() != nil && errors.Is(err, ctx.Err()) {
		return nil
	}
	return err
}
