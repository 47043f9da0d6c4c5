package paced

import (
	"fmt"
	"os"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// polled is a timerfd, for which a goroutine waits in the runtime's network poller, as
// it would wait for a socket.
type polled struct {
	sender   *sender
	file     *os.File
	conn     syscall.RawConn
	fd       int
	over     func(uintptr) bool // isOver, made once: a wait allocates nothing
	notified bool
}

// newPolled returns the timer of s.
func newPolled(s *sender) (timer, error) {
	fd, err := unix.TimerfdCreate(unix.CLOCK_MONOTONIC, unix.TFD_NONBLOCK|unix.TFD_CLOEXEC)
	if err != nil {
		return nil, fmt.Errorf("timerfd_create: %w", err)
	}
	t := &polled{sender: s, file: os.NewFile(uintptr(fd), "timerfd"), fd: fd}
	conn, err := t.file.SyscallConn()
	if err != nil {
		_ = t.file.Close()
		return nil, fmt.Errorf("timerfd: %w", err)
	}
	t.conn, t.over = conn, t.isOver
	return t, nil
}

// arm also clears an expiration that was not read, so the file is never read at all.
func (t *polled) arm(after time.Duration) error {
	spec := unix.ItimerSpec{Value: unix.NsecToTimespec(max(1, int64(after)))}
	if err := unix.TimerfdSettime(t.fd, 0, &spec, nil); err != nil {
		return fmt.Errorf("timerfd_settime: %w", err)
	}
	return nil
}

// wait does not miss an expiration: the poller forgets earlier notifications before it
// calls isOver, and due reports true once the time has come that the timer was armed
// for. Either isOver sees that, or the notification is still to come.
func (t *polled) wait() error {
	t.notified = false
	return t.conn.Read(t.over)
}

// isOver reports whether the wait is over: due, or notified by the poller.
func (t *polled) isOver(uintptr) bool {
	if t.notified || t.sender.due() {
		return true
	}
	t.notified = true
	return false
}

func (t *polled) close() { _ = t.file.Close() }
