package input

import (
	"context"
	"errors"
	"io"
	"os"
)

// File returns the source that reads one file. It fails now if the file does
// not exist.
func File(path string) (Source, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, &os.PathError{Op: "read", Path: path, Err: errors.New("is not a regular file; name - for the standard input")}
	}
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	return func(ctx context.Context, in *Intake) error {
		defer file.Close()
		return Text(file)(ctx, in)
	}, nil
}

// Text returns the source that reads a text which never blocks for long, like a
// file.
func Text(r io.Reader) Source {
	return func(ctx context.Context, in *Intake) error {
		s := &stream{in: in, r: r, text: true, before: ctx.Err}
		return ended(ctx, s.read(ctx))
	}
}

// Stream returns the source that reads a stream which cannot be interrupted,
// such as the standard input. When ctx is done, the reading goroutine is
// abandoned: its read may never return.
func Stream(r io.Reader) Source {
	return func(ctx context.Context, in *Intake) error {
		out, into := io.Pipe()
		go func() {
			_, err := io.Copy(into, r)
			into.CloseWithError(err) // nil is io.EOF
		}()
		defer context.AfterFunc(ctx, func() { into.CloseWithError(ctx.Err()) })()
		defer out.Close()
		return Text(out)(ctx, in)
	}
}

// ended turns the error of a source that was told to end into nil.
func ended(ctx context.Context, err error) error {
	if ctx.Err() != nil && errors.Is(err, ctx.Err()) {
		return nil
	}
	return err
}
