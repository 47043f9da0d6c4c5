package input

import (
	"context"
	"errors"
	"io"
	"os"
)

// File returns the source that is one file. It fails now if there is no such file.
func File(path string) (Source, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	info, err := file.Stat()
	if err == nil && info.IsDir() {
		err = &os.PathError{Op: "read", Path: path, Err: errors.New("is a directory")}
	}
	if err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return func(ctx context.Context, in *Intake) error {
		defer file.Close()
		return Text(path, file)(ctx, in)
	}, nil
}

// Text returns the source of a text that never waits for long, as that of a file.
func Text(name string, r io.Reader) Source {
	return func(ctx context.Context, in *Intake) error {
		s := &stream{in: in, name: name, r: r, text: true, before: func(bool) error { return ctx.Err() }}
		return ended(ctx, s.read(ctx))
	}
}

// Stream returns the source of a stream that cannot be interrupted, such as the standard
// input. When ctx is done it is left to itself: a read that it is in may never return.
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
