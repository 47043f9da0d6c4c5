package profile

import (
	"os"
	"testing"
	"time"

	exp "golang.org/x/exp/trace"
)

// TestBlockedCall: a system call for a file that takes long is a wait, even while the
// scheduler counts its goroutine as running; one for a connection has lost its core.
func TestBlockedCall(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		stack []string // the innermost first
		took  time.Duration
		waits bool
	}{
		"a sync":                 {[]string{"syscall.Syscall", "syscall.Fsync", "internal/poll.(*FD).Fsync", "os.(*File).Sync", "main.keep"}, time.Millisecond, true},
		"a sync of x/sys":        {[]string{"syscall.Syscall", "golang.org/x/sys/unix.Fdatasync", "main.keep"}, time.Millisecond, true},
		"a write to memory":      {[]string{"syscall.Syscall", "syscall.write", "internal/poll.(*FD).Write", "os.(*File).Write", "main.keep"}, 10 * time.Microsecond, false},
		"a write to a socket":    {[]string{"syscall.Syscall", "syscall.write", "internal/poll.(*FD).Write", "net.(*netFD).Write", "net.(*conn).Write", "main.keep"}, time.Millisecond, false},
		"a wait for connections": {[]string{"syscall.accept4", "internal/poll.(*FD).Accept", "net.(*TCPListener).Accept", "main.keep"}, time.Millisecond, false},
		"C code":                 {[]string{"runtime.cgocall", "main._Cfunc_work", "main.keep"}, time.Millisecond, false},
	} {
		var frames stack
		for _, function := range test.stack {
			frames = append(frames, Frame{Function: function, File: "f.go", Line: 1})
		}
		p := place(frames)
		g := traced{state: exp.GoSyscall, waits: p.ofFile(frames)}
		g.spend(exp.Time(test.took))
		if waits := g.waiting > 0; waits != test.waits || g.waiting+g.running != test.took {
			t.Errorf("%s: waited %v, ran %v of %v", name, g.waiting, g.running, test.took)
		}
	}
}

// TestSyncsInTrace: a trace of 10 ms of an archive that syncs a file after 8 values,
// and of the goroutines that wait for it.
func TestSyncsInTrace(t *testing.T) {
	t.Parallel()
	b, err := os.Open("testdata/syncs.trace")
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	tr, _, err := readTrace(b, time.Time{})
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range tr.Sites {
		if s.Op == IO && s.At.Function == "main.keep" {
			if part := s.Waited.Seconds() / tr.Window.Seconds(); part < 0.7 || part > 1 || s.Parks != 0 || !s.Sync {
				t.Errorf("in a sync for %.2f of the time: %+v", part, s)
			}
			if tr.Running > tr.Window/2 {
				t.Errorf("%v of goroutines ran in %v", tr.Running, tr.Window)
			}
			return
		}
	}
	t.Errorf("no wait for a sync: %+v", tr.Sites)
}
