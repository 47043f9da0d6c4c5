package jetstream

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/gofrs/flock"
	"github.com/nats-io/nats-server/v2/server"
)

// An embedded is a NATS server in this process. It has no listener: only this process
// can connect to it. It syncs every write, so values that it confirmed survive a power
// failure.
type embedded struct {
	server *server.Server
	dir    string
	temp   bool // the directory is deleted with the server
	lock   *flock.Flock
	users  int        // connections; guarded by servers.mu
	trying sync.Mutex // held by tryDisk
}

// servers are the embedded servers of this process, by directory: two servers in one
// directory would overwrite each other's files.
var servers = struct {
	mu sync.Mutex
	of map[string]*embedded
}{of: map[string]*embedded{}}

// startTimeout is short, as Start returns after the server has read its directory: it is
// ready then or never.
const startTimeout = time.Second

// lockName is the lock file in a directory, which keeps other processes out.
const lockName = "sluice.lock"

// useServer returns the server of a directory, and starts it for the first user. The
// caller must call release.
func useServer(dir string) (*embedded, error) {
	servers.mu.Lock()
	defer servers.mu.Unlock()
	if dir == "" {
		made, err := os.MkdirTemp("", "sluice-jetstream-")
		if err != nil {
			return nil, fmt.Errorf("jetstream: creating a directory for the embedded server: %w", err)
		}
		return startServer(made, true)
	}
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, fmt.Errorf("jetstream: Dir: %w", err)
	}
	if e := servers.of[dir]; e != nil {
		if err := e.checkLock(); err != nil {
			return nil, err
		}
		e.users++
		return e, nil
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("jetstream: Dir: %w", err)
	}
	return startServer(dir, false)
}

// startServer starts a server with one user. The caller holds servers.mu.
func startServer(dir string, temp bool) (_ *embedded, err error) {
	e := &embedded{dir: dir, temp: temp, lock: flock.New(filepath.Join(dir, lockName)), users: 1}
	defer func() {
		if err != nil {
			err = errors.Join(err, e.stop())
		}
	}()
	switch locked, err := e.lock.TryLock(); {
	case err != nil:
		return nil, fmt.Errorf("jetstream: Dir %s: %w", dir, err)
	case !locked:
		return nil, fmt.Errorf("jetstream: Dir %s is in use by another process", dir)
	}
	e.server, err = server.NewServer(&server.Options{
		ServerName: "sluice", DontListen: true, NoSigs: true, NoLog: true,
		JetStream: true, StoreDir: dir, SyncAlways: true, DisableJetStreamBanner: true,
	})
	if err != nil {
		return nil, fmt.Errorf("jetstream: starting a server in %s: %w", dir, err)
	}
	e.server.Start()
	if !e.server.ReadyForConnections(startTimeout) || !e.server.JetStreamEnabled() {
		return nil, fmt.Errorf("jetstream: the server in %s did not start (is the disk full, or are other files there?)", dir)
	}
	servers.of[dir] = e
	return e, nil
}

// checkLock returns an error if the lock file is no longer the one that was locked: another
// process may have started a server in the directory.
func (e *embedded) checkLock() error {
	found, err := os.Stat(e.lock.Path())
	if err == nil {
		var locked os.FileInfo
		if locked, err = e.lock.Stat(); err == nil && os.SameFile(locked, found) {
			return nil
		}
	}
	return fmt.Errorf("%w: %s", ErrRemoved, e.lock.Path())
}

// release ends one use of the server. The last one stops it.
func (e *embedded) release() error {
	servers.mu.Lock()
	defer servers.mu.Unlock()
	if e.users--; e.users > 0 {
		return nil
	}
	delete(servers.of, e.dir)
	return e.stop()
}

// stop stops the server, and releases its directory.
func (e *embedded) stop() error {
	if e.server != nil {
		e.server.Shutdown()
		e.server.WaitForShutdown()
	}
	err := e.lock.Unlock()
	if e.temp {
		err = errors.Join(err, os.RemoveAll(e.dir))
	}
	return err
}
