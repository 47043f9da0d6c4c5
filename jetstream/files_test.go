//go:build unix

package jetstream

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// messagesOf returns the folder of the messages of the channel.
func messagesOf(c *Channel[string]) string { return c.core.stream.files.messages }

// removals are the ways in which the files of a channel are removed or replaced.
var removals = map[string]func(dir, messages string) error{
	"the directory": func(dir, _ string) error { return os.RemoveAll(dir) },
	"the directory, and another is in its place": func(dir, messages string) error {
		return errors.Join(os.RemoveAll(dir), os.MkdirAll(messages, 0o700))
	},
	"the directory, and a copy is in its place": func(dir, _ string) error {
		return errors.Join(os.Rename(dir, dir+".old"), os.CopyFS(dir, os.DirFS(dir+".old")))
	},
	"the messages":     func(_, messages string) error { return os.RemoveAll(messages) },
	"the newest block": func(_, messages string) error { return os.Remove(filepath.Join(messages, "1.blk")) },
	"the lock":         func(dir, _ string) error { return os.Remove(filepath.Join(dir, lockName)) },
	"the lock, and another is in its place": func(dir, _ string) error {
		name := filepath.Join(dir, lockName)
		return errors.Join(os.Remove(name), os.WriteFile(name, nil, 0o600))
	},
	"the settings": func(_, messages string) error {
		return os.Remove(filepath.Join(filepath.Dir(messages), settingsFile))
	},
}

// A send to an embedded server whose files are gone is an error that names them, as is Close;
// Stats and the log have a warning, and receivers of this process get what is queued.
func TestFilesRemoved(t *testing.T) {
	t.Parallel()
	for name, remove := range removals {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := filepath.Join(t.TempDir(), "of-its-own")
			var j journal
			c := open(t, Options[string]{Name: "jobs", Dir: dir, Log: j.log()})
			mustSend(t, c, "a", "b")
			if w := c.Stats().Disk.Warning; w != "" {
				t.Errorf("Stats.Disk.Warning before: %q", w)
			}
			if err := remove(dir, messagesOf(c)); err != nil {
				t.Fatal(err)
			}
			_, batchErr := c.SendBatch(patient(t), []string{"d", "e"})
			named := messagesOf(c)
			if strings.HasPrefix(name, "the lock") {
				if named = filepath.Join(dir, lockName); c.Len() != 2 {
					t.Errorf("%d values are stored in files that another process may use", c.Len())
				}
			}
			text := strings.TrimPrefix(ErrRemoved.Error(), "jetstream: ")
			if !strings.Contains(j.String(), text) {
				t.Errorf("the log: %q", j.String())
			}
			for _, err := range []error{c.Send(patient(t), "c"), c.TrySend("c"), batchErr} {
				if !errors.Is(err, ErrRemoved) || errors.Is(err, ErrUnknown) || !strings.Contains(err.Error(), named) {
					t.Errorf("%v, want %v and %s", err, ErrRemoved, named)
				}
			}
			if s := c.Stats(); s.Sent != 2 || !strings.Contains(s.Disk.Warning, text) {
				t.Errorf("Stats: %d sent, the warning %q", s.Sent, s.Disk.Warning)
			}
			mustRecv(t, c, "a")
			err := c.CloseContext(patient(t))
			if rewritten := name == "the settings"; errors.Is(err, ErrRemoved) == rewritten {
				t.Errorf("CloseContext: %v", err)
			}
		})
	}
}

// The directory that is made if Options.Dir is empty is checked, too.
func TestTempDirRemoved(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	c := open(t, Options[string]{Log: mute()})
	mustSend(t, c, "a")
	if err := os.RemoveAll(os.Getenv("TMPDIR")); err != nil {
		t.Fatal(err)
	}
	if err := c.Send(patient(t), "b"); !errors.Is(err, ErrRemoved) {
		t.Errorf("Send: %v", err)
	}
}

// Open in a directory that was removed while this process uses it fails: another process may
// have started a server there.
func TestOpenRemoved(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "of-its-own")
	o := Options[string]{Name: "jobs", Dir: dir, Log: mute()}
	first := open(t, o)
	for _, replaced := range []bool{false, true} {
		if err := os.RemoveAll(dir); err != nil {
			t.Fatal(err)
		}
		if replaced {
			if err := errors.Join(os.Mkdir(dir, 0o700), os.WriteFile(filepath.Join(dir, lockName), nil, 0o600)); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := Open(t.Context(), &o); !errors.Is(err, ErrRemoved) || !strings.Contains(err.Error(), dir) {
			t.Errorf("replaced %v: Open: %v", replaced, err)
		}
	}
	leave(t, first)
	mustSend(t, open(t, o), "a") // in a new directory
}

// A value whose outcome was unknown, and that is stored in files that are gone, is neither.
func TestRetryRemoved(t *testing.T) {
	t.Parallel()
	c := open(t, Options[string]{Dir: filepath.Join(t.TempDir(), "of-its-own"), Log: mute()})
	pub := c.core.publisher.single([]byte("a"))
	answered := pub.store
	attempts := 0
	pub.store = func(ctx context.Context) error {
		if attempts++; attempts == 1 {
			return context.DeadlineExceeded
		}
		return errors.Join(answered(ctx), os.RemoveAll(c.core.conn.server.dir))
	}
	if err := c.core.publisher.send(patient(t), pub, waitRoom); !errors.Is(err, ErrRemoved) || errors.Is(err, ErrUnknown) || attempts != 2 {
		t.Errorf("after %d attempts: %v", attempts, err)
	}
}

// Blocks come and go as values do, which is no removal.
func TestBlocksMove(t *testing.T) {
	t.Parallel()
	c := open(t, Options[string]{MaxBytes: 1 << 20})
	value := strings.Repeat("a", 50_000)
	for range 60 {
		mustSend(t, c, value)
		mustRecv(t, c, value)
	}
	if w := c.Stats().Disk.Warning; w != "" {
		t.Errorf("Stats.Disk.Warning: %q", w)
	}
	if n := c.core.stream.files.newest.Load(); n < 2 || c.core.stream.files.hasBlock(1) {
		t.Errorf("the newest block is %d, and the first one is still there", n)
	}
}

// The newest block is found wherever it is, and missed once it is gone.
func TestNewestBlock(t *testing.T) {
	t.Parallel()
	f := files{messages: t.TempDir()}
	at := func(n string) string { return filepath.Join(f.messages, n+".blk") }
	for _, step := range []struct {
		made, removed string
		want          uint64
		gone          bool
	}{
		{want: 0}, // before the first message
		{made: "1", want: 1},
		{made: "2", want: 2},
		{made: "3", removed: "1", want: 3},
		{made: "9", removed: "3", want: 9},
		{made: "x", removed: "2", want: 9},
		{removed: "9", want: 9, gone: true},
		{made: "8", want: 9, gone: true},
		{made: "10", want: 10},
	} {
		if step.made != "" {
			if err := os.WriteFile(at(step.made), nil, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		if step.removed != "" {
			if err := os.Remove(at(step.removed)); err != nil {
				t.Fatal(err)
			}
		}
		err := f.checkNewest()
		if got := f.newest.Load(); got != step.want || os.IsNotExist(err) != step.gone {
			t.Errorf("%+v: %d, %v", step, got, err)
		}
	}
}
